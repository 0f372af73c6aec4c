"""From what an expression evaluated to, to a value that may leave the reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.element import Text
from headcount.compiler.tsx.evaluate import too_deep, too_many
from headcount.compiler.tsx.limits import MAX_DEPTH, MAX_VALUES
from headcount.compiler.tsx.text import children_text
from headcount.compiler.tsx.values import PLAIN, UNDEFINED, Children, JsObject, PlaceholderText, describe

if TYPE_CHECKING:
    from tree_sitter import Node

    from headcount.compiler.tsx.reader import Reader
    from headcount.compiler.tsx.scope import Scope
    from headcount.compiler.tsx.values import Evaluated


def to_value(reader: Reader, value: Evaluated, node: Node, scope: Scope, depth: int = 0) -> Evaluated:
    """`value` for a prop of a built-in; what is no value is reported, and UNKNOWN."""
    kind = type(value)
    if kind in PLAIN or kind is PlaceholderText:
        return value
    if depth > MAX_DEPTH:
        raise too_deep(reader, node, scope)
    reader.values += 1
    if reader.values > MAX_VALUES:
        raise too_many(reader, node, scope, "values", MAX_VALUES)
    if kind is Children or kind is Text:
        return _from_children(reader, value, node, scope, depth)
    if kind is tuple:
        return tuple([to_value(reader, item, node, scope, depth + 1) for item in value])
    if isinstance(value, JsObject):
        return {key: to_value(reader, item, node, scope, depth + 1) for key, item in value.items()}
    if value is UNDEFINED:
        return None
    message = f"{describe(value).capitalize()} cannot be the value of a prop here"
    return reader.report.add(scope.module.source, node, "not-a-value", message, "Write a constant.")


def _from_children(reader: Reader, value: Evaluated, node: Node, scope: Scope, depth: int) -> Evaluated:
    """Children given on as a prop: one string when they are all text, as React would have it."""
    text = children_text(value)
    if text is not None:
        return text
    return to_value(reader, tuple(value), node, scope, depth + 1)
