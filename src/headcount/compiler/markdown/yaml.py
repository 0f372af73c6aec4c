"""Frontmatter: the few shapes of YAML that it needs, plain where YAML allows it and quoted where not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from headcount.compiler.markdown.javascript import string

if TYPE_CHECKING:
    from headcount.compiler.element import Value

# Characters that mean something at the start of a plain scalar, or may.
_INDICATORS: Final = frozenset("-?:,[]{}#&*!|>'\"%@`=~")
# What YAML 1.1 and 1.2 read as something else than a string.
_WORDS: Final = frozenset(["null", "true", "false", "yes", "no", "on", "off", "y", "n", "~", "<<"])
_NUMBER_LETTERS: Final = frozenset("0123456789+-._:,eExXoObBabcdefABCDEFinfNaTtZz ")
# JSON leaves these as they are, YAML does not allow them, or takes them for a line break.
_ESCAPED: Final = {code: f"\\x{code:02x}" for code in range(0x7F, 0xA0)} | {
    0xFFFE: "\\ufffe",
    0xFFFF: "\\uffff",
}


def scalar(text: str) -> str:
    return text if is_plain(text) else string(text).translate(_ESCAPED)


def is_plain(text: str) -> bool:
    """Whether YAML reads the bare text back as this very string. Unsure counts as no."""
    if not text or not text.isprintable() or text[0] in _INDICATORS or text[0] == " " or text[-1] in " :":
        return False
    if ": " in text or " #" in text or text.lower() in _WORDS:
        return False
    return not ((text[0].isdigit() or text[0] in "+.") and _NUMBER_LETTERS.issuperset(text))


def mapping(entries: Mapping[str, Value] | dict[str, Value], indent: str = "") -> list[str]:
    lines: list[str] = []
    for key, value in entries.items():
        lines += _entry(f"{indent}{scalar(key)}:", value, indent)
    return lines


def _entry(head: str, value: Value, indent: str) -> list[str]:
    if isinstance(value, Mapping) and value:
        return [head, *mapping(value, indent + "  ")]
    if type(value) is tuple and value:
        return [head, *(line for item in value for line in _item(item, indent + "  "))]
    return [f"{head} {_flow(value)}"]


def _item(value: Value, indent: str) -> list[str]:
    """One `- ` item; what is nested lines up behind the dash."""
    if isinstance(value, Mapping) and value:
        lines = mapping(value, indent + "  ")
    elif type(value) is tuple and value:
        lines = [line for item in value for line in _item(item, indent + "  ")]
    else:
        return [f"{indent}- {_flow(value)}"]
    return [f"{indent}- {lines[0].lstrip(' ')}", *lines[1:]]


def _flow(value: Value) -> str:
    if isinstance(value, str):
        return scalar(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, int | float):
        return str(value)
    return "{}" if isinstance(value, Mapping) else "[]"
