"""One source file with its bytes and places, and the report that collects diagnostics about it."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple, Protocol

from headcount.compiler.element import UNKNOWN, Diagnostic, Span
from headcount.compiler.tsx.grammar import MAX_BYTES, MAX_DIAGNOSTICS
from headcount.compiler.tsx.literals import BadLiteral, unescape

if TYPE_CHECKING:
    from tree_sitter import Node

    from headcount.compiler.element import Unknown

BOM = b"\xef\xbb\xbf"


class Files(Protocol):
    """The files that a definition may import; the compiler itself opens none."""

    def read(self, path: str) -> bytes:
        """The content of a file; `Unreadable` if there is none to be had."""

    def resolve(self, path: str) -> str:
        """The path with all links resolved."""

    def is_file(self, path: str) -> bool: ...

    def root_of(self, directory: str) -> str:
        """The repository or package that a directory belongs to; else the directory itself."""


class NoFiles:
    """For a definition that stands alone: it can import nothing."""

    def read(self, path: str) -> bytes:
        raise Unreadable("unreadable", f"Cannot read {path}: no such file", "Check the path.")

    def resolve(self, path: str) -> str:
        return path

    def is_file(self, path: str) -> bool:
        return False

    def root_of(self, directory: str) -> str:
        return directory


class Unreadable(Exception):
    """The file cannot be read; `code` and `hint` go into the diagnostic, `offset` is where, in bytes."""

    def __init__(self, code: str, message: str, hint: str, place: tuple[int, int] = (1, 1)) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.place = place


class SourceFile:
    """`data` without a byte order mark; offsets are in bytes, as tree-sitter counts."""

    __slots__ = ("_line_starts", "data", "is_ascii", "path")

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = _checked(data)
        self.is_ascii = self.data.isascii()
        self._line_starts: list[int] | None = None

    def text(self, node: Node) -> str:
        return self.data[node.start_byte : node.end_byte].decode()

    def name(self, node: Node) -> str:
        """The name that a node spells: `\\u0061b` is `ab`, and quotes around a key do not count."""
        text = self.text(node)
        if text[:1] in ("'", '"'):
            text = text[1:-1]
        if "\\" not in text:
            return text
        try:
            return unescape(text)
        except BadLiteral:
            return text  # `validity` reports the escape

    def span(self, node: Node) -> Span:
        """Where a node starts. Its points are not used: reading the rows of both points of some ten thousand
        nodes crashes tree-sitter 0.26."""
        return self.span_at(node.start_byte)

    def span_at(self, offset: int) -> Span:
        starts = self._line_starts
        if starts is None:
            starts = self._line_starts = _line_starts(self.data)
        line = bisect_right(starts, offset)
        start = starts[line - 1]
        before = offset - start if self.is_ascii else len(self.data[start:offset].decode())
        return Span(self.path, line, before + 1)

    def excerpt(self, node: Node) -> str:
        """The first line of a node's text, short enough for a message."""
        end = min(node.end_byte, node.start_byte + 400)
        lines = self.data[node.start_byte : end].decode("utf-8", "ignore").splitlines() or [""]
        line = lines[0].rstrip()
        cut = len(line) > 80 or len(lines) > 1
        return line[:80] + " …" if cut else line


def _checked(data: bytes) -> bytes:
    if len(data) > MAX_BYTES:
        raise too_large(len(data))
    if data.startswith(BOM):
        data = data[len(BOM) :]
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError as error:
            raise _not_utf8(data, error) from None
    return data


def too_large(size: int) -> Unreadable:
    return Unreadable(
        "too-large",
        f"The file has {size:,} bytes; a definition has at most {MAX_BYTES:,}",
        "Split it into several files and import them.",
    )


def _not_utf8(data: bytes, error: UnicodeDecodeError) -> Unreadable:
    before = data[: error.start]
    line = before.count(b"\n") + 1
    column = len(before[before.rfind(b"\n") + 1 :].decode()) + 1
    message = f"The file is not UTF-8: byte 0x{data[error.start]:02x} begins no character"
    return Unreadable("not-utf-8", message, "Save the file as UTF-8.", (line, column))


def _line_starts(data: bytes) -> list[int]:
    starts = [0]
    for line in data.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    starts.pop()
    return starts


# --- report ----------------------------------------------------------------------------------------------
#
# Collects diagnostics: each once, though a component is evaluated many times.


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
