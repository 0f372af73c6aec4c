"""From bytes to a syntax tree of valid TSX, or to diagnostics.

tree-sitter's grammar rejects a few things that TypeScript allows. A file with errors is therefore parsed
again with those places masked. A mask has the length of the text, so the tree has the offsets of the source,
and text is always taken from the source, never from the mask.

- An `&` in JSX text and attribute strings that begins no entity it knows (`R&D`, `a && b`, `&#128512;`).
  With every `&` replaced by `|`, which may occur wherever `&` may, the tree tells where text is. Then only
  those in text are replaced, since `a && b || c` would bind differently in code.
- `<!--` in an attribute string. Its mask `>>>>` is just as invalid in JSX text and in code.
- `-->` at the start of an attribute string.
- `export type * from` and the variance words `in` and `out`, which mean nothing here.

The grammar also accepts what TypeScript rejects: `validity` reports that.

Recovery from errors is a thousand times slower than parsing. So the start of a large file is parsed first,
and a file that is wrong everywhere there is reported from that start alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import tree_sitter

from headcount.compiler.tsx.grammar import LANGUAGE
from headcount.compiler.tsx.guard import Parsed, parse_tree
from headcount.compiler.tsx.limits import LARGE
from headcount.compiler.tsx.syntax import count_errors, report_syntax_errors
from headcount.compiler.tsx.validity import report_invalid

if TYPE_CHECKING:
    from tree_sitter import Node

    from headcount.compiler.tsx.report import Report
    from headcount.compiler.tsx.source import SourceFile

STARTS = (8_000, 32_000, 128_000)
# Real mistakes come in tens; a file that is no TSX at all has an error in every line.
HOPELESS_ERRORS = 300

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


def _parse(data: bytes) -> Parsed:
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
    in_text = parse_tree(bytes(masked))
    return everywhere if in_text.root.has_error else in_text


def _text_ranges(root: Node) -> list[tuple[int, int]]:
    query = tree_sitter.Query(LANGUAGE, "[(jsx_text) (jsx_attribute (string))] @text")
    captures = tree_sitter.QueryCursor(query).captures(root)
    return [(node.start_byte, node.end_byte) for node in captures.get("text", ())]
