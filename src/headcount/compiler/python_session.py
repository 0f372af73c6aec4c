"""Where a definition stands while its file runs, and what was wrong in it so far.

The language's names are ordinary Python objects that a file calls. A wrong call must not end the file, or
its other mistakes would stay hidden: it is noted here, and `UNKNOWN` goes on in its place. Without a
session (somebody imports the language on their own) a mistake is raised.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from headcount.compiler.element import Diagnostic, Span
from headcount.errors import DefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType


class Session:
    """One file being read; `shown` maps a file's path to how diagnostics name it."""

    __slots__ = ("_line", "_positions", "problems", "shown")

    def __init__(self, line: Callable[[str, int], str]) -> None:
        self._line = line
        self.problems: list[Diagnostic] = []
        self.shown: dict[str, str] = {}
        self._positions: dict[CodeType, list[tuple[int | None, ...]]] = {}

    def span(self, code: CodeType, instruction: int, line: int) -> Span:
        """Line and column of an instruction: Python keeps both for every one."""
        positions = self._positions.get(code)
        if positions is None:
            positions = self._positions[code] = list(code.co_positions())
        at_line, _, column, _ = positions[instruction // 2] if instruction >= 0 else (line, None, 0, None)
        file = self.shown.get(code.co_filename, code.co_filename)
        return Span(
            file, at_line or line, self._characters(code.co_filename, at_line or line, column or 0) + 1
        )

    def _characters(self, file: str, line: int, column: int) -> int:
        """Python counts columns in bytes of UTF-8, editors in characters."""
        if not column:
            return 0
        text = self._line(file, line)
        return column if text.isascii() else len(text.encode()[:column].decode(errors="replace"))


_current: list[Session] = []


def begin(line: Callable[[str, int], str]) -> Session:
    """Start a session; `line` returns a line of a file."""
    session = Session(line)
    _current.append(session)
    return session


def end(session: Session) -> None:
    _current.remove(session)


def here(depth: int) -> Span:
    """The place in the author's file that called into the language, `depth` frames up from the caller."""
    frame = sys._getframe(depth + 1)
    if _current:
        return _current[-1].span(frame.f_code, frame.f_lasti, frame.f_lineno)
    return Span(frame.f_code.co_filename, frame.f_lineno, 1)


def problem(code: str, message: str, span: Span, hint: str = "") -> None:
    found = Diagnostic(code, message, span, hint)
    if not _current:
        raise DefinitionError(
            message, why=f"{span.file}:{span.line}", hints=(hint,) if hint else (), code=code
        )
    _current[-1].problems.append(found)
