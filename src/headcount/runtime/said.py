"""What was put in front of a member, and what of it was seen to be taken: lines in a file.

It outlives whoever put it there. A nudge that waits in a pipe or on a terminal is not put there twice, and
one that was taken is not given again, even if the engine died before it could write that down.
"""

from __future__ import annotations

SAID = "said"
_PUT = "put"
_TOOK = "took"


class Said:
    """Tags are ids of acts, without spaces; the empty one is remembered by nobody."""

    def __init__(self, path: str) -> None:
        self._path = path

    def waits(self, tag: str) -> bool:
        return f"{_PUT} {tag}" in self._lines()

    def taken(self, tag: str) -> bool:
        return f"{_TOOK} {tag}" in self._lines()

    def put(self, tag: str) -> None:
        self._add(_PUT, tag)

    def took(self, tag: str) -> None:
        self._add(_TOOK, tag)

    def _add(self, what: str, tag: str) -> None:
        if tag:
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(f"{what} {tag}\n")

    def _lines(self) -> list[str]:
        try:
            with open(self._path, encoding="utf-8") as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []
