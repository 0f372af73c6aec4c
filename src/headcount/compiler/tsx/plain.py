r"""Definitions that are plain text: the fast way.

Most definitions are imports of built-ins, `const name = factory(…);` and one exported element whose
attributes are strings, names, members and lists of them. Such a file is read here from its text alone, in
less time than a syntax tree of it takes to make.

This way never reports anything. Where a file has any other form, or anything in it is wrong, it answers
None, and the file is read the long way, through its syntax tree, which knows all forms and has a place for
every mistake. Both give the same element for a file that this one accepts; a test compares them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headcount.compiler.element import Element, Prop, Span
from headcount.compiler.tsx.built_ins import PACKAGES, built_in
from headcount.compiler.tsx.calls import Call, TakeLongWay, Uids
from headcount.compiler.tsx.layout import BLANKS, is_layout, text_children
from headcount.compiler.tsx.limits import MAX_DEPTH
from headcount.compiler.tsx.literals import BadLiteral, unescape
from headcount.compiler.tsx.scope import MISSING
from headcount.compiler.tsx.values import PLAIN, BuiltIn, JsObject, Native

if TYPE_CHECKING:
    from headcount.compiler.element import Text
    from headcount.compiler.tsx.values import Evaluated

# Every quantifier is possessive: the patterns never go back, so they take time in proportion to the file.
_NAME = r"[A-Za-z_$][\w$]*+"
_STRING = r"""(?:'(?:[^'\\\n]++|\\[^\n])*+'|"(?:[^"\\\n]++|\\[^\n])*+")"""
_INTEGER = r"(?:0|[1-9]\d{0,14}+)(?![\w.])"
_SIMPLE = rf"(?:{_STRING}|{_INTEGER}|{_NAME}(?:\.{_NAME})?+)"
_FLAT = rf"\[\s*+(?:{_SIMPLE}\s*+(?:,\s*+|(?=\])))*+\]"
_LIST = rf"\[\s*+(?:(?:{_SIMPLE}|{_FLAT})\s*+(?:,\s*+|(?=\])))*+\]"
_VALUE = rf"(?:{_SIMPLE}|{_LIST})"
_ARGUMENTS = rf"(?:{_VALUE}\s*+(?:,\s*+|(?=\))))*+"
# `key` and `children` mean something else than a prop.
_PROP = rf"""\s++(?!(?:key|children)\b){_NAME}(?:=(?:"[^"&\r]*+"|'[^'&\r]*+'|\{{{_VALUE}\}}))?+"""

_import = re.compile(rf"\s*+import\s*+\{{([^{{}}]*+)\}}\s*+from\s*+({_STRING})\s*+;", re.ASCII).match
_declaration = re.compile(
    rf"\s*+const\s++({_NAME})\s*+=\s*+({_NAME})\(\s*+({_ARGUMENTS})\)\s*+;", re.ASCII
).match
_export = re.compile(r"\s*+export\s++default\s++(?:\(\)\s*+=>\s*+)?+\(\s*+(?=<)", re.ASCII).match
_end = re.compile(r"\s*+\)\s*+;?+\s*+", re.ASCII).fullmatch
_tag = re.compile(rf"<(/?+)({_NAME})((?:{_PROP})*+)\s*+(/?+)>", re.ASCII).match
_props = re.compile(
    rf"""\s++({_NAME})(?:="([^"]*+)"|='([^']*+)'|=\{{({_NAME})\}}|=\{{({_VALUE})\}})?+""", re.ASCII
).finditer
_items = re.compile(
    rf"""(?:({_STRING})|(\d++)|({_NAME})(?:\.({_NAME}))?+|\[\s*+((?:{_SIMPLE}|{_FLAT}|[\s,]++)*+)\])[\s,]*+""",
    re.ASCII,
).finditer
# Words that cannot be bound; a file that tries is wrong, and the long way says where.
_RESERVED = frozenset(
    {"await", "break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete", "do",
     "else", "enum", "export", "extends", "false", "finally", "for", "function", "if", "import", "in",
     "instanceof", "let", "new", "null", "return", "static", "super", "switch", "this", "throw", "true",
     "try", "typeof", "undefined", "var", "void", "while", "with", "yield"}
)  # fmt: skip
_LITERALS = {"true": True, "false": False, "null": None}
_new = tuple.__new__


def read_plain(path: str, data: bytes) -> Element | None:
    """The root of a plain definition, or None: then read it the long way."""
    if b"\0" in data or b"\r" in data:
        return None
    try:
        text = data.decode()
        return _Plain(path, text).read()
    except (UnicodeDecodeError, TakeLongWay):
        return None


def _string(literal: str) -> str:
    text = literal[1:-1]
    if "\\" not in text:
        return text
    try:
        return unescape(text)
    except BadLiteral:
        raise TakeLongWay from None


class _Declared:
    """`const name = factory(arguments);`, evaluated when the name is used."""

    __slots__ = ("arguments", "factory")

    def __init__(self, factory: str, arguments: str) -> None:
        self.factory = factory
        self.arguments = arguments


