"""Compile the element tree of one definition to Markdown and diagnostics."""

from __future__ import annotations

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


def compile_source(path: str, source: Source, dialect: Dialect = TEAMMATE) -> Compiled:
    """Compile what a reader made of the definition at `path`. Never raises for what is in the file."""
    report = Report(path.endswith(".py"), source.diagnostics)
    document: Document | None = None
    markdown: str | None = None
    try:
        if source.root is not None:
            document = lower(source.root, report)
        if document is not None:
            check_client_values(document, dialect, report)
            markdown = write_markdown(document, dialect)
    except RecursionError:
        report.error("too-deep", "The definition nests too deeply", Span(path, 1, 1), "Flatten it.")
        document = None
    # By place, errors and warnings together; a repeated message is printed once.
    found = sorted(dict.fromkeys(report.items), key=lambda item: (item.span, item.severity != ERROR))
    return Compiled(path, markdown, document, tuple(found), source.files, source.printed)
