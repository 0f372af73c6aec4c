"""Local components: what they are given, and that nothing given is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.element import Prop
from headcount.compiler.report import did_you_mean
from headcount.compiler.tsx.expressions import field, parts
from headcount.compiler.tsx.functions import call_function, parameters, pattern_of
from headcount.compiler.tsx.grammar import (
    FIELD_KEY,
    FIELD_LEFT,
    OBJECT_ASSIGNMENT_PATTERN,
    OBJECT_PATTERN,
    PAIR_PATTERN,
    REST_PATTERN,
)
from headcount.compiler.tsx.values import UNDEFINED, Children, Props

if TYPE_CHECKING:
    from tree_sitter import Node

    from headcount.compiler.tsx.reader import Reader
    from headcount.compiler.tsx.scope import Scope
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
    names: list[str] = []
    for item in parts(pattern):
        if item.kind_id == REST_PATTERN:
            return None
        if item.kind_id == PAIR_PATTERN:
            item = field(item, FIELD_KEY)
        elif item.kind_id == OBJECT_ASSIGNMENT_PATTERN:
            item = field(item, FIELD_LEFT)
        names.append(component.scope.module.source.name(item))
    return names


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
