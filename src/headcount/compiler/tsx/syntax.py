"""Syntax errors with a place, a name and a way out; and closing tags, which tree-sitter does not compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.tsx.grammar import JSX_CLOSING, JSX_ELEMENT, JSX_OPENING, MAX_SYNTAX_ERRORS

if TYPE_CHECKING:
    from tree_sitter import Node

    from headcount.compiler.tsx.source import Report, SourceFile

PAIRS = {"(": ")", "[": "]", "{": "}", "${": "}", "`": "`", '"': '"', "'": "'", "/*": "*/"}
HTML_COMMENT = (
    "`<!-- -->` is not a comment in TSX",
    "Write {/* … */} between tags, // or /* … */ in code.",
)
TEXT_HINTS = {
    ">": "In JSX text write {'>'} or &gt;.",
    "}": "In JSX text write {'}'} or &#125;; else a { is missing before it.",
}


def report_syntax_errors(source: SourceFile, root: Node, report: Report) -> None:
    """Every error in the tree, outermost first, and every closing tag that does not match."""
    closed = check_tags(source, root, report)
    left = MAX_SYNTAX_ERRORS
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
    """An error node may hold the rest of the file. Then its first inner error is where things went wrong,
    unless that is a `</`: there the parser read code, since something before was not closed."""
    comments = [child for child in node.children if source.data.startswith(b"<!--", child.start_byte)]
    if comments:
        report.add(source, comments[0], "syntax", *HTML_COMMENT)
        return
    while True:
        inner = _first_inner(node)
        at_closing = inner is not None and source.data.startswith(b"</", inner.start_byte - 1)
        unclosed = _unclosed(node, inner) if inner is None or at_closing else None
        if unclosed is not None:
            _report_unclosed(source, unclosed, report, closed)
        elif inner is None:
            culprit = node.children[0] if node.children else node
            found = _first_line(source.text(culprit)) or "the end of the file"
            parent = node.parent
            in_text = parent is not None and parent.kind_id == JSX_ELEMENT
            hint = TEXT_HINTS.get(found, "") if in_text else ""
            report.add(
                source,
                culprit,
                "syntax",
                f"`{found}` is not expected here",
                hint or _nearby_hint(source, node),
            )
        elif inner.is_missing:
            _report_missing(source, inner, report)
        else:
            node = inner
            continue
        return


def _first_inner(error: Node) -> Node | None:
    node: Node | None = error
    while node is not None:
        node = next((each for each in node.children if each.has_error or each.is_missing), None)
        if node is not None and (node.is_error or node.is_missing):
            return node
    return None


def _report_unclosed(source: SourceFile, node: Node, report: Report, closed: set[str]) -> None:
    name = _tag_name(source, node) if node.kind_id == JSX_OPENING else ""
    if name and name in closed:
        return  # it was closed, by a tag that closed another one: that has been reported
    opened = source.text(node)
    closer = f"</{name}>" if node.kind_id == JSX_OPENING else PAIRS.get(opened, opened)
    report.add(source, node, "syntax", f"{_first_line(opened)} is never closed", f"Close it with {closer}.")


def _nearby_hint(source: SourceFile, node: Node) -> str:
    line = source.data.rfind(b"\n", 0, node.start_byte) + 1
    before = source.data[line : node.start_byte].decode("utf-8", "ignore").strip()
    return f"Look at what stands before it: {before[-60:]}" if before else "Look at the line before it."


def _unclosed(error: Node, before: Node | None) -> Node | None:
    """The innermost bracket, quote or tag in `error`, up to `before`, that nothing closes."""
    stack: list[Node] = []
    for child in error.children:
        if before is not None and child.end_byte >= before.start_byte:
            break
        kind = child.type
        if stack and _closes(stack[-1], kind):
            stack.pop()
        elif kind in PAIRS or (child.kind_id == JSX_OPENING and not child.has_error):
            stack.append(child)
    return stack[-1] if stack else None


def _closes(opened: Node, kind: str) -> bool:
    return kind == ("jsx_closing_element" if opened.kind_id == JSX_OPENING else PAIRS[opened.type])


def _first_line(text: str) -> str:
    lines = text.splitlines()
    return lines[0][:60] if lines else ""
