"""Named statements in `.sql` files, and what a connection must do with them."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # `typing` costs more than opening the database
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Protocol

    class Connection(Protocol):
        """One connection to a database. `apsw.Connection` is one."""

        def execute(self, sql: str, values: Sequence[Any] = ..., /) -> Iterator[tuple[Any, ...]]: ...
        def changes(self) -> int:
            """Return how many rows the last statement changed."""


_SQL = os.path.join(os.path.dirname(__file__), "sql")


def read_sql(name: str) -> str:
    with open(f"{_SQL}/{name}", encoding="utf-8") as file:
        return file.read()


def statements(file: str) -> dict[str, str]:
    """The statements of one `.sql` file by the name in the `-- name:` line above each."""
    found = {}
    for part in read_sql(f"{file}.sql").split("-- name: ")[1:]:
        title, _, body = part.partition("\n")
        found[title.strip()] = body.strip()
    return found


class Statements:
    """The statements of one file, read when the first is needed."""

    __slots__ = ("_by_name", "_file")

    def __init__(self, file: str) -> None:
        self._file = file
        self._by_name: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        if not self._by_name:
            self._by_name = statements(self._file)
        return self._by_name[name]


def one(db: Connection, sql: str, *values: Any) -> Any:
    """The first row, or None."""
    return next(iter(db.execute(sql, values)), None)
