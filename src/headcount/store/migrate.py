"""Making a database, and bringing an older one up to this version. Off the members' path unless needed."""

from __future__ import annotations

import fcntl
import os

import apsw

from headcount.errors import StoreError
from headcount.store.database import APPLICATION_ID, BUSY_TIMEOUT_MS, VERSION, Transaction, explain
from headcount.store.statements import read_sql

_MIGRATIONS = ("0001_first.sql", "0002_asks.sql")


def create(path: str) -> None:
    """Create the database for its owner alone. A second process that creates it finds it made."""
    directory = os.path.dirname(path)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    os.chmod(directory, 0o700)
    # Made before SQLite opens it, because the log and the index beside it inherit its mode.
    os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    try:
        db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            db.set_busy_timeout(BUSY_TIMEOUT_MS)
            version = db.pragma("user_version")
            if version != VERSION:
                upgrade(db, path, version)
        finally:
            db.close()
    except apsw.Error as error:
        raise explain(error, path) from error


def upgrade(db: apsw.Connection, path: str, version: int) -> None:
    if version > VERSION:
        raise StoreError(
            f"{path} was made by a newer headcount",
            f"it has schema {version}, this headcount knows schemas up to {VERSION}",
            ("Upgrade headcount, or use another state directory with HEADCOUNT_HOME",),
            code="newer-state",
        )
    with _Alone(os.path.dirname(path)):
        if db.pragma("user_version") == 0:
            _check_empty(db, path)
            db.pragma("journal_mode", "wal")
        with Transaction(db, write=True):
            version = db.pragma("user_version")  # somebody else may have been faster
            if version == VERSION:
                return
            _run(db, [read_sql("schema.sql")] if version == 0 else scripts_after(version))


def fill(db: apsw.Connection) -> None:
    """Create the tables in a database that is empty and that no other process can see."""
    with Transaction(db, write=True):
        _run(db, [read_sql("schema.sql")])


def _run(db: apsw.Connection, scripts: list[str]) -> None:
    for script in scripts:
        for _ in db.execute(script):
            pass
    db.pragma("application_id", APPLICATION_ID)
    db.pragma("user_version", VERSION)


class _Alone:
    """One process makes or upgrades at a time: SQLite does not wait for a lock while it changes to WAL."""

    def __init__(self, directory: str) -> None:
        self._fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self) -> None:
        fcntl.flock(self._fd, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)


def scripts_after(version: int) -> list[str]:
    return [read_sql(f"migrations/{name}") for name in _MIGRATIONS[version:]]


def _check_empty(db: apsw.Connection, path: str) -> None:
    """Never take over somebody else's database. One look, because another of us may be making it just now."""
    with Transaction(db, write=False):
        ours = db.pragma("application_id") == APPLICATION_ID
        filled = next(iter(db.execute("select 1 from sqlite_schema")), None) is not None
    if filled and not ours:
        raise StoreError(
            f"{path} is not headcount's state",
            "it is a SQLite database of another program",
            ("Use another state directory with HEADCOUNT_HOME",),
            code="store-corrupt",
        )
