"""Reject numbers, strings, escapes and regular expressions that TypeScript rejects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headcount.compiler.tsx.grammar import JSX_ATTRIBUTE
from headcount.compiler.tsx.source import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from headcount.compiler.tsx.source import SourceFile

_decimal = re.compile(
    r"(?:(?:0|[1-9](?:_?\d)*)(?:\.(?:\d(?:_?\d)*)?)?|\.\d(?:_?\d)*)(?:[eE][+-]?\d(?:_?\d)*)?"
)
_other_number = re.compile(
    r"(?:0[xX][\da-fA-F](?:_?[\da-fA-F])*|0[oO][0-7](?:_?[0-7])*|0[bB][01](?:_?[01])*|0|[1-9](?:_?\d)*)n?"
)
_escape = re.compile(
    r"\\(?:x[\da-fA-F]{2}|u[\da-fA-F]{4}|u\{0*(?:10|[\da-fA-F])?[\da-fA-F]{1,4}\}|0(?!\d)|[^xu0-9]|\r\n)",
    re.DOTALL,
)
_broken_line = re.compile(r"(?<!\\)(?:\\\\)*[\r\n]")
_regex_flags = re.compile(r"(?!.*(.).*\1)(?!.*u.*v|.*v.*u)[dgimsuvy]*")
# A part of a regular expression: an escape, a set, the start of a group, a quantifier, or a character.
_regex_part = re.compile(
    r"\\(?:[1-9]\d*|k<\w+>|[pP]\{[^}]*\}|u\{[\da-fA-F]+\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[A-Za-z]|0\d*|.)"
    r"|\[(?:\\.|[^\]\\])*\]|\((?:\?(?:[:=!]|<[=!]|<[A-Za-z_$][\w$]*>|[ims]*(?:-[ims]+)?:))?"
    r"|[*+?]\??|\{\d+(?:,\d*)?\}\??|.",
    re.DOTALL,
)
_octal = re.compile(r"\\(?:[1-9]|0\d)")
# With the flag u, no other letters may follow a backslash.
_unicode_escape = re.compile(r"\\(?:[dDwWsSbBfnrtv]|[^\w\s]|[1-9]\d*|[kpPuxc].+)")


def _number(source: SourceFile, node: Node) -> Iterator[Problem]:
    """A number ends where a name could not go on: `12.5as 0` is neither."""
    text = source.text(node)
    following = source.data[node.end_byte : node.end_byte + 1]
    if following and (following.isalnum() or following in b"_$\\" or following >= b"\x80"):
        yield Problem(node, f"A name directly follows the number {text}", "Put a blank between them.")
    elif not _decimal.fullmatch(text) and not _other_number.fullmatch(text):
        hint = "Write a decimal number without leading zeros, or 0o… for an octal one."
        yield Problem(node, f"{text} is not a number in a module", hint)


def _string(source: SourceFile, node: Node) -> Iterator[Problem]:
    """A string ends on its line, unless it is an attribute's or the line break is escaped."""
    if b"\n" not in source.data[node.start_byte : node.end_byte]:
        return
    parent = node.parent
    if (parent is None or parent.kind_id != JSX_ATTRIBUTE) and _broken_line.search(
        source.text(node).replace("\r\n", "\n")
    ):
        yield Problem(
            node, "This string does not end on its line", "Close it, or write `…` for several lines."
        )


def _escape_sequence(source: SourceFile, node: Node) -> Iterator[Problem]:
    text = source.text(node)
    following = source.data[node.end_byte : node.end_byte + 1]
    if _escape.fullmatch(text) and not (text == "\\0" and following.isdigit()):
        return
    parent = node.parent
    tagged = parent is not None and parent.parent is not None and parent.parent.type == "call_expression"
    if not (tagged and parent is not None and parent.type == "template_string"):
        yield Problem(
            node, f"`{text}` is not a valid escape", "Write the character itself, or \\xNN or \\u{N}."
        )


def _regex(source: SourceFile, node: Node) -> Iterator[Problem]:
    flags = node.child_by_field_name("flags")
    if flags is not None and not _regex_flags.fullmatch(source.text(flags)):
        yield Problem(
            flags,
            f"`{source.text(flags)}` are not flags of a regular expression",
            "Use each of dgimsuvy once.",
        )
    pattern = node.child_by_field_name("pattern")
    if pattern is not None:
        wrong = _wrong_in_regex(source.text(pattern), "" if flags is None else source.text(flags))
        if wrong:
            yield Problem(pattern, f"{wrong} in this regular expression", "Write a \\ before it, or mend it.")


def _wrong_in_regex(pattern: str, flags: str) -> str:
    """What TypeScript rejects in a regular expression, or nothing. Sets of the flag v are not looked into."""
    if pattern.startswith("*"):
        return "A comment is not closed"
    if "v" in flags:
        return ""
    depth, repeatable = 0, False
    for part in _regex_part.findall(pattern):
        if part[0] in "*+?" or (part[0] == "{" and len(part) > 1):
            if not repeatable:
                return f"`{part}` has nothing to repeat"
            repeatable = False
            continue
        if part == "[" or (part[0] == "[" and _octal.search(part)):
            return f"`{part}` is not a set of characters"
        escapes = _regex_part.findall(part[1:-1]) if part[0] == "[" else (part,)
        if not all(_may_escape(each, flags) for each in escapes if each[0] == "\\"):
            return f"`{part}` has an escape that is none"
        if "u" in flags and part in "]{}":
            return f"`{part}` is not expected"
        depth += (part[0] == "(") - (part == ")")
        repeatable = part[0] not in "(|^$" and part not in ("\\b", "\\B")
        if depth < 0:
            break
    return "The parentheses do not match" if depth else ""


def _may_escape(part: str, flags: str) -> bool:
    if part.startswith("\\0"):
        return part == "\\0"
    return "u" not in flags or _unicode_escape.fullmatch(part) is not None


LITERALS = {
    "number": _number,
    "string": _string,
    "escape_sequence": _escape_sequence,
    "regex": _regex,
}
