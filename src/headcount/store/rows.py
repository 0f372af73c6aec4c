"""The rows of one transaction: what SQLite and PostgreSQL have in common.

A dialect brings a connection and its statements. Members' commands use it, so it imports next to nothing.
The values of the rules (teams, events, acts) are in `team_values.py`, which is imported when one of them is
first needed.
"""

from __future__ import annotations

import sys

from headcount.domain.display import visible
from headcount.domain.jsontext import dumps
from headcount.domain.records import Identity, Mail, MemberCard, Task, TeamCard
from headcount.errors import Bug, Declined, UsageError
from headcount.store.statements import Statements, one

try:
    from _blake2 import blake2b  # what `hashlib` gives out, without its import of OpenSSL
    from _operator import _compare_digest
except ImportError:  # another Python than CPython
    from hashlib import blake2b
    from hmac import compare_digest as _compare_digest  # type: ignore[no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from headcount.domain.asks import Ask
    from headcount.ports import Entry
    from headcount.protocol.effects import Act, Note
    from headcount.protocol.events import Event
    from headcount.protocol.team import Team
    from headcount.store.statements import Connection

_SELECTOR_BYTES = 8


class Rows:
    """One transaction on one connection. `team` is the one that it may write; "" for any."""

    TEAMS, MAIL, TASKS = Statements("teams"), Statements("mail"), Statements("tasks")
    JOURNAL, IDENTITY, ASKS = Statements("journal"), Statements("identity"), Statements("asks")

    def __init__(self, db: Connection, now: float, team: str = "", appends: bool = False) -> None:
        self._db = db
        self._now = now
        self._team = team.partition("#")[0]
        self._appends = appends

    def _own(self, team_id: str, *, appends: bool = False) -> str:
        if self._team and team_id.partition("#")[0] != self._team:
            raise Bug(f"A transaction of {self._team} wrote into {team_id}")
        if self._appends and not appends:
            raise Bug(f"A transaction that only appends changed {team_id}")
        return team_id

    # --- teams and members

    def create_team(self, name: str, description: str, settings: Mapping[str, Any]) -> Team:
        from headcount.store import team_values

        team = team_values.create(self._db, self.TEAMS, self._now, self._own(name), description, settings)
        self.add_entry(team.id, "team_created", "", {"description": description})
        return team

    def load_team(self, name: str) -> Team | None:
        from headcount.store import team_values

        return team_values.load(self._db, self.TEAMS, name)

    def save_team(self, before: Team, after: Team) -> None:
        from headcount.store import team_values

        self._own(after.id)
        team_values.save(self._db, self.TEAMS, before, after)

    def team_names(self, *, closed: bool = False) -> list[str]:
        return [name for (name,) in self._db.execute(self.TEAMS["all_names" if closed else "open_names"])]

    def team_settings(self, team_id: str) -> Mapping[str, Any]:
        from json import loads

        row = one(self._db, self.TEAMS["settings"], team_id)
        if row is None:
            raise _no_team(team_id)
        settings: dict[str, Any] = loads(row[0])
        return settings

    def change_settings(self, team_id: str, settings: Mapping[str, Any]) -> None:
        from headcount.store import team_values

        if not team_values.change_settings(self._db, self.TEAMS, self._own(team_id), settings):
            raise _no_team(team_id)

    def notifies_of(self, team_id: str, kind: str) -> bool:
        return one(self._db, self.TEAMS["notifies_of"], team_id, kind) is not None

    def team_card(self, name: str) -> TeamCard | None:
        row = one(self._db, self.TEAMS["card" if "#" in name else "card_by_name"], name)
        return None if row is None else TeamCard(*row)

    def member_card(self, team_id: str, key: str) -> MemberCard | None:
        by = "member_card" if "#" in key else "latest_card"
        row = one(self._db, self.TEAMS[by], team_id, key)
        return None if row is None else MemberCard(*row)

    def member_cards(self, team_id: str) -> list[MemberCard]:
        return [MemberCard(*row) for row in self._db.execute(self.TEAMS["member_cards"], (team_id,))]

    # --- the journal

    def add_entry(self, team_id: str, kind: str, about: str, data: Mapping[str, object]) -> int:
        values = (self._own(team_id), self._now, kind, about, _json(data))
        return int(one(self._db, self.JOURNAL["note"], *values)[0])

    def note(self, team_id: str, notes: Iterable[Note]) -> int:
        last = 0
        for note in notes:
            last = self.add_entry(team_id, note.kind, note.about, note.data)
        return last or int(one(self._db, self.JOURNAL["last_seq"], team_id)[0])

    def journal(
        self, team_id: str, after: int = 0, limit: int = 0, kinds: Iterable[str] | None = None
    ) -> list[Entry]:
        wanted = None if kinds is None else dumps(list(kinds))
        return _entries(self._db.execute(self.JOURNAL["after"], (team_id, after, wanted, limit or -1)))

    def recent(self, team_id: str, limit: int) -> list[Entry]:
        return _entries(self._db.execute(self.JOURNAL["recent"], (team_id, limit)))[::-1]

    # --- inputs

    def add_input(self, team_id: str, event: Event) -> None:
        from headcount.protocol import codec

        self._check_open(team_id)
        self._db.execute(
            self.JOURNAL["add_input"], (self._own(team_id, appends=True), *codec.dump_event(event))
        )

    def add_report(self, team_id: str, kind: str, fields: Mapping[str, object]) -> None:
        self._check_open(team_id)
        self._db.execute(self.JOURNAL["add_input"], (self._own(team_id, appends=True), kind, dumps(fields)))

    def _check_open(self, team_id: str) -> None:
        card = self.team_card(team_id)
        if card is None:
            raise _no_team(team_id)
        if card.closed:
            raise Declined(
                f"{card.name} is shut down", "a closed team accepts nothing new", code="team-closed"
            )

    def has_inputs(self, team_id: str) -> bool:
        return one(self._db, self.JOURNAL["has_inputs"], team_id) is not None

    def take_inputs(self, team_id: str) -> list[Event]:
        """Inputs that cannot be parsed go to the journal as they are; the others are applied (B7)."""
        from headcount.protocol import codec

        events = []
        taken = list(self._db.execute(self.JOURNAL["inputs"], (team_id,)))
        if taken:
            self._db.execute(self.JOURNAL["clear_inputs"], (self._own(team_id),))
        for kind, data in taken:
            try:
                events.append(codec.load_event(kind, data))
            except (ValueError, KeyError, TypeError) as error:
                why = f"{type(error).__name__}: {error}"
                self.add_entry(team_id, "quarantined", "", {"kind": kind, "data": data, "why": why})
        return events

    def unheard_answer(self, team_id: str, key: str, request_id: str) -> str | None:
        row = one(self._db, self.JOURNAL["unheard_answer"], team_id, key, request_id)
        return None if row is None else "approved" if row[0] else "rejected"

    # --- acts still to do

    def add_acts(self, team_id: str, acts: Iterable[Act]) -> None:
        from headcount.protocol import codec

        for act in acts:
            self._db.execute(
                self.JOURNAL["add_act"], (self._own(team_id, appends=True), act.id, codec.dump_act(act))
            )

    def pending_acts(self, team_id: str) -> list[Act]:
        from headcount.store.team_values import load_act

        return [load_act(data) for (data,) in self._db.execute(self.JOURNAL["pending_acts"], (team_id,))]

    def end_act(self, team_id: str, act_id: str) -> None:
        self._db.execute(self.JOURNAL["end_act"], (self._now, self._own(team_id), act_id))

    # --- mail

    def post(self, mail: Mail) -> str:
        if mail.id and one(self._db, self.MAIL["one"], mail.team, mail.id) is not None:
            return mail.id
        self._own(mail.team, appends=True)
        row = one(
            self._db, self.MAIL["insert"], mail.id, mail.team, mail.sender, mail.to, mail.subject,
            mail.body, mail.type, mail.template, mail.request_id, mail.priority, mail.sent_at or self._now,
            mail.bounced_from, mail.group,
        )  # fmt: skip
        return str(row[0])

    def inbox(self, team_id: str, boxes: Iterable[str] | None, *, unread: bool = False) -> list[Mail]:
        if boxes is None:
            found = self._db.execute(self.MAIL["all"], (team_id, unread))
        else:
            found = self._db.execute(
                self.MAIL["inbox_unread" if unread else "inbox"], (team_id, dumps([*boxes]))
            )
        return [_mail(row) for row in found]

    def has_unread(self, team_id: str, boxes: Iterable[str]) -> bool:
        return one(self._db, self.MAIL["has_unread"], team_id, dumps([*boxes])) is not None

    def count_unread(self, team_id: str) -> dict[str, int]:
        return dict(self._db.execute(self.MAIL["count_unread"], (team_id,)))

    def find_mail(self, team_id: str, mail_id: str) -> Mail | None:
        row = one(self._db, self.MAIL["one"], team_id, mail_id)
        return None if row is None else _mail(row)

    def mark_read(self, team_id: str, ids: Iterable[str]) -> None:
        for mail_id in ids:
            self._db.execute(self.MAIL["mark_read"], (self._now, self._own(team_id), mail_id))

    def redirect_mail(self, team_id: str, box: str, to: str, types: Iterable[str]) -> int:
        moved = 0
        for kind in types:
            self._db.execute(self.MAIL["redirect"], (to, self._own(team_id), box, kind))
            moved += self._db.changes()
        return moved

    def seal(self, team_id: str, key: str) -> None:
        self._db.execute(self.TEAMS["seal"], (self._own(team_id), key, self._now))

    def is_sealed(self, team_id: str, key: str) -> bool:
        return one(self._db, self.TEAMS["sealed"], team_id, key) is not None

    def forget_mail(self, team_id: str, read_before: float) -> int:
        self._db.execute(self.MAIL["forget"], (self._own(team_id), read_before))
        return self._db.changes()

    # --- asks

    def add_ask(self, ask: Ask) -> Ask:
        values = [value for name, value in ask.as_dict().items() if name != "id"]
        self._own(ask.team)
        return ask.changed(id=one(self._db, self.ASKS["insert"], *values)[0])

    def find_ask(self, ask_id: str) -> Ask | None:
        row = one(self._db, self.ASKS["one"], ask_id)
        return None if row is None else _ask(row)

    def asks(self, team_id: str, *, state: str | None = None) -> list[Ask]:
        return [_ask(row) for row in self._db.execute(self.ASKS["list"], (team_id, state))]

    def asks_to_join(self, team_id: str, key: str) -> list[Ask]:
        return [_ask(row) for row in self._db.execute(self.ASKS["again"], (team_id, key, self._now))]

    def answer_ask(self, team_id: str, ask_id: str, state: str, by: str, reason: str) -> bool:
        self._db.execute(self.ASKS["answer"], (state, by, reason, self._now, self._own(team_id), ask_id))
        return self._db.changes() == 1

    def forget_asks(self, team_id: str) -> None:
        self._db.execute(self.ASKS["forget"], (self._own(team_id),))

    def take_answer(self, team_id: str, ask_id: str) -> None:
        self._db.execute(self.ASKS["take"], (self._now, self._own(team_id), ask_id))

    # --- tasks

    def add_task(self, task: Task) -> Task:
        task = task if task.id else task.changed(id=self._next_task_id(task.team))
        self._db.execute(
            self.TASKS["insert"],
            (task.id, self._own(task.team), task.subject, task.description, task.active_form, task.status,
             task.owner, task.metadata_json, task.reason),
        )  # fmt: skip
        self._write_needs(task)
        return task

    def _next_task_id(self, team_id: str) -> str:
        """`t1`, `t2`, …: short enough for an agent to type."""
        taken = {task_id for (task_id,) in self._db.execute(self.TASKS["ids"], (team_id,))}
        number = len(taken) + 1
        while f"t{number}" in taken:
            number += 1
        return f"t{number}"

    def save_task(self, task: Task) -> None:
        self._db.execute(
            self.TASKS["update"],
            (task.subject, task.description, task.active_form, task.status, task.owner, task.metadata_json,
             task.reason, self._own(task.team), task.id),
        )  # fmt: skip
        if task.depends_on != self._needs(task.team, task.id):
            self._db.execute(self.TASKS["clear_needs"], (task.team, task.id))
            self._write_needs(task)

    def _needs(self, team_id: str, task_id: str) -> tuple[str, ...]:
        return tuple(needed for (needed,) in self._db.execute(self.TASKS["needs"], (team_id, task_id)))

    def _write_needs(self, task: Task) -> None:
        for position, needed in enumerate(task.depends_on):
            self._db.execute(self.TASKS["add_need"], (task.team, task.id, position, needed))

    def tasks(self, team_id: str, *, status: str | None = None, owner: str | None = None) -> list[Task]:
        needs: dict[str, list[str]] = {}
        for task_id, needed in self._db.execute(self.TASKS["all_needs"], (team_id,)):
            needs.setdefault(task_id, []).append(needed)
        rows = self._db.execute(self.TASKS["list"], (team_id, status, owner))
        return [_task(row, needs.get(row[0], ())) for row in rows]

    def find_task(self, team_id: str, task_id: str) -> Task | None:
        row = one(self._db, self.TASKS["one"], team_id, task_id)
        return None if row is None else _task(row, self._needs(team_id, task_id))

    def next_task(self, team_id: str, key: str, ended: Iterable[str]) -> Task | None:
        row = one(self._db, self.TASKS["next"], team_id, key, dumps([*ended]))
        return None if row is None else _task(row, self._needs(team_id, row[0]))

    # --- identity

    def add_token(self, identity: Identity, token: str) -> None:
        digest = _hash(token)
        values = (digest[:_SELECTOR_BYTES], digest, self._own(identity.team), identity.key, identity.role)
        self._db.execute(self.IDENTITY["add_token"], values)

    def identify(self, token: str) -> Identity | None:
        """Compares in constant time. Tokens have all their entropy, so a fast hash is the right one."""
        digest = _hash(token)
        for stored, team_id, key, role in self._db.execute(
            self.IDENTITY["candidates"], (digest[:_SELECTOR_BYTES],)
        ):
            if _compare_digest(stored, digest) and not self.is_sealed(team_id, key):
                return Identity(team_id, key, role)
        return None

    # --- facts

    def put_fact(self, team_id: str, about: str, name: str, value: Mapping[str, Any]) -> None:
        self._db.execute(self.TEAMS["put_fact"], (self._own(team_id), about, name, _json(value)))

    def fact(self, team_id: str, about: str, name: str) -> Mapping[str, Any] | None:
        from json import loads

        row = one(self._db, self.TEAMS["fact"], team_id, about, name)
        return None if row is None else loads(row[0])

    def facts(self, team_id: str, name: str) -> dict[str, Mapping[str, Any]]:
        from json import loads

        return {
            about: loads(value) for about, value in self._db.execute(self.TEAMS["facts"], (team_id, name))
        }

    def spent_on(self, day: str) -> float:
        row = one(self._db, self.TEAMS["spent_on"], day)
        return 0.0 if row is None else float(row[0])


def _no_team(team_id: str) -> UsageError:
    return UsageError(f"There is no team {team_id}", code="unknown-team")


def _mail(row: tuple[Any, ...]) -> Mail:
    """A message without invisible characters in subject and body: a model would read what no person sees.
    In the database it stays as it was sent."""
    mail = Mail(*row)
    mail.subject, mail.body = visible(mail.subject), visible(mail.body)
    return mail


def _ask(row: tuple[Any, ...]) -> Ask:
    from headcount.domain.asks import Ask

    return Ask(*row)


def _task(row: tuple[Any, ...], needs: Iterable[str]) -> Task:
    id, team, subject, description, active_form, status, owner, metadata, reason = row
    return Task(
        id,
        team,
        subject,
        description,
        active_form,
        status,
        owner,
        needs,
        None,
        reason,
        metadata_json=metadata,
    )


def _entries(rows: Iterable[tuple[Any, ...]]) -> list[Entry]:
    from json import loads

    from headcount.ports import Entry

    return [Entry(seq, team, at, kind, about, loads(data)) for seq, team, at, kind, about, data in rows]


def _json(value: Mapping[str, Any]) -> str:
    """The same text either way. `json` is faster where it is imported already, which costs 4 ms."""
    json = sys.modules.get("json")
    if json is None:
        return dumps(value)
    return str(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _hash(token: str) -> bytes:
    return blake2b(token.encode("utf-8", "surrogatepass"), digest_size=32).digest()
