"""Local components: what they are given, and that nothing given is lost."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headcount.compiler.element import Prop
from headcount.compiler.report import did_you_mean
from headcount.compiler.tsx.expressions import field, parts
from headcount.compiler.tsx.functions import call_function, parameters, pattern_of
from headcount.compiler.tsx.grammar import (
    FIELD_BODY,
    FIELD_KEY,
    FIELD_LEFT,
    FIELD_RIGHT,
    FIELD_VALUE,
    IDENTIFIER,
    OBJECT_ASSIGNMENT_PATTERN,
    OBJECT_PATTERN,
    PAIR_PATTERN,
    REST_PATTERN,
    SHORTHAND_PATTERN,
)
from headcount.compiler.tsx.values import UNDEFINED, Children, Props

if TYPE_CHECKING:
    from tree_sitter import Node

    from headcount.compiler.tsx.reader import Reader
    from headcount.compiler.tsx.scope import Scope
    from headcount.compiler.tsx.source import SourceFile
    from headcount.compiler.tsx.values import Evaluated, Function


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
    accepted = _accepted(component)
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
    pattern = pattern_of(given[0])
    if pattern.kind_id != OBJECT_PATTERN:
        return _mentioned(component, pattern)
    source = component.scope.module.source
    body = source.text(field(component.node, FIELD_BODY)) + _defaults(source, pattern)
    names: list[str] = []
    for item in parts(pattern):
        if item.kind_id == REST_PATTERN:
            return None
        target = field(item, FIELD_VALUE) if item.kind_id == PAIR_PATTERN else item
        if item.kind_id == PAIR_PATTERN:
            item = field(item, FIELD_KEY)
        elif item.kind_id == OBJECT_ASSIGNMENT_PATTERN:
            item = target = field(item, FIELD_LEFT)
        # A name that the body never mentions takes its value and loses it.
        plain = target.kind_id in (IDENTIFIER, SHORTHAND_PATTERN)
        if not plain or "\\" in body or _mentions(body, source.name(target)):
            names.append(source.name(item))
    return names


def _defaults(source: SourceFile, pattern: Node) -> str:
    """What stands after the `=` signs of a pattern, where one prop may use another."""
    found = (item.child_by_field_id(FIELD_RIGHT) for item in parts(pattern))
    return "".join(f" {source.text(node)}" for node in found if node is not None)


def _mentions(body: str, name: str) -> bool:
    """Whether the text has the name as a word of its own."""
    return re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", body) is not None


def _mentioned(component: Function, parameter: Node) -> list[str] | None:
    """For `props => …`: the words after `props.`, unless `props` is also used as a whole."""
    source = component.scope.module.source
    body = source.data[parameter.end_byte : component.node.end_byte].decode()
    pieces = body.split(source.text(parameter))
    names: list[str] = []
    for piece in pieces[1:]:
        rest = piece.lstrip("?")
        word = ""
        if rest.startswith("."):
            end = next(
                (i for i, c in enumerate(rest[1:], 1) if not (c == "$" or f"a{c}".isidentifier())), len(rest)
            )
            word = rest[1:end]
        if not word:
            return None
        names.append(word)
    return names
