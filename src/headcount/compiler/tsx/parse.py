"""Parse bytes to a syntax tree of valid TSX within a bounded time, or report diagnostics.

tree-sitter's grammar rejects a few things that TypeScript allows. A file with errors is therefore parsed
again with those places masked. A mask has the length of the text, so the tree has the offsets of the
source, and text is always taken from the source, never from the mask.

- An `&` in JSX text and attribute strings that begins no entity it knows (`R&D`, `a && b`, `&#128512;`). With
  every `&` replaced by `|`, which may occur wherever `&` may, the tree tells where text is. Then only those
  in text are replaced, since `a && b || c` would bind differently in code.
- `<!--` in an attribute string. Its mask `>>>>` is just as invalid in JSX text and in code.
- `-->` at the start of an attribute string.
- `export type * from` and the variance words `in` and `out`, which mean nothing here.

Comments above the first JSX, template and block comment are masked from the start: half of the tokens of a
commented file are in them. A line that begins with `//` is always a comment there.

The grammar also accepts what TypeScript rejects: `validity` reports that.
"""

from __future__ import annotations

import re
from time import thread_time
from typing import TYPE_CHECKING, NamedTuple

import tree_sitter

from headcount.compiler.tsx.grammar import LANGUAGE, LARGE
from headcount.compiler.tsx.syntax import count_errors, report_syntax_errors
from headcount.compiler.tsx.validity import report_invalid

if TYPE_CHECKING:
    from tree_sitter import Node

    from headcount.compiler.tsx.source import Report, SourceFile

# --- a bounded parser ------------------------------------------------------------------------------------
#
# While tree-sitter recovers from a syntax error it can fall into an endless loop: `<a {{b:>c:d(e f)` is
# one of the inputs that cause it. It holds the interpreter lock, so neither a thread nor a signal can
# stop it, and the binding's own callback for this crashes before Python 3.14. But its lexer requests
# text: given one token at a time, it must request each token again that it reads again. The guard counts
# these requests and the processor time, and ends the text after too much of either. The caller learns of
# the cut, since the tree of the first half of a file can look complete.


_parser = tree_sitter.Parser(LANGUAGE)

# A chunk never ends within a character: bytes from 0x80 on belong to words.
# Files share their pieces of white space, as they share their words.
_tokens = re.compile(rb"[\w\x80-\xff]+|\s{1,64}|[^\w\s]").finditer
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


# --- masks -----------------------------------------------------------------------------------------------
#
# Recovery from errors is a thousand times slower than parsing. So the start of a large file is parsed
# first, and a file that is wrong everywhere there is reported from that start alone.


STARTS = (8_000, 32_000, 128_000)
# Real mistakes come in tens; a file that is no TSX at all has an error in every line.
HOPELESS_ERRORS = 300

_head = re.compile(rb"(?>[ \t]*//[^\r\n]*\r?\n|(?:[^<`\\\r\n/]|/(?!\*))*\r?\n)*+")
_comment_lines = re.compile(rb"^[ \t]*//[^\r\n]*", re.MULTILINE)
_arrow_at_start = re.compile(rb"(=\s*[\"']\s*)-->")
_type_exports = re.compile(rb"\bexport\s+type\s*\*[^'\"\n;]*(?:'[^'\n]*'|\"[^\"\n]*\")?")
_type_heads = re.compile(rb"\b(?:interface|type|class)\s+[\w$\x80-\xff]+\s*<[^<>(){}]*>")
_variance = re.compile(rb"(?<=[<,\s])(?:in|out)(?=\s+[\w$\x80-\xff])")


def parse(source: SourceFile, report: Report) -> Node | None:
    """The program's node, or None when its syntax errors have been reported."""
    parsed = _parse(source.data)
    if parsed.root.has_error:
        report_syntax_errors(source, parsed.root, report)
        return None
    if parsed.cut:
        hint = "Look for a bracket or a tag that is opened over and over, or split the file."
        report.add(source, parsed.root, "too-deep", "This file nests too deeply to be parsed", hint)
        return None
    return None if report_invalid(source, parsed.root, report) else parsed.root


def _without_head_comments(data: bytes) -> bytes:
    """Blank the comments of the first lines. U+2028 and U+2029 also end a comment; they are left alone."""
    head = _head.match(data)
    if head is None or b"//" not in head[0] or b"\xe2\x80" in head[0]:
        return data
    return _comment_lines.sub(_blank, head[0]) + data[head.end() :]


def _parse(data: bytes) -> Parsed:
    data = _without_head_comments(data)
    if len(data) > STARTS[0]:
        start = _hopeless_start(data)
        if start is not None:
            return start
    parsed = parse_tree(data)
    if parsed.root.has_error:
        masked = _variance_masked(_type_exports.sub(_blank, data)).replace(b"<!--", b">>>>")
        masked = _arrow_at_start.sub(rb"\1>>>", masked)
        if masked != data:
            data, parsed = masked, parse_tree(masked)
    if parsed.root.has_error and b"&" in data and not parsed.cut:
        parsed = _parse_with_ampersands(data)
    return parsed


def _hopeless_start(data: bytes) -> Parsed | None:
    """The tree of the file's first part, when that alone shows that the file cannot be parsed."""
    for size in STARTS:
        if size < len(data) and (size == STARTS[0] or len(data) > LARGE):
            parsed = parse_tree(data[:size].replace(b"&", b"|"))
            if parsed.cut or count_errors(parsed.root, HOPELESS_ERRORS) >= HOPELESS_ERRORS:
                return parsed
    return None


def _blank(match: re.Match[bytes]) -> bytes:
    return b" " * len(match[0])


def _variance_masked(data: bytes) -> bytes:
    return _type_heads.sub(lambda head: _variance.sub(_blank, head[0]), data)


def _parse_with_ampersands(data: bytes) -> Parsed:
    everywhere = parse_tree(data.replace(b"&", b"|"))
    if everywhere.root.has_error:
        return everywhere
    masked = bytearray(data)
    for start, end in _text_ranges(everywhere.root):
        masked[start:end] = masked[start:end].replace(b"&", b"|")
    return parse_tree(bytes(masked))


def _text_ranges(root: Node) -> list[tuple[int, int]]:
    query = tree_sitter.Query(LANGUAGE, "[(jsx_text) (jsx_attribute (string))] @text")
    captures = tree_sitter.QueryCursor(query).captures(root)
    return [(node.start_byte, node.end_byte) for node in captures.get("text", ())]
