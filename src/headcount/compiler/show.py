"""A diagnostic as a person reads it: the line that editors parse, the source line, and how to mend it."""

from __future__ import annotations

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
        with open(found.span.file, "rb") as file:
            for number, line in enumerate(file, 1):
                if number == found.span.line:
                    text = line.decode("utf-8", "replace").rstrip("\r\n")
                    return text if len(text) <= 200 else ""
    except OSError:
        pass
    return ""


def printable(text: str) -> str:
    """Without control characters: a definition is somebody else's text, and this goes to a terminal."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter in "\t\u00a0" else "\ufffd" for letter in text)
