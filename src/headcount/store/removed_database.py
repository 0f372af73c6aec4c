"""A database that was removed while it was open: `git clean -fdx`, `rm -r .headcount`.

The kernel keeps the file for whoever has it open, so nothing is lost yet, and everybody else sees no team, or
makes a new database in its place. The engine notices and puts it back; whoever else had it open follows.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import apsw

from headcount.errors import FencedOut, StoreError
from headcount.store import migrate
from headcount.store.database import Statements, connect, explain, one

if TYPE_CHECKING:
    from typing import Any

SQL = Statements("teams")


def follow(path: str, old: apsw.Connection) -> apsw.Connection:
    """What was put back in the place of `old`. That it is not there yet, or is another, is an error."""
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
    """Only where nothing has begun meanwhile: what is there is never overwritten. And only where it belongs:
    a repository that was removed as a whole is not made anew."""
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
