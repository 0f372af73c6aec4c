"""The store on SQLite: values of the ports above, light functions over a connection below."""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

import apsw

from headcount.domain.names import check_team_name
from headcount.errors import FencedOut
from headcount.ports import Entry, Fence, Identity, Mail, Task
from headcount.protocol import codec
from headcount.protocol.effects import Note
from headcount.protocol.phase_codec import phase_as_json, phase_from_json
from headcount.protocol.team import Team
from headcount.store import doorbell, journal, lost, mailbox, migrate, rules, taskboard, teams
from headcount.store import identity as tokens
from headcount.store.database import BUSY_TIMEOUT_MS, DATABASE, Transaction, connect, one
from headcount.store.sending import Delivery, send
from headcount.store.settings import read_limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from headcount.protocol.effects import Act
    from headcount.protocol.events import Event
    from headcount.protocol.phase import Phase

_RUN = "phase"  # the fact that holds a team's run, named so since the first version

R = TypeVar("R", apsw.Connection, doorbell.Bell)
_EMPTYING_MS = 200  # nobody waits for it

# The same text is the same value. An engine loads its team at every turn, of which one row has changed; so
# the rest is looked up, and nothing can be stale. About 2 KB each.
_member = lru_cache(maxsize=4096)(codec.load_member)
_act = lru_cache(maxsize=4096)(codec.load_act)


@lru_cache(maxsize=64)
def _team(state: str) -> Team:
    return codec.load_team(state, {})


_TEAM_FIELDS = [field.name for field in fields(Team) if field.name not in ("members", "run")]


