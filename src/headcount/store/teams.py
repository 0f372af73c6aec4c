"""What a call must know of a team and its members, without the rules' own values."""

from __future__ import annotations

from headcount.store import rules
from headcount.store.database import one, statements

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import apsw

SQL = statements("teams")


class Card:
    """A team at a glance: its status, and the limits that hold in it."""

    __slots__ = (
        "description_bytes",
        "id",
        "max_tasks",
        "message_bytes",
        "name",
        "peer_mail",
        "status",
        "subject_characters",
    )

    def __init__(self, row: tuple[str, str, str, int, int, int, int, int]) -> None:
        self.id, self.name, self.status, peer_mail, *limits = row
        self.peer_mail = bool(peer_mail)
        self.message_bytes, self.description_bytes, self.subject_characters, self.max_tasks = limits

    @property
    def closed(self) -> bool:
        return self.status == "shutdown"


def card(db: apsw.Connection, team_id: str) -> Card:
    row = one(db, SQL["card"], team_id)
    if row is None:
        raise rules.no_team(team_id)
    return Card(row)


def open_cards(db: apsw.Connection) -> list[Card]:
    return [Card(row) for row in db.execute(SQL["open_cards"])]


def card_by_name(db: apsw.Connection, name: str) -> Card | None:
    row = one(db, SQL["card_by_name"], name)
    return None if row is None else Card(row)


def policy(db: apsw.Connection, team_id: str) -> dict[str, Any]:
    """Its numbers, as they were when it was created."""
    import json

    row = one(db, SQL["settings"], team_id)
    numbers: dict[str, Any] = json.loads(row[0]).get("policy", {}) if row is not None else {}
    return numbers


def latest_key(db: apsw.Connection, team_id: str, name: str) -> str | None:
    """The key of a name's latest incarnation."""
    row = one(db, SQL["latest_key"], team_id, name)
    return None if row is None else str(row[0])


def latest_members(db: apsw.Connection, team_id: str) -> list[tuple[str, str, str, str]]:
    """Name, key, role and state of the latest incarnation of each name."""
    return list(db.execute(SQL["latest_keys"], (team_id,)))


def is_sealed(db: apsw.Connection, team_id: str, key: str) -> bool:
    return one(db, SQL["sealed"], team_id, key) is not None


def activity(db: apsw.Connection, team_id: str, key: str) -> tuple[str, str] | None:
    """An incarnation's state, and what `running` is shown as."""
    row: tuple[str, str] | None = one(db, SQL["activity"], team_id, key)
    return row


def add_usage(db: apsw.Connection, team_id: str, key: str, *, tokens: int, turns: int) -> tuple[int, int]:
    """What an incarnation has cost, where its client tells: the fact `usage`; its tokens and turns so far."""
    row: tuple[int, int] = one(db, SQL["add_usage"], team_id, key, tokens, turns)
    return row
