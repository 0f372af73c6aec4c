"""Rows and transactions, in SQLite or PostgreSQL. `app/` and `engine/` decide who may write what.

- `rows.py`: the rows of one transaction, for both. Members' commands import it, so it is light.
- `team_values.py`: teams, events and acts between rows and the values of the rules.
- `statements.py`: named statements in `sql/`, and what a connection must do with them.

SQLite, the default:

- `sqlite.py`: the adapter of `ports.Store`.
- `database.py`: one connection, one transaction.
- `migrate.py`: create a database, and upgrade an older one.
- `removed_database.py`: restore a database that was removed while it was open.
- `doorbell.py`: wake another process after a commit.

PostgreSQL, with the same parts: `postgres.py`, `postgres_connection.py`, `postgres_migrate.py`,
`postgres_bell.py`. Only they import its driver.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headcount.ports import Store
    from headcount.store.postgres import PostgresStore


_URL = "database"  # a file in the state directory: the URL of its PostgreSQL database


def open_store(home: str, *, make: bool = True) -> Store:
    """The store of a state directory, made on first use unless `make` is false."""
    url = read_url(home)
    if url:
        return open_postgres(url, make=make)
    from headcount.store.sqlite import SqliteStore

    return SqliteStore(home, make=make)


def open_postgres(url: str, *, make: bool = True) -> PostgresStore:
    """Open the store in a PostgreSQL database."""
    try:
        from headcount.store.postgres import PostgresStore
    except ImportError as missing:
        from headcount.errors import UsageError

        raise UsageError(
            "The store is a PostgreSQL database, and its driver is not installed",
            str(missing),
            ("Install it with `pip install 'headcount[fleet]'`",),
            code="no-driver",
        ) from missing
    return PostgresStore(url, make=make)


def read_url(home: str) -> str:
    """The database of a state directory; "" for the file in it."""
    try:
        with open(f"{home}/{_URL}", encoding="utf-8") as file:
            return file.read().strip()
    except (FileNotFoundError, NotADirectoryError):
        return ""


def write_url(home: str, url: str) -> None:
    """Record the database, for the owner alone: the URL may have a password."""
    import os

    new = f"{home}/{_URL}.{os.getpid()}"
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        file.write(f"{url}\n")
        file.flush()
        os.fsync(fd)
    os.replace(new, f"{home}/{_URL}")


def claim(url: str, owner: str) -> str:
    """Make `owner` the one user of a PostgreSQL database. Returns another one that has it, or ""."""
    store = open_postgres(url)
    try:
        found = store.claim(owner)
    finally:
        store.close()
    return "" if found == owner else found


def check_library() -> tuple[str, bool]:
    """The version of the database library, and whether it is safe to use."""
    from headcount.store import database

    return database.check_library()


def is_made(home: str) -> bool:
    """Whether the state directory has a store."""
    import os

    from headcount.store.database import DATABASE

    return os.path.exists(f"{home}/{DATABASE}") or os.path.exists(f"{home}/{_URL}")


def passing_store(home: str) -> Store:
    """An empty store in memory, for commands that find no state directory and make none."""
    from headcount.store.sqlite import InMemoryStore

    return InMemoryStore(home)
