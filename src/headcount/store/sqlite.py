"""The store on SQLite: rows and transactions, for the engine and for every command.

Members' commands open it, too, so it imports next to nothing. The values of the rules (teams, events, acts)
are in `team_values.py`, which is imported when one of them is first needed.
"""

from __future__ import annotations

import os
import sys
import time
from _thread import RLock, _local
from _weakrefset import WeakSet
from itertools import count

import apsw

from headcount.domain.display import visible
from headcount.domain.jsontext import dumps
from headcount.domain.records import Identity, Mail, MemberCard, Task, TeamCard
from headcount.errors import Bug, Declined, FencedOut, UsageError
from headcount.store.database import BUSY_TIMEOUT_MS, DATABASE, Statements, Transaction, connect, one

try:
    from _blake2 import blake2b  # what `hashlib` gives out, without its import of OpenSSL
    from _operator import _compare_digest
except ImportError:  # another Python than CPython
    from hashlib import blake2b
    from hmac import compare_digest as _compare_digest  # type: ignore[no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, TypeVar

    from headcount.domain.asks import Ask
    from headcount.ports import Entry, Fence
    from headcount.protocol.effects import Act, Note
    from headcount.protocol.events import Event
    from headcount.protocol.team import Team
    from headcount.store.doorbell import Bell

    R = TypeVar("R", apsw.Connection, Bell)

TEAMS, MAIL, TASKS = Statements("teams"), Statements("mail"), Statements("tasks")
JOURNAL, IDENTITY, ASKS = Statements("journal"), Statements("identity"), Statements("asks")
_SELECTOR_BYTES = 8
_EMPTYING_MS = 200  # no caller waits for it


