"""Quote text for Markdown, JavaScript, YAML and Mermaid, so that any text keeps its exact value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Final

from headcount.compiler.whitespace import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headcount.compiler.element import Value
    from headcount.compiler.ir import Task

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


# --- javascript ------------------------------------------------------------------------------------------
#
# Strings as JavaScript source that evaluates to exactly them, inside a fence of a UTF-8 file.
#
# Markdown normalises carriage returns and NUL, JavaScript normalises carriage returns in a template and
# ends a comment at U+2028, and UTF-8 cannot hold a lone surrogate: all of these are written as escapes.


_OUTSIDE_ASCII: Final = {0x2028: "\\u2028", 0x2029: "\\u2029", 0xFEFF: "\\ufeff"}
# In a template a line break and a tab stand as they are.
_CONTROLS: Final = {code: f"\\x{code:02x}" for code in range(0x20) if code not in (0x09, 0x0A)}
_IN_TEMPLATE: Final = {**_CONTROLS, 0x0D: "\\r", **_OUTSIDE_ASCII}


def string(text: str) -> str:
    """A double-quoted string literal."""
    literal = encode_basestring(text)
    return literal if literal.isascii() else _encodable(literal.translate(_OUTSIDE_ASCII))


def template(text: str) -> str:
    """A template literal. Every `$` is escaped, so that no reader has to look for the brace."""
    text = text.replace("\\", "\\\\").replace("`", "\\`").replace("$", "\\$")
    if not text.isprintable():
        text = _encodable(text.translate(_IN_TEMPLATE))
    return f"`{text}`"


def _encodable(text: str) -> str:
    """Python writes the escape of a lone surrogate, `\\ud800`, as JavaScript does."""
    return text.encode(errors="backslashreplace").decode()


# --- yaml ------------------------------------------------------------------------------------------------
#
# Frontmatter: the few shapes of YAML that it needs, plain where YAML allows it and quoted where not.


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


# --- mermaid ---------------------------------------------------------------------------------------------
#
# Mermaid labels that hold whatever a task is called.


# Shapes, strings, entities, markdown labels and HTML begin with these.
_SPECIAL: Final = frozenset("[](){}<>|\"'#;&`\\/@%")
_ENTITIES: Final = {ord(letter): f"#{ord(letter)};" for letter in '"#<>&`\\'}


def label(text: str) -> str:
    """The text of a node, quoted when it has anything that Mermaid would read."""
    plain = one_line(text)
    if plain and _SPECIAL.isdisjoint(plain) and "end" not in plain.lower():
        return plain
    return quoted(text)


def quoted(text: str) -> str:
    return f'"{one_line(text).translate(_ENTITIES)}"'


def task_flow(tasks: Sequence[Task], numbers: Mapping[int, int]) -> str:
    lines = ["flowchart LR"]
    lines += [f"  T{task.number}[{label(task.task.name)}]" for task in tasks]
    lines += [
        f"  T{numbers[blocker.uid]} --> T{task.number}" for task in tasks for blocker in task.blocked_by
    ]
    return "\n".join(lines)
