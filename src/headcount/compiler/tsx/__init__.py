"""Reads a TSX definition without executing it.

            ┌─ plain ────────────────────────────────────────────────────────┐
    bytes ──┤                                                                ├─→ Element
            └─ parse ─→ syntax tree ─ bind ─→ names ─ evaluate the root ─────┘

Names are bound first and evaluated when they are used, so a file may hold whatever TypeScript allows as
long as the root does not need it. Everything that the root needs and that is not understood is reported,
with its place; nothing is left out silently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headcount.compiler.element import Diagnostic, Element
from headcount.compiler.tsx.limits import LARGE
from headcount.compiler.tsx.plain import read_plain

if TYPE_CHECKING:
    from headcount.compiler.tsx.reader import Reader


class ReadResult(NamedTuple):
    """`root` is None where there is none; it may have `UNKNOWN` in it where `diagnostics` has errors.
    `files` are those that were read, the definition's own first."""

    root: Element | None
    diagnostics: tuple[Diagnostic, ...]
    files: tuple[str, ...]


def read_tsx(path: str, source: bytes | None = None) -> ReadResult:
    """Reads the definition at `path`, or `source` as if it stood there. Never raises for bad input."""
    if source is not None and len(source) <= LARGE:
        plain = read_plain(path, source)
        if plain is not None:
            return ReadResult(plain, (), (path,))
    # What plain definitions do not need takes five times as long to import as they take to read.
    from headcount.compiler.tsx.reader import Reader

    reader = Reader()
    root = _without_collector(reader, path, source) if _is_large(source) else reader.read(path, source)
    diagnostics = reader.report.sorted(path) if reader.report.items else ()
    return ReadResult(root, diagnostics, tuple(reader.files))


def _is_large(source: bytes | None) -> bool:
    return source is not None and len(source) > LARGE


def _without_collector(reader: Reader, path: str, source: bytes | None) -> Element | None:
    """A large tree is made of hundreds of thousands of tuples, none of which is garbage; looking through
    them again and again takes as long as reading them."""
    import gc

    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return reader.read(path, source)
    finally:
        if was_enabled:
            gc.enable()