class SqliteTx:
    """One transaction on one connection. `team` is the one that it may write; "" for any."""

    def __init__(self, db: apsw.Connection, now: float, team: str = "") -> None:
        self._db = db
        self._now = now
        self._team = team.partition("#")[0]

    def _own(self, team_id: str) -> str:
        if self._team and team_id.partition("#")[0] != self._team:
            raise Bug(f"A transaction of {self._team} wrote into {team_id}")
        return team_id

    # --- teams and members

    def create_team(self, name: str, description: str, settings: Mapping[str, Any]) -> Team:
        from headcount.store import team_values

        team = team_values.create(self._db, self._now, self._own(name), description, settings)
        self.add_entry(team.id, "team_created", "", {"description": description})
        return team

    def load_team(self, name: str) -> Team | None:
        from headcount.store import team_values

        return team_values.load(self._db, name)

    def save_team(self, before: Team, after: Team) -> None:
        from headcount.store import team_values

        self._own(after.id)
        team_values.save(self._db, before, after)

    def team_names(self, *, closed: bool = False) -> list[str]:
        return [name for (name,) in self._db.execute(TEAMS["all_names" if closed else "open_names"])]

    def team_settings(self, team_id: str) -> Mapping[str, Any]:
        from json import loads

        row = one(self._db, TEAMS["settings"], team_id)
        if row is None:
            raise _no_team(team_id)
        settings: dict[str, Any] = loads(row[0])
        return settings

    def change_settings(self, team_id: str, settings: Mapping[str, Any]) -> None:
        from headcount.store import team_values

        if not team_values.change_settings(self._db, self._own(team_id), settings):
            raise _no_team(team_id)

    def team_card(self, name: str) -> TeamCard | None:
        row = one(self._db, TEAMS["card" if "#" in name else "card_by_name"], name)
        return None if row is None else TeamCard(*row)

    def member_card(self, team_id: str, key: str) -> MemberCard | None:
        by = "member_card" if "#" in key else "latest_card"
        row = one(self._db, TEAMS[by], team_id, key)
        return None if row is None else MemberCard(*row)

    def member_cards(self, team_id: str) -> list[MemberCard]:
        return [MemberCard(*row) for row in self._db.execute(TEAMS["member_cards"], (team_id,))]

    # --- the journal

    def add_entry(self, team_id: str, kind: str, about: str, data: Mapping[str, object]) -> int:
        self._db.execute(JOURNAL["note"], (self._own(team_id), self._now, kind, about, _json(data)))
        return self._db.last_insert_rowid()

    def note(self, team_id: str, notes: Iterable[Note]) -> int:
        last = 0
        for note in notes:
            last = self.add_entry(team_id, note.kind, note.about, note.data)
        return last or int(one(self._db, JOURNAL["last_seq"], team_id)[0])

    def journal(
        self, team_id: str, after: int = 0, limit: int = 0, kinds: Iterable[str] | None = None
    ) -> list[Entry]:
        wanted = None if kinds is None else dumps(list(kinds))
        return _entries(self._db.execute(JOURNAL["after"], (team_id, after, wanted, limit or -1)))

    def recent(self, team_id: str, limit: int) -> list[Entry]:
        return _entries(self._db.execute(JOURNAL["recent"], (team_id, limit)))[::-1]

    # --- inputs

    def add_input(self, team_id: str, event: Event) -> None:
        from headcount.protocol import codec

        self._check_open(team_id)
        self._db.execute(JOURNAL["add_input"], (self._own(team_id), *codec.dump_event(event)))

    def add_report(self, team_id: str, kind: str, fields: Mapping[str, object]) -> None:
        self._check_open(team_id)
        self._db.execute(JOURNAL["add_input"], (self._own(team_id), kind, dumps(fields)))

    def _check_open(self, team_id: str) -> None:
        card = self.team_card(team_id)
        if card is None:
            raise _no_team(team_id)
        if card.closed:
            raise Declined(
                f"{card.name} is shut down", "a closed team accepts nothing new", code="team-closed"
            )

    def has_inputs(self, team_id: str) -> bool:
        return one(self._db, JOURNAL["has_inputs"], team_id) is not None

    def take_inputs(self, team_id: str) -> list[Event]:
        """Inputs that cannot be parsed go to the journal as they are; the others are applied (B7)."""
        from headcount.protocol import codec

        events = []
        taken = list(self._db.execute(JOURNAL["inputs"], (team_id,)))
        if taken:
            self._db.execute(JOURNAL["clear_inputs"], (self._own(team_id),))
        for kind, data in taken:
            try:
                events.append(codec.load_event(kind, data))
            except (ValueError, KeyError, TypeError) as error:
                why = f"{type(error).__name__}: {error}"
                self.add_entry(team_id, "quarantined", "", {"kind": kind, "data": data, "why": why})
        return events

    def unheard_answer(self, team_id: str, key: str, request_id: str) -> str | None:
        row = one(self._db, JOURNAL["unheard_answer"], team_id, key, request_id)
        return None if row is None else "approved" if row[0] else "rejected"

    # --- acts still to do

    def add_acts(self, team_id: str, acts: Iterable[Act]) -> None:
        from headcount.protocol import codec

        for act in acts:
            self._db.execute(JOURNAL["add_act"], (self._own(team_id), act.id, codec.dump_act(act)))

    def pending_acts(self, team_id: str) -> list[Act]:
        from headcount.store.team_values import load_act

        return [load_act(data) for (data,) in self._db.execute(JOURNAL["pending_acts"], (team_id,))]

    def end_act(self, team_id: str, act_id: str) -> None:
        self._db.execute(JOURNAL["end_act"], (self._now, self._own(team_id), act_id))

    # --- mail

    def post(self, mail: Mail) -> str:
        if mail.id and one(self._db, MAIL["one"], mail.team, mail.id) is not None:
            return mail.id
        row = one(
            self._db, MAIL["insert"], mail.id, self._own(mail.team), mail.sender, mail.to, mail.subject,
            mail.body, mail.type, mail.template, mail.request_id, mail.priority, mail.sent_at or self._now,
            mail.bounced_from, mail.group,
        )  # fmt: skip
        return str(row[0])

    def inbox(self, team_id: str, boxes: Iterable[str] | None, *, unread: bool = False) -> list[Mail]:
        if boxes is None:
            found = self._db.execute(MAIL["all"], (team_id, unread))
        else:
            found = self._db.execute(MAIL["inbox_unread" if unread else "inbox"], (team_id, dumps([*boxes])))
        return [_mail(row) for row in found]

    def has_unread(self, team_id: str, boxes: Iterable[str]) -> bool:
        return one(self._db, MAIL["has_unread"], team_id, dumps([*boxes])) is not None

    def count_unread(self, team_id: str) -> dict[str, int]:
        return dict(self._db.execute(MAIL["count_unread"], (team_id,)))

    def find_mail(self, team_id: str, mail_id: str) -> Mail | None:
        row = one(self._db, MAIL["one"], team_id, mail_id)
        return None if row is None else _mail(row)

    def mark_read(self, team_id: str, ids: Iterable[str]) -> None:
        for mail_id in ids:
            self._db.execute(MAIL["mark_read"], (self._now, self._own(team_id), mail_id))

    def redirect_mail(self, team_id: str, box: str, to: str, types: Iterable[str]) -> int:
        before = self._db.total_changes()
        for kind in types:
            self._db.execute(MAIL["redirect"], (to, self._own(team_id), box, kind))
        return self._db.total_changes() - before

    def seal(self, team_id: str, key: str) -> None:
        self._db.execute(TEAMS["seal"], (self._own(team_id), key, self._now))

    def is_sealed(self, team_id: str, key: str) -> bool:
        return one(self._db, TEAMS["sealed"], team_id, key) is not None

    def forget_mail(self, team_id: str, read_before: float) -> int:
        before = self._db.total_changes()
        self._db.execute(MAIL["forget"], (self._own(team_id), read_before))
        return self._db.total_changes() - before

    # --- asks

    def add_ask(self, ask: Ask) -> Ask:
        values = [value for name, value in ask.as_dict().items() if name != "id"]
        self._own(ask.team)
        return ask.changed(id=one(self._db, ASKS["insert"], *values)[0])

    def find_ask(self, ask_id: str) -> Ask | None:
        row = one(self._db, ASKS["one"], ask_id)
        return None if row is None else _ask(row)

    def asks(self, team_id: str, *, state: str | None = None) -> list[Ask]:
        return [_ask(row) for row in self._db.execute(ASKS["list"], (team_id, state))]

    def asks_to_join(self, team_id: str, key: str) -> list[Ask]:
        return [_ask(row) for row in self._db.execute(ASKS["again"], (team_id, key, self._now))]

    def answer_ask(self, team_id: str, ask_id: str, state: str, by: str, reason: str) -> bool:
        self._db.execute(ASKS["answer"], (state, by, reason, self._now, self._own(team_id), ask_id))
        return self._db.changes() == 1

    def forget_asks(self, team_id: str) -> None:
        self._db.execute(ASKS["forget"], (self._own(team_id),))

    def take_answer(self, team_id: str, ask_id: str) -> None:
        self._db.execute(ASKS["take"], (self._now, self._own(team_id), ask_id))

    # --- tasks

    def add_task(self, task: Task) -> Task:
        task = task if task.id else task.changed(id=self._next_task_id(task.team))
        self._db.execute(
            TASKS["insert"],
            (task.id, self._own(task.team), task.subject, task.description, task.active_form, task.status,
             task.owner, task.metadata_json, task.reason),
        )  # fmt: skip
        self._write_needs(task)
        return task

    def _next_task_id(self, team_id: str) -> str:
        """`t1`, `t2`, …: short enough for an agent to type."""
        taken = {task_id for (task_id,) in self._db.execute(TASKS["ids"], (team_id,))}
        number = len(taken) + 1
        while f"t{number}" in taken:
            number += 1
        return f"t{number}"

    def save_task(self, task: Task) -> None:
        self._db.execute(
            TASKS["update"],
            (task.subject, task.description, task.active_form, task.status, task.owner, task.metadata_json,
             task.reason, self._own(task.team), task.id),
        )  # fmt: skip
        if task.depends_on != self._needs(task.team, task.id):
            self._db.execute(TASKS["clear_needs"], (task.team, task.id))
            self._write_needs(task)

    def _needs(self, team_id: str, task_id: str) -> tuple[str, ...]:
        return tuple(needed for (needed,) in self._db.execute(TASKS["needs"], (team_id, task_id)))

    def _write_needs(self, task: Task) -> None:
        for position, needed in enumerate(task.depends_on):
            self._db.execute(TASKS["add_need"], (task.team, task.id, position, needed))

    def tasks(self, team_id: str, *, status: str | None = None, owner: str | None = None) -> list[Task]:
        needs: dict[str, list[str]] = {}
        for task_id, needed in self._db.execute(TASKS["all_needs"], (team_id,)):
            needs.setdefault(task_id, []).append(needed)
        rows = self._db.execute(TASKS["list"], (team_id, status, owner))
        return [_task(row, needs.get(row[0], ())) for row in rows]

    def find_task(self, team_id: str, task_id: str) -> Task | None:
        row = one(self._db, TASKS["one"], team_id, task_id)
        return None if row is None else _task(row, self._needs(team_id, task_id))

    def next_task(self, team_id: str, key: str, ended: Iterable[str]) -> Task | None:
        row = one(self._db, TASKS["next"], team_id, key, dumps([*ended]))
        return None if row is None else _task(row, self._needs(team_id, row[0]))

    # --- identity

    def add_token(self, identity: Identity, token: str) -> None:
        digest = _hash(token)
        values = (digest[:_SELECTOR_BYTES], digest, self._own(identity.team), identity.key, identity.role)
        self._db.execute(IDENTITY["add_token"], values)

    def identify(self, token: str) -> Identity | None:
        """Compares in constant time. Tokens have all their entropy, so a fast hash is the right one."""
        digest = _hash(token)
        for stored, team_id, key, role in self._db.execute(
            IDENTITY["candidates"], (digest[:_SELECTOR_BYTES],)
        ):
            if _compare_digest(stored, digest) and not self.is_sealed(team_id, key):
                return Identity(team_id, key, role)
        return None

    # --- facts

    def put_fact(self, team_id: str, about: str, name: str, value: Mapping[str, Any]) -> None:
        self._db.execute(TEAMS["put_fact"], (self._own(team_id), about, name, _json(value)))

    def fact(self, team_id: str, about: str, name: str) -> Mapping[str, Any] | None:
        from json import loads

        row = one(self._db, TEAMS["fact"], team_id, about, name)
        return None if row is None else loads(row[0])

    def facts(self, team_id: str, name: str) -> dict[str, Mapping[str, Any]]:
        from json import loads

        return {about: loads(value) for about, value in self._db.execute(TEAMS["facts"], (team_id, name))}

    def spent_on(self, day: str) -> float:
        row = one(self._db, TEAMS["spent_on"], day)
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


