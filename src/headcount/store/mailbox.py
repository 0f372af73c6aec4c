"""Mail: durable, in the order in which it was accepted, whole, with a read mark for each message.

Arrival order is the only order: a high priority is shown, never sorted by, because sorting would let a later
message of one sender overtake an earlier one (I7).
"""

from __future__ import annotations

from headcount.domain.display import visible
from headcount.store import rules
from headcount.store.database import one, statements
from headcount.store.jsontext import dumps
from headcount.store.teams import SQL as TEAMS
from headcount.store.teams import is_sealed, latest_key, latest_members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    import apsw

    from headcount.store.teams import Card

    # id, team, sender, to, subject, body, type, template, request_id, priority, sent_at, read_at,
    # bounced_from, group: the fields of `ports.Mail` in their order
    Row = tuple[
        str, str, str, str, str, str, str, str | None, str | None, str, float, float | None, str | None,
        str | None,
    ]  # fmt: skip

SQL = statements("mail")


class Office:
    """The mailboxes of one team, in one transaction."""

    __slots__ = ("db", "now", "team")

    def __init__(self, db: apsw.Connection, team: Card, now: float) -> None:
        self.db = db
        self.team = team
        self.now = now

    def latest(self, name: str) -> str | None:
        return latest_key(self.db, self.team.id, name)

    def known(self) -> list[str]:
        """Every name and every incarnation that there ever was in this team."""
        keys = [key for (key,) in self.db.execute(TEAMS["keys"], (self.team.id,))]
        return list(dict.fromkeys([*(key.partition("#")[0] for key in keys), *keys]))

    def live(self) -> list[tuple[str, str]]:
        """Key and role of everyone who is not gone."""
        return [
            (key, role) for _, key, role, state in latest_members(self.db, self.team.id) if state != "gone"
        ]

    def role(self, key: str) -> str:
        return str(one(self.db, TEAMS["member_card"], self.team.id, key)[2])

    def task(self, key: str) -> str | None:
        """What it was started for, if for one thing."""
        found: str | None = one(self.db, TEAMS["member_task"], self.team.id, key)[0]
        return found

    def find_box(self, to: str) -> str:
        return rules.find_box(to, self.team.name, self.latest, self.known)

    def post(self, sender: str, to: str, subject: str, body: str, **more: Any) -> tuple[str, str]:
        """Accept mail for a mailbox; its id, and the mailbox that it really went to."""
        return _post(self, sender, to, subject, body, **more)


def _post(
    office: Office,
    sender: str,
    to: str,
    subject: str,
    body: str,
    *,
    id: str = "",
    type: str = "message",
    template: str | None = None,
    request_id: str | None = None,
    priority: str = "normal",
    sent_at: float = 0.0,
    group: str | None = None,
) -> tuple[str, str]:
    db, team = office.db, office.team
    rules.check_mail(subject, body, type, priority, team.subject_characters, team.message_bytes)
    meant_for = office.find_box(to)
    if id:
        known = one(db, SQL["one"], team.id, id)
        if known is not None:
            return id, known[3]  # the same mail again, after a crash: it is there already
    sealed = meant_for not in rules.OFFICES and is_sealed(db, team.id, meant_for)
    box, bounced_from = rules.box_after(meant_for, closed=team.closed, sealed=sealed)
    row = one(
        db, SQL["insert"], id, team.id, sender, box, subject, body, type, template, request_id, priority,
        sent_at or office.now, bounced_from, group,
    )  # fmt: skip
    return row[0], box


def inbox(db: apsw.Connection, team_id: str, boxes: Iterable[str] | None, unread: bool = False) -> list[Row]:
    """What is in these mailboxes, or in all of the team (None)."""
    if boxes is None:
        found = db.execute(SQL["all"], (team_id, unread))
    else:
        found = db.execute(SQL["inbox_unread" if unread else "inbox"], (team_id, dumps(list(boxes))))
    return [_as_seen(row) for row in found]


def _as_seen(row: Row) -> Row:
    """The row with nothing invisible in subject and body: a model would read what no person sees. In the
    database it stays as it was sent."""
    subject, body = visible(row[4]), visible(row[5])
    return row if (subject, body) == row[4:6] else (*row[:4], subject, body, *row[6:])


def has_unread(db: apsw.Connection, team_id: str, boxes: Iterable[str]) -> bool:
    return one(db, SQL["has_unread"], team_id, dumps(list(boxes))) is not None


def find(db: apsw.Connection, team_id: str, mail_id: str) -> Row | None:
    row: Row | None = one(db, SQL["one"], team_id, mail_id)
    return None if row is None else _as_seen(row)


def mark_read(db: apsw.Connection, team_id: str, ids: Iterable[str], now: float) -> None:
    """A mark a message: what arrived in between stays unread (B6)."""
    for mail_id in ids:
        db.execute(SQL["mark_read"], (now, team_id, mail_id))


def seal(db: apsw.Connection, team_id: str, key: str, now: float) -> int:
    """Close an incarnation's mailbox for ever; how many unread messages went to the lead instead (C4)."""
    db.execute(TEAMS["seal"], (team_id, key, now))
    before = db.total_changes()
    db.execute(SQL["bounce"], (team_id, key))
    return db.total_changes() - before
