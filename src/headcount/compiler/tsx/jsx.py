"""JSX elements: tags, attributes, children; and the expansion of local components."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.diagnostics import did_you_mean
from headcount.compiler.element import UNKNOWN, Element, Prop, Text
from headcount.compiler.tsx.children import BLANKS, is_layout, render, text_children, to_value
from headcount.compiler.tsx.evaluate import evaluate, handles, too_deep, too_many
from headcount.compiler.tsx.expressions import field, foreign, parts
from headcount.compiler.tsx.functions import call_function, parameters, pattern_of
from headcount.compiler.tsx.grammar import (
    ASSIGNMENT_PATTERN,
    COMMENT,
    ELEMENTS,
    FIELD_BODY,
    FIELD_KEY,
    FIELD_LEFT,
    FIELD_NAME,
    FIELD_PROPERTY,
    FIELD_RIGHT,
    FIELD_VALUE,
    IDENTIFIER,
    JSX_ATTRIBUTE,
    JSX_CLOSING,
    JSX_ELEMENT,
    JSX_EXPRESSION,
    JSX_OPENING,
    JSX_SELF_CLOSING,
    MAX_DEPTH,
    MAX_ELEMENTS,
    MEMBER,
    OBJECT_ASSIGNMENT_PATTERN,
    OBJECT_PATTERN,
    PAIR_PATTERN,
    REST_PATTERN,
    SHORTHAND,
    SHORTHAND_PATTERN,
    SPREAD,
    STRING,
    TEXTS,
    TYPE_ARGUMENTS,
)
from headcount.compiler.tsx.literals import decode_entities
from headcount.compiler.tsx.syntax import check_closing
from headcount.compiler.tsx.values import (
    MISSING,
    UNDEFINED,
    BuiltIn,
    Children,
    Foreign,
    Function,
    JsObject,
    Props,
    describe,
    is_nullish,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tree_sitter import Node

    from headcount.compiler.tsx.reader import Reader
    from headcount.compiler.tsx.source import SourceFile
    from headcount.compiler.tsx.values import Evaluated, Scope

TAGS = frozenset((JSX_OPENING, JSX_CLOSING, JSX_SELF_CLOSING))


@handles("jsx_element", "jsx_self_closing_element")
def element(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    """A built-in or HTML element as such; a local component as what it returns; a fragment without a name."""
    depth = reader.depth = reader.depth + 1
    if depth > MAX_DEPTH:
        raise too_deep(reader, node, scope)
    reader.made += 1
    if reader.made > MAX_ELEMENTS:
        raise too_many(reader, node, scope, "elements", MAX_ELEMENTS)
    kids: list[Node] = node.named_children if node.kind_id == JSX_ELEMENT else []
    opening = kids[0] if kids else node
    name = opening.child_by_field_id(FIELD_NAME)
    tag = "" if name is None else scope.module.source.text(name)
    if kids:
        closing = kids[-1]
        module = scope.module
        start = closing.start_byte
        module.tags.add(start)
        if module.source.data[start : closing.end_byte].decode() != f"</{tag}>":
            check_closing(module.source, opening, closing, reader.report)
    target = _target(reader, tag, opening, scope)
    if type(target) is str:
        props = _attributes(reader, opening.named_children, scope, True)
        given = props.pop("children", None)
        children = _children(reader, opening, kids, scope, props.values()) if kids else []
        if given is not None and not children:
            render(reader, children, given.value, node, scope)
        value = Element(target, tuple(props.values()), tuple(children), scope.module.source.span(node))
    else:
        value = _other(reader, target, node, opening, kids, scope)
    reader.depth = depth - 1
    return value


def _target(reader: Reader, tag: str, opening: Node, scope: Scope) -> Evaluated:
    """What a tag names: a built-in's or HTML element's name, or a component's function."""
    if "." in tag:
        value = evaluate(reader, opening.named_children[0], scope)
    elif not tag or "a" <= tag[0] <= "z":
        return tag
    else:
        value = scope.find(reader, tag)
        if value is MISSING:
            return tag
    return value.name if type(value) is BuiltIn else value


