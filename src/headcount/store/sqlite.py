"""The store on SQLite, for the engine and for every command.

Members' commands open it, too, so it imports next to nothing.
"""

from __future__ import annotations

import os
import time
from _thread import RLock, _local
from _weakrefset import WeakSet
from itertools import count

import apsw

from headcount.errors import FencedOut
from headcount.store.database import BUSY_TIMEOUT_MS, DATABASE, Transaction, connect
from headcount.store.rows import Rows
from headcount.store.statements import one

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    from headcount.ports import Fence
    from headcount.store.doorbell import Bell

    R = TypeVar("R", apsw.Connection, Bell)

IDENTITY = Rows.IDENTITY
_EMPTYING_MS = 200  # no caller waits for it


class _Opened:
    """A transaction as the port gives it: entered, it is the rows."""

    __slots__ = ("_appends", "_fence", "_read", "_store", "_team", "_transaction")

    def __init__(
        self, store: SqliteStore, team: str, fence: Fence | None, read: bool, appends: bool = False
    ) -> None:
        self._store = store
        self._team = team
        self._fence = fence
        self._read = read
        self._appends = appends

    def __enter__(self) -> Rows:
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
        return Rows(db, self._store._clock(), self._team, self._appends)

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

    def append(self, *, team: str) -> _Opened:
        return _Opened(self, team, None, read=False, appends=True)

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
