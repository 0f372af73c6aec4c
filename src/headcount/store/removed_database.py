"""A database that was removed while it was open: `git clean -fdx`, `rm -r .headcount`.

The kernel keeps the file for processes that have it open, so nothing is lost yet. Others see no team, or
create a new database in its place. The engine notices and restores the file. Other processes that had it open
follow.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import apsw

from headcount.errors import FencedOut, StoreError
from headcount.store import migrate
from headcount.store.database import connect, explain
from headcount.store.statements import Statements, one

if TYPE_CHECKING:
    from typing import Any

SQL = Statements("teams")


def follow(path: str, old: apsw.Connection) -> apsw.Connection:
    """Open the database that was restored in the place of `old`. Raises if there is none, or another one."""
    db = connect(path) if os.path.exists(path) else None
    if db is not None:
        if _origin(db) == _origin(old):
            return db
        db.close()
    raise StoreError(
        f"{path} was removed",
        "another state is there now, or none yet",
        ("Try again: a running engine restores it within seconds",
         "Otherwise `headcount sweep` finds the members"),
        code="state-lost",
    )  # fmt: skip


def put_back(path: str, old: apsw.Connection) -> None:
    """Restore a database file that was deleted while open. Never overwrites another database.

    A repository that was removed as a whole is not created again.
    """
    if not os.path.isdir(os.path.dirname(os.path.dirname(path))):
        raise FencedOut(f"{path} was removed", "and its repository with it", code="state-gone")
    migrate.create(path)
    db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        there = _origin(db)
        if there is None:
            with db.backup("main", old, "main") as copy:
                copy.step()
        elif there != _origin(old):
            raise FencedOut(
                f"{path} was replaced", "another state has begun in its place", code="state-replaced"
            )
    except apsw.Error as error:
        raise explain(error, path) from error
    finally:
        db.close()


def _origin(db: apsw.Connection) -> Any:
    """What no other database has: its first team, and when that was made. None before there was one."""
    return one(db, SQL["first_team"])
