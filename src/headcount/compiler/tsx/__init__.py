"""Read a TSX definition without executing it.

    bytes ─ parse ─→ syntax tree ─ check ─→ valid TSX ─ bind ─→ names ─ evaluate the root ─→ Element

tree-sitter parses, and `validity` rejects the invalid code that its grammar accepts. Names are bound first
and evaluated when they are used, so a file may contain whatever TypeScript allows as long as the root does
not need it. The reader reports every construct that the root needs and that it does not understand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headcount.compiler.tsx.grammar import LARGE
from headcount.compiler.tsx.reader import Reader
from headcount.compiler.tsx.source import NoFiles

if TYPE_CHECKING:
    from headcount.compiler.element import Diagnostic, Element
    from headcount.compiler.tsx.source import Files


class ReadResult(NamedTuple):
    """`root` is None where there is none; it may have `UNKNOWN` in it where `diagnostics` has errors.
    `files` are those that were read, the definition's own first."""

    root: Element | None
    diagnostics: tuple[Diagnostic, ...]
    files: tuple[str, ...]


def read_tsx(path: str, source: bytes | None = None, files: Files | None = None) -> ReadResult:
    """Read the definition at `path`, or `source` as if it stood there. Never raises for bad input.
    `files` reads the files; without it the definition can import nothing."""
    reader = Reader(files or NoFiles())
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
