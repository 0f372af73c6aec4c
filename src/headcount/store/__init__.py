"""Rows and transactions, in SQLite. `app/` and `engine/` decide who may write what.

- `sqlite.py`: the adapter of `ports.Store`. Members' commands import it, so it is light.
- `team_values.py`: teams, events and acts between rows and the values of the rules.
- `database.py`: one connection, one transaction, named statements.
- `migrate.py`: create a database, and upgrade an older one.
- `removed_database.py`: restore a database that was removed while it was open.
- `doorbell.py`: wake another process after a commit.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headcount.ports import Store


def open_store(home: str, *, make: bool = True) -> Store:
    """The store of a state directory, made on first use unless `make` is false."""
    from headcount.store.sqlite import SqliteStore

    return SqliteStore(home, make=make)


def check_library() -> tuple[str, bool]:
    """The version of the database library, and whether it is safe to use."""
    from headcount.store import database

    return database.check_library()


def is_made(home: str) -> bool:
    """Whether the state directory has a store."""
    import os

    from headcount.store.database import DATABASE

    return os.path.exists(f"{home}/{DATABASE}")


def passing_store(home: str) -> Store:
    """An empty store in memory, for commands that find no state directory and make none."""
    from headcount.store.sqlite import InMemoryStore

    return InMemoryStore(home)
