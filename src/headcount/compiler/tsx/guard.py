r"""Parses bytes to a tree, and ends.

While tree-sitter recovers from a syntax error it can fall into an endless loop: `<a {{b:>c:d(e f)` is one
of the inputs that do it, one damaged definition in twenty thousand is another. It holds the interpreter
meanwhile, so neither a thread nor a signal can stop it, and the binding's callback for that crashes before
Python 3.14. But its lexer asks for text; given one token at a time, it must ask again for each one that it
reads again, so the questions can be counted, and after too many the answer is that the text has ended.

Asking makes parsing five times slower. A file that is plainly in order cannot fall into the loop, and is
parsed in one piece: the patterns below accept imports, `const name = factory(…);` and an exported element
whose attributes are strings, names and lists of them, which is what most definitions are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import tree_sitter

from headcount.compiler.tsx.grammar import LANGUAGE

if TYPE_CHECKING:
    from tree_sitter import Node

_parser = tree_sitter.Parser(LANGUAGE)

# Every quantifier is possessive: the patterns never go back, so they take time in proportion to the file.
_NAME = r"[A-Za-z_$][\w$]*+"
_STRING = r"""(?:'[^'\\\r\n]*+'|"[^"\\\r\n]*+")"""
_SIMPLE = rf"(?:{_STRING}|\d++|{_NAME}(?:\.{_NAME})?+)"
_FLAT = rf"\[\s*+(?:{_SIMPLE}\s*+(?:,\s*+|(?=\])))*+\]"
_LIST = rf"\[\s*+(?:(?:{_SIMPLE}|{_FLAT})\s*+(?:,\s*+|(?=\])))*+\]"
_VALUE = rf"(?:{_SIMPLE}|{_LIST})"
_NAMES = rf"(?:{_NAME}(?:\s++as\s++{_NAME})?+\s*+(?:,\s*+|(?=\}})))++"
_IMPORT = rf"import\s*+\{{\s*+{_NAMES}\}}\s*+from\s*+{_STRING}\s*+;"
_ARGUMENTS = rf"(?:{_VALUE}\s*+(?:,\s*+|(?=\))))*+"
_DECLARATION = rf"(?:const|let|var)\s++{_NAME}\s*+=\s*+{_NAME}\(\s*+{_ARGUMENTS}\)\s*+;"
_ATTRIBUTE = rf"""\s++{_NAME}(?:=(?:"[^"&<>]*+"|'[^'&<>]*+'|\{{{_VALUE}\}}))?+"""
_TAG = rf"(?:<{_NAME}(?:{_ATTRIBUTE})*+\s*+/?>|</{_NAME}>)"
_TEXT = r"(?:[^<>{}&]++|&[A-Za-z]{1,30};)*+"
_PLAIN = re.compile(
    rf"\s*+(?:(?:{_IMPORT}|{_DECLARATION})\s*+)*+"
    rf"export\s++default\s++(?:\(\)\s*+=>\s*+)?+\(\s*+({_TAG}(?:{_TEXT}{_TAG})*+)\s*+\)\s*+;\s*+".encode()
)
_tag_edges = re.compile(rb"</|/>|<").findall
_tokens = re.compile(rb"\w+|\s+|[^\w\s]").finditer

# A file in order asks about twice a token; a broken one has been seen to ask eight times.
QUESTIONS_A_TOKEN = 20
SPARE_QUESTIONS = 2_000


def parse_tree(data: bytes) -> Node:
    """The program's node; parts after a hopeless place may be missing from it, and it has an error then."""
    return _parser.parse(data if _is_plain(data) else _Questions(data)).root_node


def _is_plain(data: bytes) -> bool:
    # A zero byte ends the text for tree-sitter.
    match = None if b"\0" in data else _PLAIN.fullmatch(data)
    return match is not None and _closes_at_its_end(match[1])


def _closes_at_its_end(element: bytes) -> bool:
    """Whether the tags open and close one element, and nothing after it."""
    depth = 0
    edges = _tag_edges(element)
    last = len(edges) - 1
    for index, edge in enumerate(edges):
        depth += 1 if edge == b"<" else -1
        if depth <= 0 and index != last:
            return False
    return depth == 0


class _Questions:
    """Answers the lexer with one token at a time, and with the end of the text after too many questions."""

    __slots__ = ("_data", "_left", "_tokens")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._tokens = {token.start(): token[0] for token in _tokens(data)}
        self._left = QUESTIONS_A_TOKEN * len(self._tokens) + SPARE_QUESTIONS

    def __call__(self, offset: int, point: object) -> bytes:
        self._left -= 1
        if self._left < 0:
            return b""
        return self._tokens.get(offset) or self._data[offset : offset + 1]
