"""One connection to PostgreSQL, and one transaction.

A commit that was confirmed is on disk. Each transaction writes its number, so that the outcome of one whose
confirmation was lost can be found out: see `Transaction`.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import conninfo, pq
from psycopg.adapt import Loader
from psycopg.types.string import StrDumperUnknown

from headcount.domain.database_url import hide_password
from headcount.errors import Bug, OutcomeUnknown, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SCHEMA = "headcount"
OLDEST = 130000
LOCK_TIMEOUT_S = 30
IDLE_S = 60  # a transaction of a suspended process ends, and frees its locks
LOOK_UP_S = 10.0  # how long a commit waits for a database that went away before it was answered
_LOOK_AGAIN_S = 0.1

# What holds for every connection unless the URL says otherwise. A cut cable is noticed in half a minute.
_DEFAULTS = {
    "application_name": "headcount",
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "25000",
}
_SETTINGS = f"""
set search_path = {SCHEMA}, pg_temp;
set lock_timeout = '{LOCK_TIMEOUT_S}s';
set idle_in_transaction_session_timeout = '{IDLE_S}s';
set synchronous_commit = on;
set client_min_messages = warning;
"""


def check_url(url: str) -> None:
    """Raise if libpq cannot parse it. What libpq says is not shown: it quotes parts of the URL."""
    try:
        conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise StoreError(
            f"{hide_password(url)} is not the URL of a PostgreSQL database",
            "a user, a host, a port or an option in it cannot be parsed",
            ("Write it as postgresql://USER@HOST:PORT/DATABASE",),
            code="bad-database-url",
        ) from None


def open_connection(url: str) -> psycopg.Connection[Any]:
    """Connect, in autocommit mode: transactions are begun and ended by statements."""
    check_url(url)
    given = {key: value for key, value in conninfo.conninfo_to_dict(url).items() if value is not None}
    try:
        db = psycopg.connect(conninfo.make_conninfo("", **{**_DEFAULTS, **given}), autocommit=True)
    except psycopg.OperationalError as error:
        raise explain(error, url) from None
    if db.info.server_version < OLDEST:
        db.close()
        raise StoreError(
            f"The server of {hide_password(url)} is too old",
            f"it is PostgreSQL {db.info.server_version // 10000}, and headcount needs 13 or later",
            code="old-postgresql",
        )
    return db


class Connection:
    """One connection as the rows use it. Ends with the thread that made it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.id = os.urandom(16).hex()
        self.number = 0  # of its last transaction
        self.db = open_connection(url)
        self._changes = 0
        try:
            self.db.adapters.register_dumper(str, _TextDumper)
            self.db.adapters.register_loader("text", _TextLoader)
            self._cursor = psycopg.RawCursor(self.db)
            self.run(_SETTINGS)
        except psycopg.Error as error:
            self.close()
            raise explain(error, url) from None

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Iterator[tuple[Any, ...]]:
        cursor = self._cursor.execute(sql.encode(), values)
        self._changes = cursor.rowcount
        return iter(cursor.fetchall() if cursor.description else ())

    def changes(self) -> int:
        return self._changes

    def run(self, script: str) -> tuple[Any, ...]:
        """Run statements without values in one round trip; the first row of the last that has rows."""
        cursor = self.db.execute(script.encode())
        row: tuple[Any, ...] = ()
        while True:
            if cursor.description:
                row = cursor.fetchone() or ()
            if not cursor.nextset():
                return row

    @property
    def status(self) -> pq.TransactionStatus:
        return self.db.info.transaction_status

    @property
    def is_lost(self) -> bool:
        return self.db.closed or self.status is pq.TransactionStatus.UNKNOWN

    def close(self) -> None:
        self.db.close()

    def __del__(self) -> None:
        if hasattr(self, "db"):
            self.db.close()


# PostgreSQL's text holds every character but NUL. So NUL is two characters, of which the first one, which
# Unicode has for no text, never stands alone. Equal texts stay equal, and others different.
_MARK = "\U0010ffff"


class _TextDumper(StrDumperUnknown):
    def dump(self, obj: str) -> Any:
        if "\0" in obj or _MARK in obj:
            obj = obj.replace(_MARK, f"{_MARK}1").replace("\0", f"{_MARK}0")
        return super().dump(obj)


class _TextLoader(Loader):
    def load(self, data: Any) -> str:
        text = bytes(data).decode()
        return text if _MARK not in text else text.replace(f"{_MARK}0", "\0").replace(f"{_MARK}1", _MARK)


