"""Source text among children: what is layout, and what the author wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.element import Text
from headcount.compiler.tsx.entities import split_entities

if TYPE_CHECKING:
    from headcount.compiler.element import Span

# The white space that source text is laid out with; a no-break space is none of it.
BLANKS = " \t\n\r\v\f"


def is_layout(raw: str) -> bool:
    """White space with a line break in it, which JSX drops between children."""
    return "\n" in raw and not raw.strip(BLANKS)


def text_children(raw: str, span: Span) -> list[Text]:
    """Source text as children: entities decoded, and the white space that they spell as verbatim text."""
    if "\r" in raw:
        raw = raw.replace("\r\n", "\n")
    if "&" not in raw:
        return [Text(raw, span)]
    return [Text(piece, span, spelled) for piece, spelled in split_entities(raw)]


def fold_layout(text: str) -> str:
    """JSX's rule: lines are trimmed where they meet a line break, empty ones go, a space joins the rest."""
    lines = text.split("\n")
    last = len(lines) - 1
    kept: list[str] = []
    for index, line in enumerate(lines):
        if index > 0:
            line = line.lstrip(" \t\r")
        if index < last:
            line = line.rstrip(" \t\r")
        if line:
            kept.append(line)
    return " ".join(kept)