def _other(
    reader: Reader,
    target: Evaluated,
    node: Node,
    opening: Node,
    kids: list[Node],
    scope: Scope,
) -> Evaluated:
    inside = opening.named_children
    if isinstance(target, Function):
        given = _attributes(reader, inside, scope, False)
        children = _children(reader, opening, kids, scope, None)
        return expand(reader, target, given, children, node, scope)
    name = scope.module.source.text(inside[0])
    if isinstance(target, Foreign):
        return foreign(reader, name, target, inside[0], scope)
    if target is UNKNOWN:
        return UNKNOWN
    message = f"<{name}> is {describe(target)}, not a component"
    hint = "A component is a function that returns elements, or a built-in."
    return reader.report.add(scope.module.source, inside[0], "not-a-component", message, hint)


def _attributes(reader: Reader, inside: list[Node], scope: Scope, plain: bool) -> dict[str, Prop]:
    """The attributes by name, in source order; `plain` turns them into values that may leave the reader."""
    props: dict[str, Prop] = {}
    source = scope.module.source
    for node in inside[1:]:
        if node.kind_id != JSX_ATTRIBUTE:
            _spread_attributes(reader, node, scope, props, plain)
            continue
        pair = parts(node)
        name = source.text(pair[0])
        value = _attribute_value(reader, pair[-1], scope) if len(pair) > 1 else True
        if plain and name != "children":
            if value is UNDEFINED:
                continue
            value = to_value(reader, value, pair[-1], scope)
        if name == "key":
            continue
        props[name] = Prop(name, value, source.span(node))
    return props