class _Plain:
    """One reading: the names that are bound so far, and the line that was reached."""

    __slots__ = ("_line", "_line_start", "_names", "_path", "_seen", "_text", "_uids")

    def __init__(self, path: str, text: str) -> None:
        self._uids = Uids()
        self._path = path
        self._text = text
        self._names: dict[str, Evaluated] = {}
        self._line = 1
        self._line_start = 0
        self._seen = 0

    def read(self) -> Element:
        text = self._text
        at = self._bind(text)
        start = _export(text, at)
        if start is None:
            raise TakeLongWay
        element, at = self._element(text, start.end())
        if _end(text, at) is None:
            raise TakeLongWay
        return element

    def _bind(self, text: str) -> int:
        """Binds what is imported and declared; answers where the rest begins."""
        names = self._names
        at = 0
        while True:
            match = _import(text, at)
            if match is not None:
                self._bind_import(match[1], match[2])
            else:
                match = _declaration(text, at)
                if match is None:
                    return at
                if match[1] in names or match[1] in _RESERVED:
                    raise TakeLongWay
                names[match[1]] = _Declared(match[2], match[3])
            at = match.end()

    def _bind_import(self, clause: str, package: str) -> None:
        if package[1:-1] not in PACKAGES:
            raise TakeLongWay
        names = self._names
        for item in clause.rstrip().removesuffix(",").split(","):
            name = local = item.strip()
            if not name.isidentifier():
                name, _, local = name.partition(" as ")
            if not (name.isidentifier() and local.isidentifier() and name.isascii() and local.isascii()):
                raise TakeLongWay
            if local in names or local in _RESERVED or name == "default":
                raise TakeLongWay
            names[local] = built_in(name)

    def _element(self, text: str, at: int) -> tuple[Element, int]:
        """The element whose tag begins at `at`, and where the text goes on."""
        open_tags: list[tuple[str, str, tuple[Prop, ...], list[Element | Text], Span]] = []
        while True:
            tag = _tag(text, at)
            if tag is None or len(open_tags) > MAX_DEPTH:
                raise TakeLongWay
            slash, name, given, closed = tag.groups()
            after = tag.end()
            if slash:
                if given or closed or not open_tags or open_tags[-1][0] != name:
                    raise TakeLongWay
                _, target, props, inside, span = open_tags.pop()
                made = _new(Element, (target, props, tuple(inside), span))
            else:
                span = self._span(at)
                props = self._props(text, tag.start(3), tag.end(3)) if given else ()
                if not closed:
                    open_tags.append((name, self._target(name), props, [], span))
                    at = self._add_text(text, after, open_tags[-1][3])
                    continue
                made = _new(Element, (self._target(name), props, (), span))
            if not open_tags:
                return made, after
            children = open_tags[-1][3]
            children.append(made)
            at = self._add_text(text, after, children)

    def _target(self, tag: str) -> str:
        """The built-in's name, which an alias may hide; HTML elements and unknown names are their own."""
        if tag[0].islower():
            return tag
        value = self._names.get(tag)
        if value is None:
            return tag
        if type(value) is BuiltIn and value.name:
            return value.name
        raise TakeLongWay

    def _props(self, text: str, start: int, end: int) -> tuple[Prop, ...]:
        props: dict[str, Prop] = {}
        for match in _props(text, start, end):
            which = match.lastindex
            value: Evaluated
            if which == 2:
                value = match[2]
            elif which == 4:
                value = self._named(match[4])
            elif which == 1:
                value = True
            else:
                value = match[3] if which == 3 else self._value(match[5])
            name = match[1]
            if name in props:
                raise TakeLongWay
            props[name] = _new(Prop, (name, value, self._span(match.start(1))))
        return tuple(props.values())

    def _named(self, name: str) -> Evaluated:
        value = self._find(name) if name in self._names else _LITERALS.get(name, MISSING)
        if type(value) not in PLAIN:
            raise TakeLongWay
        return value

    def _value(self, text: str) -> Evaluated:
        (value,) = self._list(text)
        if type(value) is tuple:
            return value
        if type(value) not in PLAIN:
            raise TakeLongWay
        return value

    def _list(self, text: str) -> list[Evaluated]:
        """The values of `'text', name, Enum.Member, [name]`."""
        values: list[Evaluated] = []
        for match in _items(text):
            which = match.lastindex
            if which == 1:
                values.append(_string(match[1]))
            elif which == 2:
                values.append(int(match[2]))
            elif which == 3:
                values.append(self._named(match[3]))
            elif which == 4:
                values.append(self._member(match[3], match[4]))
            else:
                values.append(tuple(self._list(match[5])))
        return values

    def _member(self, name: str, member: str) -> Evaluated:
        value = self._names.get(name)
        if type(value) is _Declared or not isinstance(value, JsObject) or member not in value:
            raise TakeLongWay
        return value[member]

    def _find(self, name: str) -> Evaluated:
        value = self._names[name]
        if type(value) is _Declared:
            self._names[name] = MISSING  # a name that is defined by itself is not plain
            value = self._names[name] = self._call(value)
        return value

    def _call(self, declared: _Declared) -> Evaluated:
        factory = self._names.get(declared.factory)
        if type(factory) is not Native:
            raise TakeLongWay
        return factory.call(Call(self._uids, self._list(declared.arguments)))

    def _span(self, at: int) -> Span:
        """Places are asked for from the start of the file to its end."""
        text = self._text
        lines = text.count("\n", self._seen, at)
        if lines:
            self._line += lines
            self._line_start = text.rfind("\n", 0, at) + 1
        self._seen = at
        return _new(Span, (self._path, self._line, at - self._line_start + 1))

    def _add_text(self, text: str, at: int, children: list[Element | Text]) -> int:
        """Adds the text up to the next tag, and answers where that begins."""
        end = text.find("<", at)
        if end > at:
            raw = text[at:end]
            if not is_layout(raw):
                if "{" in raw or "}" in raw or ">" in raw:
                    raise TakeLongWay
                span = self._span(end - len(raw.lstrip(BLANKS)))
                children.extend(text_children(raw, span))
        elif end < 0:
            raise TakeLongWay
        return end