class SqliteTx:
    """One transaction on one connection. A team's card is read once: nobody else can change it meanwhile."""

    def __init__(self, db: apsw.Connection, now: float) -> None:
        self._db = db
        self._now = now
        self._cards: dict[str, teams.Card] = {}

    # --- teams

    def create_team(self, name: str, description: str, settings: Mapping[str, Any]) -> Team:
        check_team_name(name)
        limits, peer_mail = read_limits(settings)
        rules.check_text("description", description)
        last = self.load_team(name)
        if last is not None and last.status != "shutdown":
            raise rules.team_exists(name)
        # Generations are counted from the first team of this name, for its members too.
        team = Team(name, last.generation + 1, generations=dict(last.generations)) if last else Team(name)
        self._db.execute(
            teams.SQL["insert_team"],
            (
                team.id, name, team.generation, team.status, description, _dumps(settings),
                codec.dump_team(team), self._now, peer_mail, limits.message_bytes, limits.description_bytes,
                limits.subject_characters, limits.tasks,
            ),
        )  # fmt: skip
        self.note(team.id, [Note("team_created", "", {"description": description})])
        return team

    def load_team(self, name: str) -> Team | None:
        by = "team_by_id" if "#" in name else "team_by_name"
        row = one(self._db, teams.SQL[by], name)
        if row is None:
            return None
        team_id, state = row
        members = [_member(body) for (body,) in self._db.execute(teams.SQL["members"], (team_id,))]
        run = self._load_run(team_id)
        return replace(_team(state), members={member.key: member for member in members}, run=run)

    def _load_run(self, team_id: str) -> Phase | None:
        """A row of its own, because it is large and changes less often than the team."""
        raw = self.fact(team_id, "", _RUN)
        if raw is None:
            return None
        return phase_from_json(raw, raw if "crew" in raw else self.fact(team_id, "", "roster") or {})

    def save_team(self, before: Team, after: Team) -> None:
        """Only the rows that changed: a step touches one member or a few, however large the team is."""
        team_id = after.id
        for key, member in after.members.items():
            old = before.members.get(key)
            if old is not member and old != member:
                self._db.execute(
                    teams.SQL["put_member"],
                    (
                        team_id, key, member.name, member.generation, member.role, member.state, member.ask,
                        member.answer, codec.dump_member(member),
                    ),
                )  # fmt: skip
        for key in before.members.keys() - after.members.keys():
            self._db.execute(teams.SQL["remove_member"], (team_id, key))
        if before.run is not after.run and after.run is not None:
            self.put_fact(team_id, "", _RUN, phase_as_json(after.run))
        if any(getattr(before, name) != getattr(after, name) for name in _TEAM_FIELDS):
            self._db.execute(teams.SQL["update_team"], (after.status, codec.dump_team(after), team_id))
            self._cards.pop(team_id, None)

    def team_names(self, *, closed: bool = False) -> list[str]:
        return [name for (name,) in self._db.execute(teams.SQL["all_names" if closed else "open_names"])]

    def team_settings(self, team_id: str) -> Mapping[str, Any]:
        row = one(self._db, teams.SQL["settings"], team_id)
        if row is None:
            raise rules.no_team(team_id)
        settings: dict[str, Any] = json.loads(row[0])
        return settings

    def _card(self, team_id: str) -> teams.Card:
        card = self._cards.get(team_id)
        if card is None:
            card = self._cards[team_id] = teams.card(self._db, team_id)
        return card

    # --- the journal

    def note(self, team_id: str, notes: Iterable[Note]) -> int:
        written = False
        for note in notes:
            self._db.execute(
                journal.SQL["note"], (team_id, self._now, note.kind, note.about, _dumps(note.data))
            )
            written = True
        return self._db.last_insert_rowid() if written else journal.last_seq(self._db, team_id)

    def journal(
        self, team_id: str, after: int = 0, limit: int = 0, kinds: Iterable[str] | None = None
    ) -> list[Entry]:
        wanted = None if kinds is None else _dumps(list(kinds))
        rows = self._db.execute(journal.SQL["after"], (team_id, after, wanted, limit or -1))
        return [_entry(row) for row in rows]

    def recent(self, team_id: str, limit: int) -> list[Entry]:
        rows = self._db.execute(journal.SQL["recent"], (team_id, limit))
        return [_entry(row) for row in rows][::-1]

    # --- what was said

    def add_input(self, team_id: str, event: Event) -> None:
        card = self._card(team_id)
        if card.closed:
            raise rules.team_closed(card.name)
        journal.add_input(self._db, team_id, *codec.dump_event(event))

    def has_inputs(self, team_id: str) -> bool:
        return one(self._db, journal.SQL["has_inputs"], team_id) is not None

    def take_inputs(self, team_id: str) -> list[Event]:
        """One that cannot be read is put into the journal as it stands, and the others are heard (B7)."""
        events = []
        for kind, data in journal.take_inputs(self._db, team_id):
            try:
                events.append(codec.load_event(kind, data))
            except (ValueError, KeyError, TypeError) as error:
                why = f"{type(error).__name__}: {error}"
                self.note(team_id, [Note("quarantined", "", {"kind": kind, "data": data, "why": why})])
        return events

    def unheard_answer(self, team_id: str, key: str, request_id: str) -> str | None:
        return journal.unheard_answer(self._db, team_id, key, request_id)

    # --- acts still to do

    def add_acts(self, team_id: str, acts: Iterable[Act]) -> None:
        for act in acts:
            self._db.execute(journal.SQL["add_act"], (team_id, act.id, codec.dump_act(act)))

    def pending_acts(self, team_id: str) -> list[Act]:
        return [_act(data) for (data,) in self._db.execute(journal.SQL["pending_acts"], (team_id,))]

    def end_act(self, team_id: str, act_id: str) -> None:
        self._db.execute(journal.SQL["end_act"], (self._now, team_id, act_id))

    # --- mail

    def _office(self, team_id: str) -> mailbox.Office:
        return mailbox.Office(self._db, self._card(team_id), self._now)

    def find_box(self, team_id: str, to: str) -> str:
        return self._office(team_id).find_box(to)

    def post(self, mail: Mail) -> str:
        mail_id, _ = self._office(mail.team).post(
            mail.sender, mail.to, mail.subject, mail.body, id=mail.id, type=mail.type, template=mail.template,
            request_id=mail.request_id, priority=mail.priority, sent_at=mail.sent_at, group=mail.group,
        )  # fmt: skip
        return mail_id

    def send(
        self, team_id: str, caller: str, sender: str, to: str, subject: str, body: str, **more: Any
    ) -> Delivery:
        return send(self._office(team_id), caller, sender, to, subject, body, **more)

    def inbox(self, team_id: str, boxes: Iterable[str] | None, *, unread: bool = False) -> list[Mail]:
        return [Mail(*row) for row in mailbox.inbox(self._db, team_id, boxes, unread)]

    def count_unread(self, team_id: str) -> dict[str, int]:
        return dict(self._db.execute(mailbox.SQL["count_unread"], (team_id,)))

    def find_mail(self, team_id: str, mail_id: str) -> Mail | None:
        row = mailbox.find(self._db, team_id, mail_id)
        return None if row is None else Mail(*row)

    def mark_read(self, team_id: str, ids: Iterable[str]) -> None:
        mailbox.mark_read(self._db, team_id, ids, self._now)

    def seal(self, team_id: str, key: str) -> int:
        return mailbox.seal(self._db, team_id, key, self._now)

    def forget_mail(self, read_before: float) -> int:
        before = self._db.total_changes()
        self._db.execute(mailbox.SQL["forget"], (read_before,))
        return self._db.total_changes() - before

    # --- tasks

    def add_task(self, task: Task) -> Task:
        task_id = taskboard.add(self._db, self._card(task.team), self._now, task.id, *_columns(task))
        return _task(taskboard.get(self._db, task.team, task_id))

    def save_task(self, task: Task) -> None:
        taskboard.save(self._db, self._card(task.team), task.id, *_columns(task))

    def tasks(self, team_id: str, *, status: str | None = None, owner: str | None = None) -> list[Task]:
        return [_task(row) for row in taskboard.list_(self._db, team_id, status, owner)]

    def claim_task(self, team_id: str, key: str, task_id: str | None = None) -> Task | None:
        row = taskboard.claim(self._db, self._card(team_id), self._now, key, task_id)
        return None if row is None else _task(row)

    def hand_in_task(self, team_id: str, key: str, task_id: str | None = None) -> str | None:
        return taskboard.hand_in(self._db, self._card(team_id), self._now, key, task_id)

    def complete_task(self, team_id: str, task_id: str, by: str) -> Task:
        return _task(taskboard.complete(self._db, self._card(team_id), self._now, task_id, by))

    def give_back_tasks(self, team_id: str, key: str, handed_in: bool = False) -> list[str]:
        return taskboard.give_back(self._db, team_id, key, handed_in)

    # --- identity

    def add_token(self, identity: Identity, token: str) -> None:
        tokens.add_token(self._db, token, identity.team, identity.key, identity.role)

    def identify(self, token: str) -> Identity | None:
        found = tokens.identify(self._db, token)
        return None if found is None else Identity(*found)

    # --- facts

    def put_fact(self, team_id: str, about: str, name: str, value: Mapping[str, Any]) -> None:
        self._db.execute(teams.SQL["put_fact"], (team_id, about, name, _dumps(value)))

    def fact(self, team_id: str, about: str, name: str) -> Mapping[str, Any] | None:
        row = one(self._db, teams.SQL["fact"], team_id, about, name)
        return None if row is None else json.loads(row[0])

    def facts(self, team_id: str, name: str) -> dict[str, Mapping[str, Any]]:
        rows = self._db.execute(teams.SQL["facts"], (team_id, name))
        return {about: json.loads(value) for about, value in rows}


