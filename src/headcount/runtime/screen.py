"""A look at a terminal: its rows, and where its cursor is. Columns are the terminal's, not characters."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple


class Screen(NamedTuple):
    rows: tuple[str, ...]
    x: int
    y: int

    @property
    def text(self) -> str:
        return "\n".join(self.rows)

    @property
    def cursor(self) -> tuple[int, int]:
        return self.x, self.y

    @property
    def before_cursor(self) -> str:
        """What stands left of the cursor on its row."""
        return cut(self.row(self.y), 0, self.x)

    def row(self, y: int) -> str:
        return self.rows[y] if 0 <= y < len(self.rows) else ""


def columns(text: str) -> int:
    return sum(map(_columns, text))


def cut(row: str, begin: int, end: int) -> str:
    """What stands in these columns; the screen is blank where nothing stands."""
    kept, at = "", 0
    for char in row:
        if begin <= at < end or (kept and at == end and not _columns(char)):
            kept += char
        at += _columns(char)
    return kept + " " * (end - max(begin, at))


def _columns(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
