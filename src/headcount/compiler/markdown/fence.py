"""Pieces of Markdown that must hold whatever text is put into them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from headcount.compiler.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

# What would start a heading, a fence or a rule, or make a heading of the line before.
_BLOCK_STARTS: Final = ("#", "```", "~~~", "---", "===", "***", "___", ">")


def fence(info: str, content: str) -> str:
    """A fenced block, longer than any run of backticks inside it."""
    ticks = _ticks(content, 3)
    return f"{ticks}{info}\n{content}\n{ticks}"


def inline_code(content: str) -> str:
    if "`" not in content:
        return f"`{content}`"
    ticks = _ticks(content, 2)
    return f"{ticks} {content} {ticks}"


def _ticks(content: str, at_least: int) -> str:
    """Backticks, more than stand in a row anywhere in the content."""
    shortest = "`" * at_least
    if shortest not in content:
        return shortest
    return "`" * (max(map(len, re.findall("`+", content))) + 1)


def quote(markdown: str) -> str:
    """A block quote; a blank line is `>`."""
    return "\n".join(f"> {line}" if line else ">" for line in markdown.split("\n"))


def quote_text(text: str) -> str:
    """A block quote of plain text: nothing in it becomes a heading or a fence."""
    if text.isprintable() and text[:1].isalnum():
        return f"> {text}"
    return quote("\n".join(map(_plain_line, text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))))


def _plain_line(line: str) -> str:
    body = line.strip()
    if body.startswith(_BLOCK_STARTS) or (body and not body.strip("-=")):
        return "\\" + body
    return body


def table_cell(text: str) -> str:
    return text.replace("|", "\\|")


def table_row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def xml_block(name: str, inner: str, attributes: Mapping[str, str] | None = None) -> str:
    given = "".join(f' {key}="{_attribute(value)}"' for key, value in (attributes or {}).items())
    return f"<{name}{given}>\n{inner}\n</{name}>" if inner else f"<{name}{given}>\n</{name}>"


def _attribute(value: str) -> str:
    return one_line(value).replace("&", "&amp;").replace('"', "&quot;")