def _attribute_value(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    kind_id = node.kind_id
    if kind_id == STRING:
        # Entities mean something in these strings, backslashes do not.
        text = scope.data[node.start_byte + 1 : node.end_byte - 1].decode()
        return decode_entities(text.replace("\r\n", "\n"))
    if kind_id != JSX_EXPRESSION:
        return evaluate(reader, node, scope)
    return evaluate(reader, parts(node)[0], scope)


def _spread_attributes(reader: Reader, node: Node, scope: Scope, props: dict[str, Prop], plain: bool) -> None:
    """`{...props}`: as in JavaScript, a later value replaces an earlier one, which keeps its place."""
    if node.kind_id in (COMMENT, TYPE_ARGUMENTS):
        return
    value = evaluate(reader, parts(parts(node)[0])[0], scope)
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


def _children(
    reader: Reader, opening: Node, kids: list[Node], scope: Scope, context: Iterable[Prop] | None
) -> list[Evaluated]:
    """The children between the tags. With `context` (a built-in's props) they are rendered, and a function
    among them is called with it; without, they are what a component receives."""
    out: list[Evaluated] = []
    data = scope.data
    end = opening.end_byte
    broken = False
    for kid in kids[1:]:
        kind_id = kid.kind_id
        if kind_id in TEXTS:
            continue
        # Text is what lies between two children that are not text: entities cut it into several nodes, and
        # the grammar has none for the white space between two entities.
        start = kid.start_byte
        if start > end:
            raw = data[end:start].decode()
            broken = is_layout(raw) or (broken and not raw.strip(BLANKS))
            if not is_layout(raw):
                blanks = len(raw) - len(raw.lstrip(BLANKS))
                out.extend(text_children(raw, scope.module.source.span_at(end + blanks)))
        end = kid.end_byte
        before = len(out)
        if kind_id in ELEMENTS:
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
        if broken and len(out) > before:
            if before and (_is_string(out[before - 1]) or _is_string(out[before])):
                out.insert(before, Text("", scope.module.source.span(kid), True))
            broken = False
    return out


def _is_string(value: Evaluated) -> bool:
    """Whether a child is text that an expression gave."""
    if isinstance(value, Text):
        return value.verbatim
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def _add_value(
    reader: Reader,
    out: list[Evaluated],
    value: Evaluated,
    node: Node,
    scope: Scope,
    context: Iterable[Prop] | None,
) -> None:
    if context is None:
        out.append(value)
        return
    if isinstance(value, Function):
        about = JsObject({prop.name: prop.value for prop in context})
        value = call_function(reader, value, [about], node, scope)
    render(reader, out, value, node, scope)


# --- components ------------------------------------------------------------------------------------------
#
# Local components: what they are given, and that nothing given is lost.


def expand(
    reader: Reader,
    component: Function,
    given: dict[str, Prop],
    children: list[Evaluated],
    node: Node,
    scope: Scope,
) -> Evaluated:
    """What the component returns for these props and children."""
    if children:
        value = children[0] if len(children) == 1 else Children(children)
        given["children"] = Prop("children", value, scope.module.source.span(node))
    _report_lost(reader, component, given)
    props = Props({name: prop.value for name, prop in given.items()})
    return call_function(reader, component, [props], node, scope)


def _report_lost(reader: Reader, component: Function, given: dict[str, Prop]) -> None:
    if component.accepted is MISSING:
        component.accepted = _accepted(component)
    accepted: list[str] | None = component.accepted
    if accepted is None:
        return
    for prop in given.values():
        name = prop.name
        value: Evaluated = prop.value
        if name in accepted or value is UNDEFINED:
            continue
        what = "children" if name == "children" else f"prop {name}"
        message = f"{component.name or 'This component'} does not use its {what}"
        hint = f"Add {name} to its parameters, or leave it out."
        if accepted and name != "children":
            hint = did_you_mean(name, accepted)
        reader.report.add_at(prop.span, "unknown-prop", message, hint, name)


def _accepted(component: Function) -> list[str] | None:
    """The props that a component reads; None when it may read any."""
    given = parameters(component.node)
    if not given:
        return []
    source = component.scope.module.source
    pattern = pattern_of(given[0])
    uses = _uses(component.node, pattern)
    if pattern.kind_id == OBJECT_PATTERN:
        return _taken(source, pattern, {source.name(use) for use in uses})
    names: list[str] = []
    for use in uses:
        if source.name(use) != source.name(pattern):
            continue
        around = use.parent
        target = None if around is None else around.child_by_field_id(FIELD_NAME)
        read: list[str] | None = None
        if around is not None and around.kind_id == MEMBER:
            read = [source.name(field(around, FIELD_PROPERTY))]
        elif target is not None and target.kind_id == OBJECT_PATTERN:
            read = _taken(source, target, {source.name(each) for each in uses})
        if read is None:
            return None
        names += read
    return names


def _taken(source: SourceFile, pattern: Node, used: set[str]) -> list[str] | None:
    """The keys that a pattern takes into names that are used; None when it takes all others, too."""
    names: list[str] = []
    for item in parts(pattern):
        key = target = item
        if item.kind_id == REST_PATTERN:
            if source.name(parts(item)[0]) in used:
                return None
            continue
        if item.kind_id == PAIR_PATTERN:
            key, target = field(item, FIELD_KEY), field(item, FIELD_VALUE)
        elif item.kind_id == OBJECT_ASSIGNMENT_PATTERN:
            key = target = field(item, FIELD_LEFT)
        if target.kind_id == ASSIGNMENT_PATTERN:
            target = field(target, FIELD_LEFT)
        if target.kind_id not in (IDENTIFIER, SHORTHAND_PATTERN) or source.name(target) in used:
            names.append(source.name(key))
    return names


def _uses(function: Node, pattern: Node) -> list[Node]:
    """The names that are read in a function's body, and in the defaults of its parameter. The tag of an HTML
    element is not a name."""
    found: list[Node] = []
    defaults = [item.child_by_field_id(FIELD_RIGHT) for item in parts(pattern)]
    pending = [field(function, FIELD_BODY), *(node for node in defaults if node is not None)]
    while pending:
        node = pending.pop()
        if node.kind_id in (IDENTIFIER, SHORTHAND):
            found.append(node)
        children = node.named_children
        if node.kind_id in TAGS and children and children[0].kind_id == IDENTIFIER:
            tag = children.pop(0)
            if not (tag.text or b"")[:1].islower():
                found.append(tag)
        pending.extend(children)
    return found
