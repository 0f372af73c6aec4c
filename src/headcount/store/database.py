"""One connection to SQLite, and one transaction.

The settings are those that make "accepted" mean "on disk": WAL with synchronous=FULL, so a commit that was
answered survives the machine; `begin immediate` for every write, so a transaction that reads and then writes
cannot find the ground moved under it; a busy timeout long enough that no lock error reaches anyone.
"""

from __future__ import annotations

import os

import apsw

from headcount.errors import Bug, StoreError

DATABASE = "state.db"
APPLICATION_ID = 0x48434E54  # "HCNT", so that `file` and we know our own
VERSION = 2
BUSY_TIMEOUT_MS = 30_000
OLDEST_SAFE = (3, 51, 3)  # 3.7.0 to 3.51.2 can corrupt a database in WAL mode when a reset races a writer


def connect(path: str) -> apsw.Connection:
    """Open a database that is there, of this version or made so; `create` makes a new one."""
    if sqlite_version() < OLDEST_SAFE:
        raise StoreError(
            f"SQLite {apsw.sqlite_lib_version()} may corrupt the state",
            "versions before 3.51.3 have the WAL-reset bug",
            ("Install apsw from a wheel, which brings its own SQLite",),
            code="unsafe-sqlite",
        )
    try:
        return _connect(path)
    except apsw.CantOpenError as error:
        raise StoreError(
            f"There is no state at {path}",
            "the file cannot be opened" if os.path.exists(path) else "the file does not exist",
            ("Start a team first with `headcount up FILE`",),
            code="no-state",
        ) from error
    except apsw.Error as error:
        raise explain(error, path) from error


def check_library() -> tuple[str, bool]:
    """The version of the library that runs, and whether it is safe to use."""
    return apsw.sqlite_lib_version(), sqlite_version() >= OLDEST_SAFE


def sqlite_version() -> tuple[int, ...]:
    """Of the library that runs, not of the one that apsw was compiled with."""
    return tuple(int(number) for number in apsw.sqlite_lib_version().split("."))


def _connect(path: str) -> apsw.Connection:
    db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        db.set_busy_timeout(BUSY_TIMEOUT_MS)
        # A command that is the last to close would pay for the checkpoint; the next writer to fill the
        # log does it instead, and nothing is less durable for it.
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        db.execute("pragma synchronous = full")
        # What is deleted is overwritten: the environment of a team that has closed may hold keys.
        db.execute("pragma secure_delete = on")
        version = db.pragma("user_version")
        if version != VERSION:
            from headcount.store import migrate

            migrate.upgrade(db, path, version)
    except BaseException:
        db.close()
        raise
    return db


class Transaction:
    """`with Transaction(db, write=True):` commits at the end, or leaves nothing behind."""

    __slots__ = ("_db", "_write")

    def __init__(self, db: apsw.Connection, write: bool) -> None:
        self._db = db
        self._write = write

    def __enter__(self) -> apsw.Connection:
        if self._db.in_transaction:
            raise Bug("A transaction was opened inside another one")
        try:
            self._db.execute("begin immediate" if self._write else "begin")
        except apsw.Error as error:
            raise explain(error, self._db.filename) from error
        return self._db

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is None:
            try:
                self._db.execute("commit")
            except apsw.Error as failure:
                self._roll_back()
                raise explain(failure, self._db.filename) from failure
            return
        self._roll_back()
        if isinstance(error, apsw.Error):
            raise explain(error, self._db.filename) from error

    def _roll_back(self) -> None:
        # SQLite has already rolled back by itself after some errors (disk full, I/O).
        if self._db.in_transaction:
            self._db.execute("rollback")


def explain(error: apsw.Error, path: str) -> StoreError | Bug:
    """What SQLite says, in our words: what happened, why, and what to do."""
    if isinstance(error, apsw.BusyError):
        return StoreError(
            "The state is busy",
            f"another process held {path} for {BUSY_TIMEOUT_MS // 1000} s",
            ("Try again, or find the process that has the file open; it may be suspended",),
            code="store-busy",
        )
    if isinstance(error, apsw.NotADBError | apsw.CorruptError):
        return StoreError(
            f"{path} cannot be read as headcount's state",
            f"SQLite reports: {error}",
            ("Move it away and restore a backup; nothing was changed",),
            code="store-corrupt",
        )
    if isinstance(error, apsw.FullError | apsw.IOError | apsw.CantOpenError | apsw.PermissionsError):
        return StoreError("The state could not be written", f"{path}: {error}", code="store-io")
    # A database in memory has no file.
    if isinstance(error, apsw.ReadOnlyError) and (os.access(path, os.W_OK) or not os.path.exists(path)):
        return Bug("Something was written in a read transaction", str(error))
    if isinstance(error, apsw.ReadOnlyError):
        return StoreError("The state cannot be written", f"{path} is read-only", code="store-io")
    return Bug("The store met an unknown error", f"{type(error).__name__}: {error}")
