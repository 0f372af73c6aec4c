"""Values as text: in templates, in `+`, and where children are read as a string."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.element import UNKNOWN, Text
from headcount.compiler.tsx.evaluate import too_many
from headcount.compiler.tsx.layout import fold_layout
from headcount.compiler.tsx.limits import MAX_CHARACTERS
from headcount.compiler.tsx.values import (
    UNDEFINED,
    Children,
    PlaceholderText,
    describe,
    is_nullish,
    js_number,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from headcount.compiler.tsx.reader import Reader
    from headcount.compiler.tsx.scope import Scope
    from headcount.compiler.tsx.values import Evaluated


def to_text(reader: Reader, value: Evaluated, node: Node, scope: Scope) -> Evaluated:
    """What JavaScript's string conversion gives, or UNKNOWN. `[object Object]` and `undefined` are what
    it gives for the rest, and never what was meant."""
    if isinstance(value, str) or value is UNKNOWN:
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return js_number(value)
    if isinstance(value, Text) or type(value) is Children:
        text = children_text(value)
        if text is not None:
            return text
    message = f"{describe(value).capitalize()} has no text to put here"
    hint = (
        "Give it a value or a default." if is_nullish(value) else "Use one of its members, such as `.name`."
    )
    return reader.report.add(scope.module.source, node, "not-text", message, hint)


def join(reader: Reader, pieces: list[Evaluated], node: Node, scope: Scope) -> Evaluated:
    """The pieces as one string, which remembers the placeholders in them."""
    if any(piece is UNKNOWN for piece in pieces):
        return UNKNOWN
    text = "".join(pieces)
    if len(text) > MAX_CHARACTERS:
        raise too_many(reader, node, scope, "characters", MAX_CHARACTERS)
    unbound = [item for piece in pieces if type(piece) is PlaceholderText for item in piece.unbound]
    if not unbound:
        return text
    result = PlaceholderText(text)
    result.unbound = tuple(unbound)
    return result


def children_text(value: Evaluated) -> str | None:
    """Children that are all text, as the one string that React would pass; None when they are not."""
    items = value if type(value) is Children else (value,)
    parts: list[str] = []
    for item in items:
        if isinstance(item, Text):
            parts.append(item.value if item.verbatim else fold_layout(item.value))
        elif isinstance(item, str):
            parts.append(item)
        elif isinstance(item, (int, float)) and not isinstance(item, bool):
            parts.append(js_number(item))
        elif item is not None and item is not UNDEFINED and not isinstance(item, bool):
            return None
    return "".join(parts)
