"""Values among children: what becomes text, what is nothing, what is a mistake."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.element import UNKNOWN, Element, TaskRef, TeamRef, Text, WorkerRef
from headcount.compiler.tsx.evaluate import too_deep, too_many
from headcount.compiler.tsx.limits import MAX_DEPTH, MAX_ELEMENTS
from headcount.compiler.tsx.values import UNDEFINED, Children, describe, js_number

if TYPE_CHECKING:
    from tree_sitter import Node

    from headcount.compiler.tsx.reader import Reader
    from headcount.compiler.tsx.scope import Scope
    from headcount.compiler.tsx.values import Evaluated


def render(reader: Reader, out: list[Evaluated], value: Evaluated, node: Node, scope: Scope) -> None:
    """Adds to `out` what React would show for `value`; false, null, undefined and "" show nothing."""
    if isinstance(value, Element):
        _weigh(reader, value, node, scope)
        if value.name:
            out.append(value)
        else:
            out.extend(value.children)
    elif isinstance(value, str):
        if value:
            out.append(Text(value, scope.module.source.span(node), True))
    elif isinstance(value, Text):
        out.append(value)
    elif type(value) in (tuple, Children):
        for item in value:
            render(reader, out, item, node, scope)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        out.append(Text(js_number(value), scope.module.source.span(node), True))
    elif not (value is None or value is UNDEFINED or value is UNKNOWN or isinstance(value, bool)):
        _not_a_child(reader, value, node, scope)
    if len(out) > MAX_ELEMENTS:
        raise too_many(reader, node, scope, "elements", MAX_ELEMENTS)


def _not_a_child(reader: Reader, value: Evaluated, node: Node, scope: Scope) -> None:
    message = f"{describe(value).capitalize()} is no text and no element"
    hint = "Use an element or a string here."
    if isinstance(value, (WorkerRef, TeamRef, TaskRef)):
        hint = f"Write {{{scope.module.source.excerpt(node)}.name}} for its name."
    reader.report.add(scope.module.source, node, "not-a-child", message, hint)


def _weigh(reader: Reader, element: Element, node: Node, scope: Scope) -> None:
    """Counts an element that is used as a value. Constants that use each other twice double with each
    step: the tree shares their parts and stays small, but the output would not."""
    pending = [(element, 1)]
    while pending:
        item, depth = pending.pop()
        reader.made += 1
        if reader.made > MAX_ELEMENTS:
            raise too_many(reader, node, scope, "elements", MAX_ELEMENTS)
        if depth > MAX_DEPTH:
            raise too_deep(reader, node, scope)
        pending.extend((child, depth + 1) for child in item.children if isinstance(child, Element))
