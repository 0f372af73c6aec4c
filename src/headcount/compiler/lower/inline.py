"""Inline content: text, emphasis, code, links and line breaks, as one run of Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headcount.compiler.element import Element, Text
from headcount.compiler.lower.props import PROPS, read_props
from headcount.compiler.quoting import inline_code
from headcount.compiler.whitespace import SPACES, one_line, squeeze

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headcount.compiler.diagnostics import Report

INLINE: Final = frozenset(("b", "strong", "i", "em", "code", "a", "br"))
_MARKERS: Final = {"b": "**", "strong": "**", "i": "*", "em": "*"}


def with_gaps(children: Sequence[Element | Text], gap: str, report: Report) -> Sequence[Element | Text]:
    """TSX drops white space with a line break in it, as JSX does; between two inline elements or strings it
    parted words, so it is put back where they stand on different lines."""
    if report.python or len(children) < 2:
        return children
    found: list[Element | Text] = []
    broken = False
    for child in children:
        if isinstance(child, Text) and child.is_break:
            broken = True
            continue
        if found and (_parted(found[-1], child) if not broken else _meet(found[-1], child)):
            found.append(Text(gap, child.span, True))
        found.append(child)
        broken = False
    return found


def _parted(before: Element | Text, after: Element | Text) -> bool:
    return (
        isinstance(before, Element)
        and isinstance(after, Element)
        and before.span.line < after.span.line
        and before.name in INLINE
        and after.name in INLINE
        and "br" not in (before.name, after.name)
    )


def _meet(before: Element | Text, after: Element | Text) -> bool:
    """Whether words would meet without a gap; a blank that the author wrote is one."""
    last = before.value[-1:] if isinstance(before, Text) else before.name
    first = after.value[:1] if isinstance(after, Text) else after.name
    return not last.isspace() and not first.isspace() and "br" not in (last, first)


def inline(children: Sequence[Element | Text], owner: str, report: Report) -> str:
    """The children of `owner` as one run; blocks do not belong there, and are an error, not dropped."""
    pieces: list[str] = []
    for child in with_gaps(children, " ", report):
        if isinstance(child, Text):
            pieces.append(child.value if child.verbatim else squeeze(child.value))
        elif child.name in INLINE:
            pieces.append(inline_element(child, report))
        else:
            not_inside(child, owner, report)
    return "".join(pieces)


def paragraph(children: Sequence[Element | Text], owner: str, report: Report) -> str:
    return inline(children, owner, report).strip(SPACES)


def inline_element(element: Element, report: Report) -> str:
    name = element.name
    props, whole = read_props(element, report)
    if name == "br":
        no_children(element, report)
        return "\n"
    content = inline(element.children, name, report)
    if name == "code":
        return inline_code(one_line(content)) if content.strip(SPACES) else ""
    if name == "a":
        return _link(content, props["href"]) if whole else content
    # White space next to a marker would unmake it, so it moves outside.
    marker = _MARKERS[name]
    core = content.strip(SPACES)
    if not core:
        return " " if content else ""
    start = content.index(core)
    return f"{content[:start]}{marker}{core}{marker}{content[start + len(core) :]}"


def no_children(element: Element, report: Report) -> None:
    for child in element.children:
        if isinstance(child, Element) or child.value.strip(SPACES):
            what = f"{element.name} takes no children"
            report.error("misplaced", what, child.span, f"Move it out, beside the {element.name}.")


def not_inside(child: Element, owner: str, report: Report) -> None:
    """Report a child that has no place in its parent, by what it is."""
    name = child.name
    if name == "Teammate":
        hint = "Wrap it in a Team."
        report.error(
            "teammate-outside-team", "Teammate must be used inside a Team component", child.span, hint
        )
    elif name == "Prompt":
        report.error(
            "prompt-outside",
            "Prompt must be used inside a Teammate or TaskDef component",
            child.span,
            "Move it into the Teammate or TaskDef that it instructs.",
        )
    elif name in PROPS:
        report.error(
            "misplaced",
            f"{name} cannot be used inside {owner}",
            child.span,
            f"Move it out, beside the {owner}.",
        )
    else:
        unknown_element(child, report)


def unknown_element(element: Element, report: Report) -> None:
    if element.name in ("Command", "Agent", "Skill"):
        report.error(
            "misplaced",
            f"{element.name} is a root and cannot be used inside another component",
            element.span,
            "Give it a file of its own.",
        )
        return
    report.error(
        "unknown-element",
        f"Unknown element {element.name}",
        element.span,
        report.suggest(element.name, PROPS),
    )


def _link(content: str, href: str) -> str:
    target = f"<{href}>" if any(letter in " ()<>" for letter in href) else href
    return f"[{content.strip(SPACES)}]({target})"
