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
    closed = check_tags(source, root, report)
    left = MAX_ERRORS
    pending = [root]
    while pending and left:
        node = pending.pop()
        if node.is_error:
            _report_error(source, node, report, closed)
            left -= 1
        elif node.is_missing:
            _report_missing(source, node, report)
            left -= 1
        elif node.has_error:
            pending.extend(child for child in reversed(node.children) if child.has_error or child.is_missing)


def count_errors(root: Node, enough: int) -> int:
    """The errors in the tree, counted up to `enough`."""
    found = 0
    pending = [root]
    while pending and found < enough:
        node = pending.pop()
        found += node.is_error or node.is_missing
        pending.extend(child for child in node.children if child.has_error or child.is_missing)
    return found


def check_tags(source: SourceFile, root: Node, report: Report) -> set[str]:
    """Compares every pair of tags; answers with the names that closed another tag than their own."""
    closed: set[str] = set()
    pending = [root]
    while pending:
        node = pending.pop()
        children = node.named_children
        if node.kind_id == JSX_ELEMENT:
            closed.add(check_closing(source, children[0], children[-1], report))
        pending.extend(reversed(children))
    return closed


def check_closing(source: SourceFile, opening: Node, closing: Node, report: Report) -> str:
    """Reports a closing tag that does not match, and answers with its name."""
    if opening.kind_id != JSX_OPENING or closing.kind_id != JSX_CLOSING:
        return ""
    opened, closed = _tag_name(source, opening), _tag_name(source, closing)
    if opened == closed:
        return ""
    line = source.span(opening).line
    message = f"</{closed}> closes <{opened}>, which was opened in line {line}"
    report.add(source, closing, "closing-tag", message, f"Write </{opened}>, or close <{opened}> before.")
    return closed


def _tag_name(source: SourceFile, tag: Node) -> str:
    name = tag.child_by_field_name("name")
    return "".join(source.text(name).split()) if name else ""


def _report_missing(source: SourceFile, node: Node, report: Report) -> None:
    what = "A value" if node.is_named else f"`{node.type}`"
    report.add(source, node, "syntax", f"{what} is missing here", "Complete what stands before it.")


def _report_error(source: SourceFile, node: Node, report: Report, closed: set[str]) -> None:
    unclosed = _unclosed(source, node)
    if unclosed is not None:
        if unclosed.kind_id == JSX_OPENING and _tag_name(source, unclosed) in closed:
            return  # it was closed, by a tag that closed another one: that has been reported
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
        elif kind in PAIRS or (child.kind_id == JSX_OPENING and not child.has_error):
            stack.append(child)
    return stack[-1] if stack else None


def _closes(opened: Node, kind: str) -> bool:
    return kind == ("jsx_closing_element" if opened.kind_id == JSX_OPENING else PAIRS[opened.type])


def _closer(source: SourceFile, opened: Node, text: str) -> str:
    return f"</{_tag_name(source, opened)}>" if opened.kind_id == JSX_OPENING else PAIRS.get(text, text)


def _first_line(text: str) -> str:
    lines = text.splitlines()
    return lines[0][:60] if lines else ""
