"""One definition file in, its Markdown and its diagnostics out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from headcount.compiler.diagnostics import ERROR, Report
from headcount.compiler.dialects import TEAMMATE
from headcount.compiler.element import Diagnostic, Span
from headcount.compiler.lower import lower
from headcount.compiler.lower.document_checks import check_client_values
from headcount.compiler.markdown_writer import write_markdown

if TYPE_CHECKING:
    from headcount.compiler.dialects import Dialect
    from headcount.compiler.element import Element
    from headcount.compiler.ir import Document

SUFFIXES: Final = (".tsx", ".py")


class Source(NamedTuple):
    """What a reader made of a file. `files` are all that were read, the file itself first."""

    root: Element | None
    diagnostics: tuple[Diagnostic, ...]
    files: tuple[str, ...]
    printed: str = ""


class Compiled(NamedTuple):
    """`markdown` and `document` are None when there is an error among the diagnostics."""

    path: str
    markdown: str | None
    document: Document | None
    diagnostics: tuple[Diagnostic, ...]
    files: tuple[str, ...]
    printed: str = ""

    @property
    def failed(self) -> bool:
        return self.markdown is None


def compile_file(path: str, dialect: Dialect = TEAMMATE, source: bytes | None = None) -> Compiled:
    """Compile the definition at `path`; its bytes may be given. Never raises for what is in the file."""
    read = read_source(path, source)
    report = Report(path.endswith(".py"), read.diagnostics)
    document: Document | None = None
    markdown: str | None = None
    try:
        if read.root is not None:
            document = lower(read.root, report)
        if document is not None:
            check_client_values(document, dialect, report)
            markdown = write_markdown(document, dialect)
    except RecursionError:
        report.error("too-deep", "The definition nests too deeply", Span(path, 1, 1), "Flatten it.")
        document = None
    return Compiled(path, markdown, document, in_order(report.items), read.files, read.printed)


def read_source(path: str, source: bytes | None = None) -> Source:
    """The element tree of a file, by the reader for its suffix."""
    if source is None:
        try:
            source = _read(path)
        except OSError as error:
            reason = error.strerror or str(error)
            unreadable = Diagnostic("unreadable", f"Cannot read the definition: {reason}", Span(path, 1, 1))
            return Source(None, (unreadable,), (os.path.realpath(path),))
    if path.endswith(".py"):
        from headcount.compiler.python_reader import read_python

        return Source(*read_python(path, source))
    from headcount.compiler.tsx import read_tsx

    found = read_tsx(path, source)
    return Source(found.root, tuple(found.diagnostics), tuple(found.files))


def _read(path: str) -> bytes:
    """The whole file with half the system calls of `open`, which show over a thousand small files."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        chunks: list[bytes] = []
        while chunk := os.read(descriptor, 1 << 16):
            chunks.append(chunk)
        return b"".join(chunks)
    finally:
        os.close(descriptor)


def in_order(found: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    """By place, errors and warnings together; the same thing said twice is said once."""
    if not found:
        return ()
    return tuple(sorted(dict.fromkeys(found), key=lambda item: (item.span, item.severity != ERROR)))
