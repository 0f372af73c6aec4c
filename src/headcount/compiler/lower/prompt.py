"""A prompt: the `prompt` prop or the Prompt child, with `{{name}}` filled from `vars`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from headcount.compiler.element import UNKNOWN, Element
from headcount.compiler.lower.body import body
from headcount.compiler.lower.props import WRONG, read_props
from headcount.compiler.lower.props import text as text_kind
from headcount.compiler.text import SPACES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headcount.compiler.element import Value
    from headcount.compiler.report import Report

_slot: Final = re.compile(r"\{\{[ \t]*([A-Za-z_$][\w$-]*)[ \t]*\}\}")


def read_prompt(element: Element, props: dict[str, Any], report: Report) -> str | None:
    """The prompt, or None when it is missing or could not be known; both are reported by then.

    In a Teammate the child wins over the prop; in a TaskDef both together are an error. A `prompt` that is
    given and empty is a warning: pipelines are filled in step by step.
    """
    errors = len(report.items)
    child = _prompt_child(element, report) if element.children else ""
    prop: str = props.get("prompt", "")
    if child and prop and element.name == "TaskDef":
        report.error(
            "prompt-twice",
            "TaskDef cannot have both a prompt prop and <Prompt> child",
            element.span,
            "Remove one of them.",
        )
    if child or prop:
        return child or prop
    if len(report.items) > errors:
        return None  # an error inside the Prompt is why it is empty
    if "prompt" in props:
        what = f"The prompt of this {element.name} is empty"
        report.warn("prompt-empty", what, element.span, "Write what is to be done.")
        return ""
    if not any(given.name == "prompt" and given.value is UNKNOWN for given in element.props):
        report.missing(
            "prompt-missing",
            f"{element.name} requires either a <Prompt> child or prompt prop",
            element.span,
            "Write what is to be done in one of them; an empty <Prompt> counts as none.",
        )
    return None


def _prompt_child(element: Element, report: Report) -> str:
    found: list[str] = []
    for child in element.children:
        if isinstance(child, Element) and child.name == "Prompt":
            found.append(_content(child, report))
        elif isinstance(child, Element) or child.value.strip(SPACES):
            got = child.name if isinstance(child, Element) else "text"
            what = f"{element.name} only accepts a Prompt child, got: {got}"
            report.error("misplaced", what, child.span, "Wrap it in a Prompt.")
    if len(found) > 1:
        what = f"{element.name} can only contain one Prompt child"
        report.error("prompt-twice", what, element.span, "Join them into one.")
    return "\n\n".join(filter(None, found))


def _content(element: Element, report: Report) -> str:
    props, _ = read_props(element, report)
    written = body(element.children, "Prompt", 0, report)
    return _fill(written, props["vars"], element, report) if "vars" in props else written


def _fill(written: str, given: Mapping[str, Value], element: Element, report: Report) -> str:
    used: set[str] = set()

    def value_of(match: re.Match[str]) -> str:
        name = match[1]
        used.add(name)
        if name not in given:
            what = f"Prompt has {{{{{name}}}}} in its text, and vars has no {name}"
            report.error("vars-unfilled", what, element.span, report.suggest(name, given))
        value = text_kind(given.get(name, ""))
        if value is WRONG and given[name] is not UNKNOWN:
            what = f"Prompt vars has a {name} that is not a string"
            report.error("wrong-type", what, element.span, "Give it a string.")
        return value if isinstance(value, str) else ""

    filled = _slot.sub(value_of, written)
    for name in given:
        if name not in used:
            what = f"Prompt vars has {name}, and its text has no {{{{{name}}}}}"
            report.error("vars-unused", what, element.span, "Use it in the text, or remove it from vars.")
    return filled
