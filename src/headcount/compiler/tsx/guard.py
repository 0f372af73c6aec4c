r"""Parses bytes to a tree, and ends.

While tree-sitter recovers from a syntax error it can fall into an endless loop: `<a {{b:>c:d(e f)` is one
of the inputs that do it, one damaged definition in twenty thousand is another. It holds the interpreter
meanwhile, so neither a thread nor a signal can stop it, and the binding's callback for that crashes before
Python 3.14. But its lexer asks for text; given one token at a time, it must ask again for each one that it
reads again, so the questions can be counted, and after too many the answer is that the text has ended.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import tree_sitter

from headcount.compiler.tsx.grammar import LANGUAGE

if TYPE_CHECKING:
    from tree_sitter import Node

_parser = tree_sitter.Parser(LANGUAGE)

_tokens = re.compile(rb"\w+|\s+|[^\w\s]").finditer

# A file in order asks about twice a token; a broken one has been seen to ask eight times.
QUESTIONS_A_TOKEN = 20
SPARE_QUESTIONS = 2_000


def parse_tree(data: bytes) -> Node:
    """The program's node; parts after a hopeless place may be missing from it, and it has an error then."""
    return _parser.parse(_Questions(data)).root_node


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
