"""The store on PostgreSQL, for teams whose members are on several machines.

Locks: a transaction on a team waits for the others on that team, one without a team for all. A transaction
that only adds what members report waits for neither of its kind. The clock is the database's.
"""

from __future__ import annotations

import struct
from threading import RLock, local
from typing import TYPE_CHECKING
from weakref import WeakSet

import psycopg

from headcount.errors import FencedOut, StoreError
from headcount.store.postgres_bell import Bell, name_of
from headcount.store.postgres_connection import Connection, Transaction, explain, roll_back
from headcount.store.rows import Rows
from headcount.store.statements import Statements, one

try:
    from _blake2 import blake2b
except ImportError:  # another Python than CPython
    from hashlib import blake2b

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeVar

    from headcount.ports import Fence

    R = TypeVar("R", Connection, Bell)

_LOCKS = 0x48434E54  # "HCNT": the first number of all our advisory locks
_ALL = 0
_KEEP_COMMITS_S = 86_400.0  # much longer than any connection looks for the outcome of its last transaction


class PostgresRows(Rows):
    TEAMS, MAIL, TASKS = (Statements(f"postgres/{name}") for name in ("teams", "mail", "tasks"))
    JOURNAL, IDENTITY, ASKS = (Statements(f"postgres/{name}") for name in ("journal", "identity", "asks"))


IDENTITY = PostgresRows.IDENTITY


class _Opened:
    """A transaction as the port gives it: entered, it is the rows."""

    def __init__(
        self,
        store: PostgresStore,
        locks: list[str],
        team: str = "",
        fence: Fence | None = None,
        appends: bool = False,
    ) -> None:
        self._store = store
        self._locks = locks
        self._team = team
        self._fence = fence
        self._appends = appends

    def __enter__(self) -> PostgresRows:
        self._transaction = self._store._begin(self._locks)
        transaction = self._transaction
        rows = PostgresRows(transaction.connection, transaction.now, self._team, self._appends)
        try:
            self._prove(rows)
        except BaseException as error:
            self._transaction.end(error)
            raise
        return rows

    def _prove(self, rows: PostgresRows) -> None:
        fence = self._fence
        if fence is None:
            return
        if one(self._transaction.connection, IDENTITY["holds"], fence.name, fence.token) is None:
            raise FencedOut(f"The lease {fence.name} was lost", "another engine drives this team now")

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self._transaction.end(error)


class PostgresStore:
    """A database. Each thread has a connection of its own, which is opened when it is first needed."""

    def __init__(self, url: str, *, make: bool = True) -> None:
        """Open the database, and create or upgrade its tables unless `make` is false."""
        from headcount.store import postgres_migrate

        self.url = url
        self._local = local()
        self._open: WeakSet[Connection | Bell] = WeakSet()
        self._lock = RLock()
        postgres_migrate.open_schema(self._connection(), make=make)

    def write(self, fence: Fence | None = None, *, team: str = "") -> _Opened:
        name = team.partition("#")[0]
        return _Opened(self, _locks(name), name, fence)

    def append(self, *, team: str) -> _Opened:
        name = team.partition("#")[0]
        return _Opened(self, _locks(name, shared=True), name, appends=True)

    def read(self) -> _Opened:
        return _Opened(self, [])

    def put_back(self) -> bool:
        return False  # there is no file that someone could remove

    def claim(self, owner: str) -> str:
        """Make `owner` the one user of this database, unless there is one. Returns who has it."""
        row = self._run(IDENTITY["claim"], owner)
        return str(row[0][0])

    # --- leases, by the clock of the database

    def take_lease(self, name: str, holder: str, ttl_s: float) -> Fence | None:
        from headcount.ports import Fence

        row = self._run(IDENTITY["take_lease"], name, holder, ttl_s)
        return None if not row else Fence(name, row[0][0])

    def renew_lease(self, fence: Fence, ttl_s: float) -> bool:
        """Renew a lease, also an expired one that no other holder took: its token is still the highest."""
        self._run(IDENTITY["renew_lease"], ttl_s, fence.name, fence.token)
        return self._connection().changes() == 1

    def release_lease(self, fence: Fence) -> None:
        self._run(IDENTITY["release_lease"], fence.name, fence.token)
        self._run(IDENTITY["forget_commits"], _KEEP_COMMITS_S)

    # --- waking

    def listen(self, channel: str) -> None:
        self._bell().listen(channel)

    def wait(self, channel: str, timeout_s: float) -> bool:
        return self._bell().wait([channel], timeout_s)

    def wait_any(self, channels: Iterable[str], timeout_s: float, fd: int | None = None) -> bool:
        return self._bell().wait(channels, timeout_s, fd)

    def ring(self, channels: Iterable[str]) -> None:
        """Notify once for all. Never fails: the change is durable, and waiters look now and then."""
        names = [name_of(channel) for channel in dict.fromkeys(channels)]
        try:
            if names:
                self._connection().run("; ".join(f"notify {name}" for name in names))
        except (psycopg.Error, StoreError):
            pass

    def close(self) -> None:
        with self._lock:
            for resource in list(self._open):
                resource.close()
        self._local = local()

    # --- connections

    def _begin(self, locks: list[str]) -> Transaction:
        """A connection that was lost since its last use is replaced: nothing has been done in it yet."""
        for attempt in (1, 2):
            connection = self._connection()
            try:
                return Transaction(connection, locks)
            except psycopg.Error as error:
                if connection.is_lost and attempt == 1:
                    continue
                roll_back(connection)
                raise explain(error, self.url) from error
        raise AssertionError

    def _run(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Run a statement that may be repeated, in a transaction of its own."""
        for attempt in (1, 2):
            connection = self._connection()
            try:
                return list(connection.execute(sql, values))
            except psycopg.Error as error:
                if not connection.is_lost or attempt == 2:
                    raise explain(error, self.url) from error
        raise AssertionError

    def _connection(self) -> Connection:
        connection: Connection | None = getattr(self._local, "db", None)
        if connection is None or connection.is_lost:
            connection = self._local.db = self._keep(Connection(self.url))
        return connection

    def _bell(self) -> Bell:
        bell: Bell | None = getattr(self._local, "bell", None)
        if bell is None:
            bell = self._local.bell = self._keep(Bell(self.url))
        return bell

    def _keep(self, resource: R) -> R:
        with self._lock:
            self._open.add(resource)
        return resource


def _locks(team: str, *, shared: bool = False) -> list[str]:
    """Statements that wait for the locks of a transaction; "" for one that concerns several teams."""
    if not team:
        return [f"select pg_advisory_xact_lock({_LOCKS}, {_ALL})"]
    # Two names with one number only wait for each other without need.
    [number] = struct.unpack("=i", blake2b(team.encode(), digest_size=4).digest())
    alone = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
    return [f"select pg_advisory_xact_lock_shared({_LOCKS}, {_ALL}), {alone}({_LOCKS}, {number or 1})"]
