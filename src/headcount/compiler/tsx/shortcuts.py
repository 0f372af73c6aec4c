r"""The common forms, read from their text.

Making nodes takes most of the time that reading a definition takes: tree-sitter parses `samples/27` in the
time in which Python makes and drops 400 nodes, and it has 417. So three forms that fill every definition
are taken from the text of a node that is known to be a tag or a declaration:

    <Tag a="text" b={name} c={[name, 'text']} d>      const name = factory('text', Enum.Member, [name])

Each shortcut answers with None for anything that it does not fully understand, and for anything that is
wrong; the caller then takes the long way through the nodes, which knows all forms and reports with a place.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headcount.compiler.element import Prop, Span
from headcount.compiler.tsx.calls import Call, TakeLongWay
from headcount.compiler.tsx.props import PLAIN
from headcount.compiler.tsx.scope import MISSING
from headcount.compiler.tsx.values import JsObject, Native

if TYPE_CHECKING:
    from headcount.compiler.tsx.reader import Reader
    from headcount.compiler.tsx.scope import Scope
    from headcount.compiler.tsx.values import Evaluated

_NAME = r"[A-Za-z_$][\w$]*"
_TAG = re.compile(rf"<({_NAME})", re.ASCII)
# `key` and `children` mean something else than a prop; the long way knows what.
_ATTRIBUTE = re.compile(
    rf"""\s+(?!key\b|children\b)({_NAME})"""
    rf"""(?:="([^"&\r]*)"|='([^'&\r]*)'|=\{{({_NAME})\}}|=\{{\[([^\]]*)\]\}})?(?=[\s/>])""",
    re.ASCII,
)
_ITEM = re.compile(
    rf"""\s*(?:'([^'\\\r\n]*)'|"([^"\\\r\n]*)"|({_NAME})(?:\.({_NAME}))?|\[([^\[\]]*)\])\s*(?:,|$)""",
    re.ASCII,
)
_DECLARATION = re.compile(rf"(?:const|let|var)\s+({_NAME})\s*=(?=[^=>])".encode())
_CALL = re.compile(rf"\s*({_NAME})\((.*)\)\s*;?\s*$", re.ASCII | re.DOTALL)
_LITERALS = {"true": True, "false": False, "null": None}
_new = tuple.__new__


def quick_tag(
    reader: Reader, text: str, place: tuple[str, int, int], scope: Scope
) -> tuple[str, tuple[Prop, ...]] | None:
    """The name and the props of an opening tag whose text this is and which stands at `place`."""
    tag = _TAG.match(text)
    if tag is None:
        return None
    file, row, column = place
    one_line = "\n" not in text
    end = tag.end()
    props: dict[str, Prop] = {}
    for match in _ATTRIBUTE.finditer(text, end):
        start, after = match.span()
        if start != end:
            return None
        end = after
        which = match.lastindex
        value: Evaluated
        if which == 2:
            value = match[2]
        elif which == 4:
            value = _named_value(reader, match[4], scope)
        elif which == 1:
            value = True
        else:
            value = match[3] if which == 3 else _plain_list(reader, match[5], scope)
        name = match[1]
        if value is MISSING or name in props:
            return None
        at = match.start(1)
        if one_line:
            span = _new(Span, (file, row, column + at))
        else:
            span = _new(Span, (file, row + text.count("\n", 0, at), _column(text, at, column)))
        props[name] = _new(Prop, (name, value, span))
    return (tag[1], tuple(props.values())) if text[end:].lstrip() in ("/>", ">") else None


def _named_value(reader: Reader, name: str, scope: Scope) -> Evaluated:
    value = scope.find(reader, name)
    if value is MISSING:
        return _LITERALS.get(name, MISSING)
    return value if type(value) in PLAIN else MISSING


def _column(text: str, at: int, column: int) -> int:
    line_start = text.rfind("\n", 0, at)
    return column + at if line_start < 0 else at - line_start


def _plain_list(reader: Reader, text: str, scope: Scope) -> Evaluated:
    items = quick_list(reader, text, scope)
    if items is None:
        return MISSING
    for item in items:
        if type(item) not in PLAIN:
            return MISSING
    return tuple(items)


def quick_list(reader: Reader, text: str, scope: Scope) -> list[Evaluated] | None:
    """The values of `'text', name, Enum.Member, [name]`."""
    values: list[Evaluated] = []
    end = 0
    for match in _ITEM.finditer(text):
        if match.start() != end:
            return None
        end = match.end()
        which = match.lastindex
        value: Evaluated
        if which == 3:
            value = scope.find(reader, match[3])
        elif which == 4:
            value = scope.find(reader, match[3])
            value = value.get(match[4], MISSING) if isinstance(value, JsObject) else MISSING
        elif which == 5:
            inner = quick_list(reader, match[5], scope)
            value = MISSING if inner is None else tuple(inner)
        else:
            value = match[which or 1]
        if value is MISSING:
            return None
        values.append(value)
    return values if not text[end:].strip() else None


def quick_declaration(data: bytes, start: int) -> tuple[str, int] | None:
    """The name of `const name = …` at `start`, and where its value begins."""
    match = _DECLARATION.match(data, start)
    return None if match is None else (match[1].decode(), match.end())


def quick_call(reader: Reader, text: str, scope: Scope) -> Evaluated:
    """What `factory(…)` gives, or MISSING."""
    match = _CALL.match(text)
    if match is None:
        return MISSING
    target = scope.find(reader, match[1])
    if type(target) is not Native:
        return MISSING
    arguments = quick_list(reader, match[2], scope)
    if arguments is None:
        return MISSING
    try:
        return target.call(Call(reader, scope, arguments))
    except TakeLongWay:
        return MISSING
