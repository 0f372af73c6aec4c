"""JSX elements: tags, attributes, children; and the expansion of local components."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.element import UNKNOWN, Element, Prop, Span, Text
from headcount.compiler.tsx.components import expand
from headcount.compiler.tsx.entities import decode_entities, split_entities
from headcount.compiler.tsx.evaluate import MAX_DEPTH, evaluate, handles, not_understood, too_deep, too_many
from headcount.compiler.tsx.expressions import foreign, parts
from headcount.compiler.tsx.functions import call_function
from headcount.compiler.tsx.grammar import (
    COMMENT,
    JSX_ATTRIBUTE,
    JSX_ELEMENT,
    JSX_ENTITY,
    JSX_EXPRESSION,
    JSX_SELF_CLOSING,
    JSX_TEXT,
    SPREAD,
    STRING,
    TYPE_ARGUMENTS,
)
from headcount.compiler.tsx.props import PLAIN, to_value
from headcount.compiler.tsx.render import MAX_ELEMENTS, render
from headcount.compiler.tsx.scope import MISSING
from headcount.compiler.tsx.syntax import check_closing
from headcount.compiler.tsx.values import (
    UNDEFINED,
    BuiltIn,
    Foreign,
    Function,
    JsObject,
    Props,
    describe,
    is_nullish,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from headcount.compiler.tsx.reader import Reader
    from headcount.compiler.tsx.scope import Scope
    from headcount.compiler.tsx.values import Evaluated

_new = tuple.__new__


@handles("jsx_element", "jsx_self_closing_element")
def element(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    """A built-in or HTML element as such; a local component as what it returns; a fragment without a name."""
    depth = reader.depth = reader.depth + 1
    if depth > MAX_DEPTH:
        raise too_deep(reader, node, scope)
    reader.made += 1
    if reader.made > MAX_ELEMENTS:
        raise too_many(reader, node, scope, "elements", MAX_ELEMENTS)
    opening, kids = node, ()
    if node.kind_id == JSX_ELEMENT:
        kids = node.named_children
        opening = kids[0]
        _check_tags(reader, opening, kids[-1], scope)
    inside = opening.named_children
    target = _target(reader, inside[0], scope) if inside else ""
    if type(target) is str:
        value = _built_in(reader, target, node, opening, inside, kids, scope)
    else:
        value = _other(reader, target, node, opening, inside, kids, scope)
    reader.depth = depth - 1
    return value


def _check_tags(reader: Reader, opening: Node, closing: Node, scope: Scope) -> None:
    module = scope.module
    start = closing.start_byte
    if start not in module.tags:
        module.tags.add(start)
        check_closing(module.source, opening, closing, reader.report)


def _target(reader: Reader, name_node: Node, scope: Scope) -> Evaluated:
    """What a tag names: a built-in's or HTML element's name, or a component's function."""
    name = scope.data[name_node.start_byte : name_node.end_byte].decode()
    if name[0].islower() and "." not in name:
        return name
    if "." in name:
        value = evaluate(reader, name_node, scope)
    else:
        value = scope.find(reader, name)
        if value is MISSING:
            return name
    return value.name if type(value) is BuiltIn else value


def _other(
    reader: Reader,
    target: Evaluated,
    node: Node,
    opening: Node,
    inside: list[Node],
    kids: list[Node],
    scope: Scope,
) -> Evaluated:
    if isinstance(target, Function):
        given = _attributes(reader, inside, scope, False)
        props = Props({name: prop.value for name, prop in given.items()})
        children = _children(reader, opening, kids, scope, None)
        return expand(reader, target, props, children, node, scope)
    name = scope.module.source.text(inside[0])
    if isinstance(target, Foreign):
        return foreign(reader, name, target, inside[0], scope)
    if target is UNKNOWN:
        return UNKNOWN
    message = f"<{name}> is {describe(target)}, not a component"
    hint = "A component is a function that returns elements, or a built-in."
    return reader.report.add(scope.module.source, inside[0], "not-a-component", message, hint)


def _built_in(
    reader: Reader,
    name: str,
    node: Node,
    opening: Node,
    inside: list[Node],
    kids: list[Node],
    scope: Scope,
) -> Element:
    props = _attributes(reader, inside, scope, True)
    children: list[Evaluated] = []
    if kids:
        children = _children(reader, opening, kids, scope, props)
    given = props.pop("children", None)
    if given is not None and not children:
        render(reader, children, given.value, node, scope)
    source = scope.module.source
    row, column = node.start_point
    span = _new(Span, (source.path, row + 1, column + 1)) if source.is_ascii else source.span(node)
    return _new(Element, (name, tuple(props.values()), tuple(children), span))


