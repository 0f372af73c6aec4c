"""Diagnostics are collected, not raised: a file's mistakes are shown all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.element import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headcount.compiler.element import Span

ERROR = "error"
WARNING = "warning"
MAX_SUGGESTIONS = 100


class Report:
    """The diagnostics of one file so far.

    `partial` is set when a reader has left things out that it reported: whoever would complain that
    something is missing then keeps quiet, so that one mistake is reported once.
    """

    __slots__ = ("failed", "items", "partial", "python", "suggested")

    def __init__(self, python: bool = False, items: Iterable[Diagnostic] = ()) -> None:
        self.items: list[Diagnostic] = list(items)
        self.python = python
        self.suggested = 0
        self.failed = self.partial = any(item.severity == ERROR for item in self.items)

    def error(self, code: str, message: str, span: Span, hint: str = "") -> None:
        self.failed = True
        self.items.append(Diagnostic(code, message, span, hint))

    def missing(self, code: str, message: str, span: Span, hint: str = "") -> None:
        """An error about something absent, which a reader may have left out."""
        self.failed = True
        if not self.partial:
            self.items.append(Diagnostic(code, message, span, hint))

    def warn(self, code: str, message: str, span: Span, hint: str = "") -> None:
        self.items.append(Diagnostic(code, message, span, hint, severity=WARNING))

    def suggest(self, word: str, known: Iterable[str]) -> str:
        """What was probably meant. Comparing words takes time, and nobody reads the hundredth guess."""
        self.suggested += 1
        return did_you_mean(word, known) if self.suggested <= MAX_SUGGESTIONS else ""

    def spell(self, prop: str) -> str:
        """A prop's name as the author writes it: snake_case in Python, camelCase in TSX."""
        return snake_case(prop) if self.python else prop


def closest(word: str, known: Iterable[str]) -> str:
    """The known word that was probably meant, or nothing."""
    # Only mistakes pay for difflib.
    from difflib import get_close_matches

    by_lower = {name.lower(): name for name in known}
    found = get_close_matches(word.lower().replace("_", ""), by_lower, 1, 0.6)
    return by_lower[found[0]] if found else ""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    names = sorted(known)
    guess = closest(word, names)
    return f"Did you mean {guess}?" if guess else f"Known here: {', '.join(names)}."


def camel_case(name: str) -> str:
    """`auto_chain` → `autoChain`; a trailing underscore only avoids a Python keyword."""
    head, *rest = name.rstrip("_").split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def snake_case(name: str) -> str:
    if name.islower():
        return name
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def kebab_case(name: str) -> str:
    return snake_case(name).replace("_", "-")
