"""A diagnostic as a person reads it: the line that editors parse, the source line, and how to mend it."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING

from headcount.compiler.report import WARNING

if TYPE_CHECKING:
    from headcount.compiler.element import Diagnostic


def render(found: Diagnostic) -> str:
    """`file:line:column: message [code]`, then the source line with the place marked, then the hint."""
    where = f"{found.span.file}:{found.span.line}:{found.span.column}"
    said = "warning: " if found.severity == WARNING else ""
    lines = [printable(f"{where}: {said}{found.message} [{found.code}]")]
    source = source_line(found)
    if source:
        margin = source[: found.span.column - 1]
        lines.append(f"    {printable(source)}")
        lines.append("    " + "".join("\t" if letter == "\t" else " " for letter in margin) + "^")
    if found.hint:
        lines.append(printable(f"  hint: {found.hint}"))
    return "\n".join(lines)


def as_data(found: Diagnostic) -> dict[str, object]:
    return {
        "file": found.span.file,
        "line": found.span.line,
        "column": found.span.column,
        "severity": found.severity,
        "code": found.code,
        "message": found.message,
        "hint": found.hint,
        "text": found.text or source_line(found).strip(),
    }


def source_line(found: Diagnostic) -> str:
    """The line that the diagnostic points to; nothing when it cannot be read, or is too long to help."""
    try:
        lines = _lines(found.span.file, os.stat(found.span.file).st_mtime_ns)
    except OSError:
        return ""
    text = lines[found.span.line - 1] if found.span.line <= len(lines) else ""
    return text if len(text) <= 200 else ""


@lru_cache(maxsize=2)
def _lines(path: str, changed: int) -> list[str]:
    """A file's lines, kept for the next diagnostic of the same file as long as it is the same."""
    with open(path, "rb") as file:
        return file.read().decode("utf-8", "replace").replace("\r\n", "\n").split("\n")


def printable(text: str) -> str:
    """Without control characters: a definition is somebody else's text, and this goes to a terminal."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter in "\t\u00a0" else "\ufffd" for letter in text)
