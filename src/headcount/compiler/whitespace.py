"""White space. Source text was laid out for the file it stands in; a string was written by its author.

    where                      source text                         a string (`{"x"}`, a Python string)
    in p, li, h1, b, …         runs of white space → one space     as it is (one line in a heading)
    loose among blocks         one line: trimmed · several:        as it is; when it starts with a line
                               dedented, line breaks kept          break, dedented like source text

A no-break space is content, never layout: only blank, tab and line breaks are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

SPACES: Final = " \t\r\n\f"
_LINE_ENDS: Final = dict.fromkeys([*range(0x20), 0x7F, 0x85, 0x2028, 0x2029], " ")
_run_of_spaces: Final = re.compile(r"[ \t\r\n\f]+").sub


def squeeze(text: str) -> str:
    """Runs of white space become one space, at the ends too."""
    if text.isprintable() and "  " not in text:
        return text
    return _run_of_spaces(" ", text)


def one_line(text: str) -> str:
    """Text for a place that ends with its line: a heading, a table cell, a comment."""
    return text.strip(" ") if text.isprintable() else squeeze(text.translate(_LINE_ENDS)).strip(" ")


def dedent(pieces: Sequence[tuple[str, bool]]) -> str:
    """Join pieces of text, removing the indentation that all lines of the layout share.

    A piece is (text, is it source text); only line starts within source text are layout. The first line
    stands after a tag, so its own indentation says nothing.
    """
    return trim_lines("".join(cut_layout(pieces)))


def cut_layout(pieces: Sequence[tuple[str, bool]]) -> list[str]:
    """The pieces without the indentation that their source text shares."""
    margin = _margin(pieces)
    return [_cut(text, margin) if source else text for text, source in pieces]


def is_laid_out(text: str) -> bool:
    """A string that starts with a line break was laid out like source text; any other is its author's."""
    head, newline, _ = text.partition("\n")
    return bool(newline) and not head.strip(SPACES)


def dedent_string(text: str) -> str:
    if not is_laid_out(text):
        return trim_lines(text)
    return dedent([(text.replace("\r\n", "\n"), True)])


def trim_lines(text: str) -> str:
    """Without blank lines at the ends, and without white space at the very end."""
    text = text.rstrip(SPACES)
    blank = len(text) - len(text.lstrip(SPACES))
    return text[text.rfind("\n", 0, blank) + 1 :]


def _margin(pieces: Sequence[tuple[str, bool]]) -> str:
    """The longest white space that every layout line with something on it starts with."""
    starts: list[str] = []
    last = len(pieces) - 1
    for index, (text, source) in enumerate(pieces):
        if not source or "\n" not in text:
            continue
        lines = text.split("\n")[1:]
        for number, line in enumerate(lines):
            body = line.lstrip(" \t")
            # A line that is blank here goes on in the next piece, if there is one.
            if body or (number == len(lines) - 1 and index != last):
                starts.append(line[: len(line) - len(body)])
    if not starts:
        return ""
    low, high = min(starts), max(starts)
    size = next((i for i, letter in enumerate(low) if high[i : i + 1] != letter), len(low))
    return low[:size]


def _cut(text: str, margin: str) -> str:
    if "\n" not in text:
        return text
    head, *lines = text.split("\n")
    cut = [line.removeprefix(margin) if line.strip(" \t\r") else "" for line in lines[:-1]]
    cut.append(lines[-1].removeprefix(margin))
    return "\n".join([head, *cut])
