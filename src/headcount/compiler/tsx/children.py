"""Values inside JSX: layout and text of children, values as text, and the values that may leave the reader.

Source text among children is either layout of the file or text of the author.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.element import UNKNOWN, Element, TaskRef, TeamRef, Text, WorkerRef
from headcount.compiler.tsx.evaluate import too_deep, too_many
from headcount.compiler.tsx.grammar import MAX_CHARACTERS, MAX_DEPTH, MAX_ELEMENTS, MAX_VALUES
from headcount.compiler.tsx.literals import split_entities
from headcount.compiler.tsx.values import (
    PLAIN,
    UNDEFINED,
    Children,
    JsObject,
    PlaceholderText,
    describe,
    is_nullish,
    js_number,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from headcount.compiler.element import Prop, Span
    from headcount.compiler.tsx.reader import Reader
    from headcount.compiler.tsx.values import Evaluated, Scope

# The white space that source text is laid out with; a no-break space is none of it.
BLANKS = " \t\n\r\v\f"


def is_layout(raw: str) -> bool:
    """White space with a line break in it, which JSX drops between children."""
    return "\n" in raw and not raw.strip(BLANKS)


def text_children(raw: str, span: Span) -> list[Text]:
    """Source text as children: entities decoded, and the white space that they spell as verbatim text."""
    if "\r" in raw:
        raw = raw.replace("\r\n", "\n")
    if "&" not in raw:
        return [Text(raw, span)]
    return [Text(piece, span, spelled) for piece, spelled in split_entities(raw)]


def fold_layout(text: str) -> str:
    """JSX's rule: lines are trimmed where they meet a line break, empty ones go, a space joins the rest."""
    lines = text.split("\n")
    last = len(lines) - 1
    kept: list[str] = []
    for index, line in enumerate(lines):
        if index > 0:
            line = line.lstrip(" \t\r")
        if index < last:
            line = line.rstrip(" \t\r")
        if line:
            kept.append(line)
    return " ".join(kept)


# --- text ------------------------------------------------------------------------------------------------
#
# Values as text: in templates, in `+`, and where children are read as a string.


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
    if sum(map(len, pieces)) > MAX_CHARACTERS:  # before it is built: a few lines can ask for gigabytes
        raise too_many(reader, node, scope, "characters", MAX_CHARACTERS)
    text = "".join(pieces)
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


# --- render ----------------------------------------------------------------------------------------------
#
# Values among children: what becomes text, what is nothing, what is a mistake.


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
        message = f"{describe(value).capitalize()} is no text and no element"
        hint = "Use an element or a string here."
        if isinstance(value, (WorkerRef, TeamRef, TaskRef)):
            hint = f"Write {{{scope.module.source.excerpt(node)}.name}} for its name."
        reader.report.add(scope.module.source, node, "not-a-child", message, hint)
    if len(out) > MAX_ELEMENTS:
        raise too_many(reader, node, scope, "elements", MAX_ELEMENTS)


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


# --- props -----------------------------------------------------------------------------------------------
#
# From what an expression evaluated to, to a value that may leave the reader.


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
        # Children given on as a prop: one string when they are all text, as React would have it.
        text = children_text(value)
        if text is not None:
            return text
        return to_value(reader, tuple(value), node, scope, depth + 1)
    if kind is tuple:
        return tuple([to_value(reader, item, node, scope, depth + 1) for item in value])
    if isinstance(value, JsObject):
        return {key: to_value(reader, item, node, scope, depth + 1) for key, item in value.items()}
    if value is UNDEFINED:
        return None
    message = f"{describe(value).capitalize()} cannot be the value of a prop here"
    return reader.report.add(scope.module.source, node, "not-a-value", message, "Write a constant.")


# --- placeholders ----------------------------------------------------------------------------------------
#
# `${name}` where `name` is bound nowhere: text for the reader of a prompt, a mistake anywhere else.


def settle(reader: Reader, element: Element, in_prompt: bool = False) -> Element:
    """The same tree with plain strings; placeholders outside prompts are reported."""
    in_prompt = in_prompt or element.name == "Prompt"
    props = tuple(_settle_prop(reader, prop) for prop in element.props)
    children = tuple(_settle_child(reader, child, in_prompt) for child in element.children)
    return element._replace(props=props, children=children)


def _settle_prop(reader: Reader, prop: Prop) -> Prop:
    return prop._replace(value=_settle_value(reader, prop.value, prop.name == "prompt"))


def _settle_child(reader: Reader, child: Element | Text, in_prompt: bool) -> Element | Text:
    if isinstance(child, Element):
        return settle(reader, child, in_prompt)
    return child._replace(value=_settle_value(reader, child.value, in_prompt))


def _settle_value(reader: Reader, value: Evaluated, in_prompt: bool) -> Evaluated:
    if type(value) is PlaceholderText:
        if not in_prompt:
            _report(reader, value)
        return str(value)
    if type(value) is tuple:
        return tuple(_settle_value(reader, item, in_prompt) for item in value)
    if type(value) is dict:
        return {key: _settle_value(reader, item, in_prompt) for key, item in value.items()}
    return settle(reader, value, in_prompt) if isinstance(value, Element) else value


def _report(reader: Reader, text: PlaceholderText) -> None:
    for name, scope, node in text.unbound:
        hint = f"Declare {name}, or import it; only in a prompt ${{{name}}} stays as text."
        reader.report.add(scope.module.source, node, "unbound-name", f"{name} is not defined", hint)