class SqliteStore:
    """The state directory's database.

    Each thread has a connection of its own, and so a transaction, and bells of its own, so that none takes
    another's ring. Both go with their thread.
    """

    def __init__(self, path: str, clock: Callable[[], float] = time.time) -> None:
        """`path` is the state directory, made when it is not there, or the database in it."""
        self.path = os.path.abspath(path if path.endswith(".db") else os.path.join(path, DATABASE))
        self._home = os.path.dirname(self.path)
        self._clock = clock
        self._local = threading.local()
        self._open: WeakSet[apsw.Connection | doorbell.Bell] = WeakSet()
        self._lock = threading.Lock()
        self._make()
        self._connection()

    @contextmanager
    def write(self, fence: Fence | None = None) -> Iterator[SqliteTx]:
        with Transaction(self._connection(), write=True) as db:
            if fence is not None and one(db, tokens.SQL["holds"], fence.name, fence.token) is None:
                raise FencedOut(
                    f"The lease {fence.name} was lost",
                    "another engine drives this team now",
                    code="fenced-out",
                )
            yield SqliteTx(db, self._clock())

    @contextmanager
    def read(self) -> Iterator[SqliteTx]:
        db = self._connection()
        db.pragma("query_only", True)
        try:
            with Transaction(db, write=False):
                yield SqliteTx(db, self._clock())
        finally:
            db.pragma("query_only", False)

    def put_back(self) -> bool:
        db = self._local.__dict__.get("db")
        if db is None or not self._local.file.removed:
            return False
        lost.put_back(self.path, db)
        return True

    # --- leases

    def take_lease(self, name: str, holder: str, ttl_s: float, *, steal: bool = False) -> Fence | None:
        now = self._clock()
        with Transaction(self._connection(), write=True) as db:
            row = one(db, tokens.SQL["lease"], name)
            if row is not None and row[0] not in (None, holder) and row[2] > now and not steal:
                return None
            token = 1 if row is None else row[1] + 1
            db.execute(tokens.SQL["put_lease"], (name, holder, token, now + ttl_s))
            return Fence(name, token)

    def renew_lease(self, fence: Fence, ttl_s: float) -> bool:
        """Also after its time, if nobody has taken it meanwhile: the token is still the highest."""
        with Transaction(self._connection(), write=True) as db:
            db.execute(tokens.SQL["renew_lease"], (self._clock() + ttl_s, fence.name, fence.token))
            return db.changes() == 1

    def release_lease(self, fence: Fence) -> None:
        with Transaction(self._connection(), write=True) as db:
            db.execute(tokens.SQL["release_lease"], (fence.name, fence.token))
        self._empty_log()

    def _empty_log(self) -> None:
        """An engine leaves: what it deleted, such as the environment of a team, does not stay in the log."""
        db = self._connection()
        db.set_busy_timeout(_EMPTYING_MS)
        try:
            db.execute("pragma wal_checkpoint(truncate)")
        except apsw.Error:
            pass  # another process reads: the next engine that leaves does it
        finally:
            db.set_busy_timeout(BUSY_TIMEOUT_MS)

    # --- waking

    @property
    def bells(self) -> str:
        return os.path.join(self._home, "run")

    def listen(self, channel: str) -> None:
        self._bell(channel)

    def wait(self, channel: str, timeout_s: float) -> bool:
        return self._bell(channel).wait(timeout_s)

    def ring(self, channels: Iterable[str]) -> None:
        doorbell.ring(self.bells, channels)

    def close(self) -> None:
        with self._lock:
            for resource in list(self._open):
                resource.close()
        self._local = threading.local()

    def _bell(self, channel: str) -> doorbell.Bell:
        bells: dict[str, doorbell.Bell] = self._local.__dict__.setdefault("bells", {})
        if channel not in bells:
            bells[channel] = self._keep(doorbell.Bell(self.bells, channel))
        return bells[channel]

    def _make(self) -> None:
        migrate.create(self.path)

    def _connection(self) -> apsw.Connection:
        db: apsw.Connection | None = getattr(self._local, "db", None)
        if db is None:
            return self._use(connect(self.path))
        return self._use(lost.follow(self.path, db)) if self._local.file.removed else db

    def _use(self, db: apsw.Connection) -> apsw.Connection:
        self._local.file = lost.OpenFile(self.path)
        self._local.db = self._keep(db)
        return db

    def _keep(self, resource: R) -> R:
        with self._lock:
            self._open.add(resource)
        return resource


class InMemoryStore(SqliteStore):
    """The same database in memory, for commands that find no state directory, and for tests.

    It ends with this object. `home` is only where waiters are rung.
    """

    _numbers = count()

    def __init__(self, home: str = "", clock: Callable[[], float] = time.time) -> None:
        # SQLite's `memdb` gives every connection to one such name the same database.
        self._name = f"file:/headcount-{next(self._numbers)}?vfs=memdb"
        super().__init__(home, clock)

    def put_back(self) -> bool:
        return False  # there is no file that someone could remove

    def _make(self) -> None:
        self._first = self._open_another()  # the database lives as long as a connection to it
        migrate.fill(self._first)

    def _connection(self) -> apsw.Connection:
        db: apsw.Connection | None = getattr(self._local, "db", None)
        if db is None:
            db = self._local.db = self._keep(self._open_another())
        return db

    def _open_another(self) -> apsw.Connection:
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
        db = apsw.Connection(self._name, flags=flags, statementcachesize=1000)
        db.set_busy_timeout(BUSY_TIMEOUT_MS)
        return db


def _columns(task: Task) -> tuple[Any, ...]:
    return (
        task.subject, task.description, task.active_form, task.status, task.owner, task.depends_on,
        _dumps(task.metadata), task.reason,
    )  # fmt: skip


def _task(row: taskboard.Row) -> Task:
    return Task(*row[:7], tuple(json.loads(row[7])), json.loads(row[8]), row[9])


def _entry(row: tuple[int, str, float, str, str, str]) -> Entry:
    return Entry(*row[:5], json.loads(row[5]))


_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