class _Opened:
    """A transaction as the port gives it: entered, it is the rows."""

    __slots__ = ("_fence", "_read", "_store", "_team", "_transaction")

    def __init__(self, store: SqliteStore, team: str, fence: Fence | None, read: bool) -> None:
        self._store = store
        self._team = team
        self._fence = fence
        self._read = read

    def __enter__(self) -> SqliteTx:
        db = self._store._connection()
        if self._read:
            db.pragma("query_only", True)
        self._transaction = Transaction(db, write=not self._read)
        try:
            self._transaction.__enter__()
        except BaseException:
            self._leave(db)
            raise
        fence = self._fence
        if fence is not None and one(db, IDENTITY["holds"], fence.name, fence.token) is None:
            lost = FencedOut(f"The lease {fence.name} was lost", "another engine drives this team now")
            self._transaction.__exit__(FencedOut, lost, None)
            raise lost
        return SqliteTx(db, self._store._clock(), self._team)

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        try:
            self._transaction.__exit__(kind, error, traceback)
        finally:
            self._leave(self._transaction._db)

    def _leave(self, db: apsw.Connection) -> None:
        if self._read:
            db.pragma("query_only", False)


class _OpenFile:
    """The file behind a path at one moment. Its descriptor is a mere place (O_PATH): to close any other would
    take away SQLite's locks, which belong to the process and not to a descriptor."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_PATH | os.O_CLOEXEC)

    @property
    def removed(self) -> bool:
        """A file that was moved is not removed: it is where its new path says."""
        return os.fstat(self._fd).st_nlink == 0

    def __del__(self) -> None:
        if hasattr(self, "_fd"):
            os.close(self._fd)


class SqliteStore:
    """The state directory's database.

    Each thread has a connection of its own, and so a transaction, and bells of its own, so that none takes
    another's ring. Both go with their thread.
    """

    def __init__(self, path: str, clock: Callable[[], float] = time.time, *, make: bool = True) -> None:
        """`path` is the state directory, made when it is not there, or the database in it."""
        self.path = os.path.abspath(path if path.endswith(".db") else os.path.join(path, DATABASE))
        self._home = os.path.dirname(self.path)
        self._clock = clock
        self._local = _local()
        self._open: WeakSet[apsw.Connection | Bell] = WeakSet()
        self._lock = RLock()
        if make:
            self._make()
        self._connection()

    def write(self, fence: Fence | None = None, *, team: str = "") -> _Opened:
        return _Opened(self, team, fence, read=False)

    def read(self) -> _Opened:
        return _Opened(self, "", None, read=True)

    def put_back(self) -> bool:
        from headcount.store import removed_database

        db = self._local.__dict__.get("db")
        if db is None or not self._local.file.removed:
            return False
        removed_database.put_back(self.path, db)
        return True

    # --- leases

    def take_lease(self, name: str, holder: str, ttl_s: float) -> Fence | None:
        from headcount.ports import Fence

        now = self._clock()
        with Transaction(self._connection(), write=True) as db:
            row = one(db, IDENTITY["lease"], name)
            if row is not None and row[0] not in (None, holder) and row[2] > now:
                return None
            token = 1 if row is None else row[1] + 1
            db.execute(IDENTITY["put_lease"], (name, holder, token, now + ttl_s))
            return Fence(name, token)

    def renew_lease(self, fence: Fence, ttl_s: float) -> bool:
        """Renew a lease, also an expired one that no other holder took: its token is still the highest."""
        with Transaction(self._connection(), write=True) as db:
            db.execute(IDENTITY["renew_lease"], (self._clock() + ttl_s, fence.name, fence.token))
            return db.changes() == 1

    def release_lease(self, fence: Fence) -> None:
        with Transaction(self._connection(), write=True) as db:
            db.execute(IDENTITY["release_lease"], (fence.name, fence.token))
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

    def wait_any(self, channels: Iterable[str], timeout_s: float, fd: int | None = None) -> bool:
        from headcount.store.doorbell import wait_any

        return wait_any([self._bell(channel) for channel in channels], timeout_s, fd)

    def ring(self, channels: Iterable[str]) -> None:
        from headcount.store.doorbell import ring

        ring(self.bells, channels)

    def close(self) -> None:
        with self._lock:
            for resource in list(self._open):
                resource.close()
        self._local = _local()

    def _bell(self, channel: str) -> Bell:
        from headcount.store.doorbell import Bell

        bells: dict[str, Bell] = self._local.__dict__.setdefault("bells", {})
        if channel not in bells:
            bells[channel] = self._keep(Bell(self.bells, channel))
        return bells[channel]

    def _make(self) -> None:
        from headcount.store import migrate

        migrate.create(self.path)

    def _connection(self) -> apsw.Connection:
        db: apsw.Connection | None = getattr(self._local, "db", None)
        if db is None:
            return self._use(connect(self.path))
        if not self._local.file.removed:
            return db
        from headcount.store import removed_database

        return self._use(removed_database.follow(self.path, db))

    def _use(self, db: apsw.Connection) -> apsw.Connection:
        self._local.file = _OpenFile(self.path)
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
        from headcount.store import migrate

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
