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
- A line break between `export` and `default`.
- The `!` after a value, which means nothing here. The grammar reads `a + b!.c` as `(a + b)!.c`.

The grammar also accepts what TypeScript rejects: `validity` reports that.
"""

from __future__ import annotations

import re
import warnings
from time import thread_time
from typing import TYPE_CHECKING, Final, NamedTuple

import tree_sitter

from headcount.compiler.tsx.grammar import LANGUAGE
from headcount.compiler.tsx.syntax import report_syntax_errors
from headcount.compiler.tsx.validity import report_invalid

if TYPE_CHECKING:
    from tree_sitter import Node

    from headcount.compiler.tsx.source import Report, SourceFile

# --- a bounded parser ------------------------------------------------------------------------------------
#
# While tree-sitter recovers from a syntax error it can fall into an endless loop: `<a {{b:>c:d(e f)` is
# one of the inputs that cause it. It holds the interpreter lock, so neither a thread nor a signal can
# stop it. Its timeout can, and a parser that stopped resumes where it was. The timeout counts time that
# others use the processor, too, so it only sets how often the processor time is compared with the limit.


SLICE_MICROSECONDS: Final = 20_000
# 500 kB of valid text take 0.1 s; recovery from errors takes time in the square of their number.
MAX_SECONDS: Final = 0.5
# When the whole takes too long, its start shows what is wrong: mistakes have been seen in tens of it.
START: Final = 8_000
START_SECONDS: Final = 0.1
# tree-sitter recurses for each level and overflows the C stack at about 90,000 levels.
MAX_NESTING: Final = 10_000

with warnings.catch_warnings():
    # Only the callback that replaces it later is safe with Python 3.14, and crashes before.
    warnings.simplefilter("ignore", DeprecationWarning)
    _parser = tree_sitter.Parser(LANGUAGE, timeout_micros=SLICE_MICROSECONDS)

_brackets = re.compile(rb"[()\[\]{}]").findall


class Parsed(NamedTuple):
    """The program's node; `cut` when it is only of the first part of the text."""

    root: Node
    cut: bool


def parse_tree(data: bytes) -> Parsed:
    """Parse the text, or its start where the whole takes too long or nests too deeply for tree-sitter."""
    cut = len(data) > MAX_NESTING and _nesting(data) > MAX_NESTING
    root = _parse_within(data[:MAX_NESTING] if cut else data, MAX_SECONDS)
    size = 2 * min(len(data), START)
    while root is None:
        cut, size = True, size // 2
        root = _parse_within(data[:size], START_SECONDS)
    return Parsed(root, cut)


def _parse_within(data: bytes, seconds: float) -> Node | None:
    """The tree of the text, or None after so much processor time."""
    deadline = 0.0
    while True:
        try:
            return _parser.parse(data).root_node
        except ValueError:  # the timeout
            now = thread_time()
            deadline = deadline or now + seconds
            if now > deadline:
                _parser.reset()
                return None


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


# --- masks ---------------------------------------------------------------------------------------------


_arrow_at_start = re.compile(rb"(=\s*[\"']\s*)-->")
_type_exports = re.compile(rb"\bexport\s+type\s*\*[^'\"\n;]*(?:'[^'\n]*'|\"[^\"\n]*\")?")
_type_heads = re.compile(rb"\b(?:interface|type|class)\s+[\w$\x80-\xff]+\s*<[^<>(){}]*>")
_broken_export = re.compile(rb"\bexport\s*\n\s*default\b")
_non_null = tree_sitter.Query(LANGUAGE, "(non_null_expression) @value")
_variance = re.compile(rb"(?<=[<,\s])(?:in|out)(?=\s+[\w$\x80-\xff])")


def parse(source: SourceFile, report: Report) -> Node | None:
    """The program's node, or None when its syntax errors have been reported."""
    data = _broken_export.sub(_blank_lines, source.data)
    parsed = _parse(data)
    marks = _non_null_marks(parsed.root) if b"!" in data and not parsed.root.has_error else []
    if marks and not parsed.cut:
        if report_invalid(source, parsed.root, report):
            return None
        masked = bytearray(data)
        for mark in marks:
            masked[mark : mark + 1] = b" "
        parsed = _parse(bytes(masked))
    if parsed.root.has_error:
        report_syntax_errors(source, parsed.root, report)
        return None
    if parsed.cut:
        hint = "Look for a bracket or a tag that is opened over and over, or split the file."
        report.add(source, parsed.root, "too-deep", "This file nests too deeply to be parsed", hint)
        return None
    return None if report_invalid(source, parsed.root, report) else parsed.root


def _parse(data: bytes) -> Parsed:
    parsed = parse_tree(data)
    if parsed.root.has_error:
        masked = _variance_masked(_type_exports.sub(_blank, data)).replace(b"<!--", b">>>>")
        masked = _arrow_at_start.sub(rb"\1>>>", masked)
        if masked != data:
            data, parsed = masked, parse_tree(masked)
    if parsed.root.has_error and b"&" in data:
        parsed = _parse_with_ampersands(data)
    return parsed


def _blank(match: re.Match[bytes]) -> bytes:
    return b" " * len(match[0])


def _blank_lines(match: re.Match[bytes]) -> bytes:
    return match[0].replace(b"\r", b" ").replace(b"\n", b" ")


def _non_null_marks(root: Node) -> list[int]:
    captures = tree_sitter.QueryCursor(_non_null).captures(root)
    return [node.end_byte - 1 for node in captures.get("value", ())]


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
