"""From bytes to a syntax tree, or to diagnostics.

tree-sitter's grammar refuses an `&` in JSX text and attribute strings that begins no entity it knows,
which TSX allows (`R&D`, `a && b`, `&#128512;`). Such a file is parsed three times:

1. as it is: there are errors;
2. with every `&` replaced by `|`, which may stand wherever `&` may, in text and in code: this tells where
   text is, but `a && b || c` in code would bind differently;
3. with only those in text replaced. Its tree has the offsets of the source, and text is cut from the
   source, never from the replacement.

Recovering from errors is a thousand times slower than parsing: 250 kB of text that is no TSX at all takes
seconds. So the start of a large file is parsed first, and a file that is wrong everywhere there is reported
from that start alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import tree_sitter

from headcount.compiler.tsx.grammar import LANGUAGE
from headcount.compiler.tsx.guard import parse_tree
from headcount.compiler.tsx.limits import LARGE
from headcount.compiler.tsx.syntax import count_errors, report_syntax_errors

if TYPE_CHECKING:
    from tree_sitter import Node

    from headcount.compiler.tsx.report import Report
    from headcount.compiler.tsx.source import SourceFile

STARTS = (32_000, 128_000)
# Real mistakes come in tens; what is no TSX at all has an error in every line.
HOPELESS_ERRORS = 300


def parse(source: SourceFile, report: Report) -> Node | None:
    """The program's node, or None when its syntax errors have been reported."""
    if len(source.data) > LARGE:
        start = _hopeless_start(source.data)
        if start is not None:
            report_syntax_errors(source, start, report)
            return None
    root = parse_tree(source.data)
    if not root.has_error:
        return root
    if b"&" in source.data:
        root = _parse_with_ampersands(source.data)
        if not root.has_error:
            return root
    report_syntax_errors(source, root, report)
    return None


def _hopeless_start(data: bytes) -> Node | None:
    for size in STARTS:
        root = parse_tree(data[:size].replace(b"&", b"|"))
        if count_errors(root, HOPELESS_ERRORS) >= HOPELESS_ERRORS:
            return root
    return None


def _parse_with_ampersands(data: bytes) -> Node:
    everywhere = parse_tree(data.replace(b"&", b"|"))
    if everywhere.has_error:
        return everywhere
    masked = bytearray(data)
    for start, end in _text_ranges(everywhere):
        masked[start:end] = masked[start:end].replace(b"&", b"|")
    in_text = parse_tree(bytes(masked))
    return everywhere if in_text.has_error else in_text


def _text_ranges(root: Node) -> list[tuple[int, int]]:
    query = tree_sitter.Query(LANGUAGE, "[(jsx_text) (jsx_attribute (string))] @text")
    captures = tree_sitter.QueryCursor(query).captures(root)
    return [(node.start_byte, node.end_byte) for node in captures.get("text", ())]
