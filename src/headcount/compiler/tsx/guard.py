r"""Parse bytes to a tree within a bounded time.

While tree-sitter recovers from a syntax error it can fall into an endless loop: `<a {{b:>c:d(e f)` is one
of the inputs that cause it. It holds the interpreter lock, so neither a thread nor a signal can stop it, and
the binding's own callback for this crashes before Python 3.14. But its lexer requests text: given one token
at a time, it must request each token again that it reads again. The guard counts these requests and the
processor time, and ends the text after too much of either. The caller learns of the cut, since the tree of
the first half of a file can look complete.
"""

from __future__ import annotations

import re
from time import thread_time
from typing import TYPE_CHECKING, NamedTuple

import tree_sitter

from headcount.compiler.tsx.grammar import LANGUAGE

if TYPE_CHECKING:
    from tree_sitter import Node

_parser = tree_sitter.Parser(LANGUAGE)

# A chunk never ends within a character: bytes from 0x80 on belong to words.
_tokens = re.compile(rb"[\w\x80-\xff]+|\s+|[^\w\s]").finditer
_brackets = re.compile(rb"[()\[\]{}]").findall

# A valid file requests each token about twice; a broken one has been seen to request it eight times.
REQUESTS_A_TOKEN = 20
SPARE_REQUESTS = 2_000
# 500 kB of valid text take 0.2 s; recovery from errors takes time in the square of their number.
MAX_SECONDS = 1.0
# Reading the clock takes as long as a thousand requests.
REQUESTS_A_CLOCK = 8192
# tree-sitter recurses for each level and overflows the C stack at about 90,000 levels.
MAX_NESTING = 10_000


# The binding (tree-sitter 0.26) never releases what a request returns: 7.6 kB for each file of 1.5 kB. Files
# of one project share their words, so each word is one object, and a build of 10,000 files stays flat.
_words: dict[bytes, bytes] = {}
_kept = _words.setdefault


class Parsed(NamedTuple):
    """The program's node; `cut` when parsing ended before the end of the text."""

    root: Node
    cut: bool


def parse_tree(data: bytes) -> Parsed:
    """Parse the text, or its first levels where it nests too deeply for tree-sitter."""
    requests = _Requests(data)
    too_deep = len(data) > MAX_NESTING and _nesting(data) > MAX_NESTING
    root = _parser.parse(_Requests(data[:MAX_NESTING]) if too_deep else requests).root_node
    return Parsed(root, requests.cut or too_deep)


def _nesting(data: bytes) -> int:
    """Return the largest surplus of opening brackets over closing ones at any point of the text."""
    depth = deepest = 0
    for bracket in _brackets(data):
        if bracket in b"([{":
            depth += 1
            deepest = max(deepest, depth)
        elif depth:
            depth -= 1
    return deepest


class _Requests:
    """Answer the lexer with one token at a time, and with the end of the text after too many requests."""

    __slots__ = ("_data", "_deadline", "_left", "_tokens", "cut")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._tokens = {token.start(): _kept(token[0], token[0]) for token in _tokens(data)}
        self._left = REQUESTS_A_TOKEN * len(self._tokens) + SPARE_REQUESTS
        self._deadline = 0.0
        self.cut = False

    def __call__(self, offset: int, point: object) -> bytes:
        self._left -= 1
        if self._left < 0 or (self._left % REQUESTS_A_CLOCK == 0 and self._is_late()):
            self._left = -1
            self.cut = True
            return b""
        return self._tokens.get(offset) or self._data[offset : offset + 1]

    def _is_late(self) -> bool:
        """Whether the time is up; it starts with the first call, which small files never come to."""
        now = thread_time()
        self._deadline = self._deadline or now + MAX_SECONDS
        return now > self._deadline