class Transaction:
    """`begin` and `end` one transaction.

    The row of its connection in `commits` has the number of its last transaction that was committed. When the
    connection is lost between `commit` and the confirmation, that row decides. Committed: so it is done.
    Rolled back: a `StoreError` like any other, and the caller may try again. Not to be found out in time:
    `OutcomeUnknown`, after which a caller must read the state before it repeats anything.

    The number that the server gives a transaction would not do: after a crash it can be another one's.
    """

    def __init__(self, connection: Connection, locks: Sequence[str] = ()) -> None:
        """`locks` are statements that wait for locks; without one the transaction only reads."""
        self.connection = connection
        self._writes = bool(locks)
        if connection.status is not pq.TransactionStatus.IDLE and not connection.is_lost:
            raise Bug("A transaction was opened inside another one")
        clock = "extract(epoch from clock_timestamp())::double precision"
        if self._writes:
            connection.number += 1
            begin = f"begin isolation level read committed read write; {'; '.join(locks)}"
            number = f"select begin_transaction('{connection.id}', {connection.number})"
            [self.now] = connection.run(f"{begin}; {number}")
        else:
            [self.now] = connection.run(f"begin isolation level repeatable read read only; select {clock}")

    def end(self, error: BaseException | None) -> None:
        if error is not None:
            roll_back(self.connection)
            if isinstance(error, psycopg.Error):
                raise explain(error, self.connection.url, writes=self._writes) from error
            return
        try:
            ended = self.connection.db.execute("commit").statusmessage
        except psycopg.Error as failure:
            lost = self.connection.is_lost
            roll_back(self.connection)
            if not (self._writes and lost and self._was_committed()):
                raise explain(failure, self.connection.url) from failure
        else:
            if ended != "COMMIT":
                raise Bug("A transaction was committed after one of its statements had failed")

    def _was_committed(self) -> bool:
        deadline = time.monotonic() + LOOK_UP_S
        while time.monotonic() < deadline:
            try:
                return self._last_committed() == self.connection.number
            except (psycopg.Error, StoreError):
                time.sleep(_LOOK_AGAIN_S)
        raise OutcomeUnknown(
            "It is not known whether a change was stored",
            f"the database {hide_password(self.connection.url)} went away while it stored it",
            ("See what holds with `headcount status` once the database is back",),
        )

    def _last_committed(self) -> int:
        """Waits for the transaction, if the server has not noticed yet that its connection is lost."""
        other = Connection(self.connection.url)
        try:
            [number] = other.run(f"select last_committed('{self.connection.id}')")
        finally:
            other.close()
        return int(number)


def roll_back(connection: Connection) -> None:
    """Make the connection ready for the next transaction, or close it."""
    if connection.is_lost:
        connection.close()
    elif connection.status is not pq.TransactionStatus.IDLE:
        try:
            connection.run("rollback")
        except psycopg.Error:
            connection.close()


def explain(error: psycopg.Error, url: str, *, writes: bool = True) -> StoreError | Bug:
    """What PostgreSQL says, in our words: what happened, why, and what to do."""
    why = str(error).strip().partition("\n")[0]
    password = conninfo.conninfo_to_dict(url).get("password")
    if password:
        why = why.replace(str(password), "***")
    place = hide_password(url)
    if isinstance(error, psycopg.errors.LockNotAvailable | psycopg.errors.DeadlockDetected):
        return StoreError(
            "The state is busy",
            f"another transaction held {place} for {LOCK_TIMEOUT_S} s: {why}",
            ("Try again",),
            code="store-busy",
        )
    if isinstance(error, psycopg.errors.ReadOnlySqlTransaction) and not writes:
        return Bug("Something was written in a read transaction", why)
    if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
        return StoreError("The state cannot be written", f"{place} is read-only: {why}", code="store-io")
    if isinstance(error, psycopg.errors.InsufficientPrivilege | psycopg.errors.InvalidPassword) or (
        isinstance(error, psycopg.OperationalError) and "authentication failed" in why
    ):
        return StoreError(
            f"The database {place} refused this user",
            why,
            ("Put the password into ~/.pgpass, or into HEADCOUNT_DATABASE",),
            code="database-refused",
        )
    if isinstance(error, psycopg.errors.DiskFull | psycopg.errors.IoError):
        return StoreError("The state could not be written", f"{place}: {why}", code="store-io")
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return StoreError(
            f"The database {place} is away",
            why,
            ("Start it, or check the network; running members are not affected",),
            code="database-away",
        )
    return Bug("The store met an unknown error", f"{type(error).__name__}: {why}")
