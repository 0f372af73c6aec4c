"""Syntax errors with a place, a name and a way out; and closing tags, which tree-sitter does not compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.tsx.grammar import JSX_CLOSING, JSX_ELEMENT, JSX_OPENING

if TYPE_CHECKING:
    from tree_sitter import Node

    from headcount.compiler.tsx.report import Report
    from headcount.compiler.tsx.source import SourceFile

# After so many, the rest follows from the first ones.
MAX_ERRORS = 50
PAIRS = {"(": ")", "[": "]", "{": "}", "${": "}", "`": "`", '"': '"', "'": "'", "/*": "*/"}
TEXT_HINTS = {
    ">": "In JSX text write {'>'} or &gt;.",
    "}": "In JSX text write {'}'} or &#125;; else a { is missing before it.",
}


def report_syntax_errors(source: SourceFile, root: Node, report: Report) -> None:
    """Every error in the tree, outermost first, and every closing tag that does not match."""
    check_tags(source, root, report)
    left = MAX_ERRORS
    pending = [root]
    while pending and left:
        node = pending.pop()
        if node.is_error:
            _report_error(source, node, report)
            left -= 1
        elif node.is_missing:
            _report_missing(source, node, report)
            left -= 1
        elif node.has_error:
            pending.extend(child for child in reversed(node.children) if child.has_error or child.is_missing)


def check_tags(source: SourceFile, root: Node, report: Report) -> None:
    pending = [root]
    while pending:
        node = pending.pop()
        children = node.named_children
        if node.kind_id == JSX_ELEMENT:
            check_closing(source, children[0], children[-1], report)
        pending.extend(reversed(children))


def check_closing(source: SourceFile, opening: Node, closing: Node, report: Report) -> None:
    if opening.kind_id != JSX_OPENING or closing.kind_id != JSX_CLOSING:
        return
    opened, closed = _tag_name(source, opening), _tag_name(source, closing)
    if opened != closed:
        line = source.span(opening).line
        message = f"</{closed}> closes <{opened}>, which was opened in line {line}"
        report.add(source, closing, "closing-tag", message, f"Write </{opened}>, or close <{opened}> before.")


def _tag_name(source: SourceFile, tag: Node) -> str:
    name = tag.child_by_field_name("name")
    return "".join(source.text(name).split()) if name else ""


def _report_missing(source: SourceFile, node: Node, report: Report) -> None:
    message = f"`{node.type}` is missing here"
    report.add(source, node, "syntax", message, f"Add `{node.type}`, or complete what stands before.")


def _report_error(source: SourceFile, node: Node, report: Report) -> None:
    unclosed = _unclosed(source, node)
    if unclosed is not None:
        opened = source.text(unclosed)
        message = f"{_first_line(opened)} is never closed"
        report.add(source, unclosed, "syntax", message, f"Close it with {_closer(source, unclosed, opened)}.")
        return
    culprit = node.children[0] if node.children else node
    found = _first_line(source.text(culprit)) or "the end of the file"
    parent = node.parent
    in_text = parent is not None and parent.kind_id == JSX_ELEMENT
    hint = TEXT_HINTS.get(found, "") if in_text else ""
    report.add(
        source, culprit, "syntax", f"`{found}` is not expected here", hint or _nearby_hint(source, node)
    )


def _nearby_hint(source: SourceFile, node: Node) -> str:
    line = source.data.rfind(b"\n", 0, node.start_byte) + 1
    before = source.data[line : node.start_byte].decode("utf-8", "ignore").strip()
    return f"Look at what stands before it: {before[-60:]}" if before else "Look at the line before it."


def _unclosed(source: SourceFile, error: Node) -> Node | None:
    """The innermost bracket, quote or tag in `error` that nothing closes."""
    stack: list[Node] = []
    for child in error.children:
        kind = child.type
        if stack and _closes(stack[-1], kind):
            stack.pop()
        elif child.kind_id == JSX_OPENING or kind in PAIRS:
            stack.append(child)
    return stack[-1] if stack else None


def _closes(opened: Node, kind: str) -> bool:
    return kind == ("jsx_closing_element" if opened.kind_id == JSX_OPENING else PAIRS[opened.type])


def _closer(source: SourceFile, opened: Node, text: str) -> str:
    return f"</{_tag_name(source, opened)}>" if opened.kind_id == JSX_OPENING else PAIRS.get(text, text)


def _first_line(text: str) -> str:
    lines = text.splitlines()
    return lines[0][:60] if lines else ""