def _attributes(reader: Reader, inside: list[Node], scope: Scope, plain: bool) -> dict[str, Prop]:
    """The attributes by name, in source order; `plain` turns them into values that may leave the reader."""
    props: dict[str, Prop] = {}
    spread: set[str] = set()
    source = scope.module.source
    data = source.data
    for node in inside[1:]:
        if node.kind_id != JSX_ATTRIBUTE:
            _spread_attributes(reader, node, scope, props, spread, plain)
            continue
        pair = node.named_children
        name_node = pair[0]
        name = data[name_node.start_byte : name_node.end_byte].decode()
        value = _attribute_value(reader, pair[-1], scope) if len(pair) > 1 else True
        if plain and type(value) not in PLAIN:
            if value is UNDEFINED:
                continue
            value = to_value(reader, value, pair[-1], scope)
        if name == "key":
            continue
        if name in props and name not in spread:
            hint = "Remove one of them."
            reader.report.add(source, node, "duplicate-prop", f"{name} is given twice", hint)
        row, column = node.start_point
        span = _new(Span, (source.path, row + 1, column + 1)) if source.is_ascii else source.span(node)
        props[name] = _new(Prop, (name, value, span))
    return props


def _attribute_value(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    kind_id = node.kind_id
    if kind_id == STRING:
        # Entities mean something in these strings, backslashes do not.
        text = scope.data[node.start_byte + 1 : node.end_byte - 1].decode()
        if "\r" in text:
            text = text.replace("\r\n", "\n")
        return decode_entities(text) if "&" in text else text
    if kind_id != JSX_EXPRESSION:
        return evaluate(reader, node, scope)
    inner = node.named_children
    if len(inner) != 1 or inner[0].kind_id == COMMENT:
        inner = parts(node)
        if not inner:
            hint = "Write a value between the braces, or remove the attribute."
            return reader.report.add(
                scope.module.source, node, "empty-expression", "There is no value here", hint
            )
    return evaluate(reader, inner[0], scope)


def _spread_attributes(
    reader: Reader, node: Node, scope: Scope, props: dict[str, Prop], spread: set[str], plain: bool
) -> None:
    """`{...props}`: as in JavaScript, a later value replaces an earlier one, which keeps its place."""
    if node.kind_id in (COMMENT, TYPE_ARGUMENTS):
        return
    inner = parts(node)
    if len(inner) != 1 or inner[0].kind_id != SPREAD:
        if inner:
            not_understood(reader, node, scope)
        return
    value = evaluate(reader, parts(inner[0])[0], scope)
    if not isinstance(value, JsObject):
        if not (is_nullish(value) or value is False or value is UNKNOWN):
            message = f"Only an object can be spread into props, not {describe(value)}"
            reader.report.add(scope.module.source, node, "not-understood", message, "Spread an object.")
        return
    span = scope.module.source.span(node)
    for name, item in value.items():
        if name != "key" and item is not UNDEFINED:
            item = to_value(reader, item, node, scope) if plain and name != "children" else item
            props[name] = Prop(name, item, span)
            spread.add(name)


def _children(
    reader: Reader, opening: Node, kids: list[Node], scope: Scope, context: dict[str, Prop] | None
) -> list[Evaluated]:
    """The children between the tags. With `context` (a built-in's props) they are rendered, and a function
    among them is called with it; without, they are what a component receives."""
    out: list[Evaluated] = []
    end = opening.end_byte
    for kid in kids[1:]:
        kind_id = kid.kind_id
        if kind_id == JSX_TEXT or kind_id == JSX_ENTITY:
            continue
        # Text is what lies between two children that are not text: entities cut it into several nodes, and
        # the grammar has none for the white space between two entities.
        start = kid.start_byte
        if start > end:
            _add_text(out, end, start, scope)
        end = kid.end_byte
        if kind_id == JSX_SELF_CLOSING or kind_id == JSX_ELEMENT:
            value = element(reader, kid, scope)
            if type(value) is Element and value.name:
                out.append(value)
            else:
                _add_value(reader, out, value, kid, scope, context)
        elif kind_id == JSX_EXPRESSION:
            for inner in parts(kid):
                expression = parts(inner)[0] if inner.kind_id == SPREAD else inner
                value = evaluate(reader, expression, scope)
                _add_value(reader, out, value, expression, scope, context)
    return out


def _add_value(
    reader: Reader,
    out: list[Evaluated],
    value: Evaluated,
    node: Node,
    scope: Scope,
    context: dict[str, Prop] | None,
) -> None:
    if context is None:
        out.append(value)
        return
    if isinstance(value, Function):
        about = JsObject({name: prop.value for name, prop in context.items()})
        value = call_function(reader, value, [about], node, scope)
    render(reader, out, value, node, scope)


def _add_text(out: list[Evaluated], start: int, end: int, scope: Scope) -> None:
    raw = scope.data[start:end]
    if raw.isspace() and b"\n" in raw:
        return  # layout: JSX drops white space that has a line break in it
    span = scope.module.source.span_at(start + len(raw) - len(raw.lstrip()))
    text = raw.decode()
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if "&" not in text:
        out.append(Text(text, span))
        return
    out.extend(Text(piece, span, spelled) for piece, spelled in split_entities(text))
