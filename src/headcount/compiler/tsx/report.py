"""Collects diagnostics: each once, though a component is evaluated many times."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headcount.compiler.element import UNKNOWN, Diagnostic
from headcount.compiler.tsx.limits import MAX_DIAGNOSTICS

if TYPE_CHECKING:
    from tree_sitter import Node

    from headcount.compiler.element import Span, Unknown
    from headcount.compiler.tsx.source import SourceFile


class Problem(NamedTuple):
    """One thing that is invalid: the node to point at, what is wrong, and what to write instead."""

    node: Node
    message: str
    hint: str
    code: str = "syntax"


class GiveUp(Exception):
    """Reading cannot go on (too deep, too large, too much to say); that has been reported."""


class Report:
    __slots__ = ("_seen", "items")

    def __init__(self) -> None:
        self.items: list[Diagnostic] = []
        self._seen: set[Diagnostic] = set()

    def add(self, source: SourceFile, node: Node, code: str, message: str, hint: str) -> Unknown:
        """Reports, and answers UNKNOWN: what stands for the value that could not be had."""
        return self.add_at(source.span(node), code, message, hint, source.excerpt(node))

    def add_at(self, span: Span, code: str, message: str, hint: str, text: str = "") -> Unknown:
        diagnostic = Diagnostic(code, message, span, hint, text)
        if diagnostic not in self._seen:
            self._seen.add(diagnostic)
            self.items.append(diagnostic)
            if len(self.items) >= MAX_DIAGNOSTICS:
                raise GiveUp
        return UNKNOWN

    def sorted(self, root: str) -> tuple[Diagnostic, ...]:
        """In reading order, the root's file first."""
        return tuple(sorted(self.items, key=lambda d: (d.span.file != root, d.span)))
