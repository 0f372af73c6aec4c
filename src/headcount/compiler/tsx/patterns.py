"""Destructuring, in parameters and in declarations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.element import UNKNOWN
from headcount.compiler.tsx.evaluate import evaluate, not_understood
from headcount.compiler.tsx.expressions import field, parts, property_key
from headcount.compiler.tsx.grammar import (
    ARRAY_PATTERN,
    ASSIGNMENT_PATTERN,
    COMMENT,
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
    TOKEN_COMMA,
)
from headcount.compiler.tsx.members import member
from headcount.compiler.tsx.values import UNDEFINED, Children, JsObject, Props, describe

if TYPE_CHECKING:
    from tree_sitter import Node

    from headcount.compiler.tsx.reader import Reader
    from headcount.compiler.tsx.scope import Scope
    from headcount.compiler.tsx.values import Evaluated


def bind(reader: Reader, pattern: Node, value: Evaluated, scope: Scope) -> None:
    """Binds the names in `pattern`, in `scope`, to the parts of `value`."""
    kind_id = pattern.kind_id
    if kind_id in (IDENTIFIER, SHORTHAND_PATTERN):
        scope.names[scope.module.source.name(pattern)] = value
    elif kind_id in (ASSIGNMENT_PATTERN, OBJECT_ASSIGNMENT_PATTERN):
        if value is UNDEFINED:
            value = evaluate(reader, field(pattern, FIELD_RIGHT), scope)
        bind(reader, field(pattern, FIELD_LEFT), value, scope)
    elif kind_id == OBJECT_PATTERN:
        _bind_object(reader, pattern, value, scope)
    elif kind_id == ARRAY_PATTERN:
        _bind_array(reader, pattern, value, scope)
    else:
        not_understood(reader, pattern, scope)


def names_in(pattern: Node, scope: Scope) -> list[str]:
    """The names that a pattern binds, without evaluating anything."""
    names: list[str] = []
    pending = [pattern]
    while pending:
        node = pending.pop()
        kind_id = node.kind_id
        if kind_id in (IDENTIFIER, SHORTHAND_PATTERN):
            names.append(scope.module.source.name(node))
        elif kind_id in (ASSIGNMENT_PATTERN, OBJECT_ASSIGNMENT_PATTERN):
            pending.append(field(node, FIELD_LEFT))
        elif kind_id == PAIR_PATTERN:
            pending.append(field(node, FIELD_VALUE))
        else:
            pending.extend(node.named_children)
    return names


def _bind_object(reader: Reader, pattern: Node, value: Evaluated, scope: Scope) -> None:
    taken: set[str] = set()
    for item in parts(pattern):
        kind_id = item.kind_id
        if kind_id == REST_PATTERN:
            bind(reader, parts(item)[0], _rest(value, taken), scope)
            continue
        target = field(item, FIELD_VALUE) if kind_id == PAIR_PATTERN else item
        name_node = field(item, FIELD_KEY) if kind_id == PAIR_PATTERN else item
        if kind_id == OBJECT_ASSIGNMENT_PATTERN:
            name_node = field(item, FIELD_LEFT)
        key = property_key(reader, name_node, scope)
        if key is UNKNOWN:
            bind(reader, target, UNKNOWN, scope)
            continue
        taken.add(key)
        has_default = kind_id == OBJECT_ASSIGNMENT_PATTERN or target.kind_id == ASSIGNMENT_PATTERN
        bind(reader, target, _take(reader, value, key, has_default, name_node, scope), scope)


def _take(
    reader: Reader, value: Evaluated, key: str, has_default: bool, node: Node, scope: Scope
) -> Evaluated:
    if has_default and isinstance(value, JsObject):
        return value.get(key, UNDEFINED)
    return member(reader, value, key, node, scope)


def _rest(value: Evaluated, taken: set[str]) -> Evaluated:
    if not isinstance(value, JsObject):
        return UNKNOWN
    rest = Props() if isinstance(value, Props) else JsObject()
    rest.update((key, item) for key, item in value.items() if key not in taken)
    return rest


def _bind_array(reader: Reader, pattern: Node, value: Evaluated, scope: Scope) -> None:
    if value is not UNKNOWN and type(value) not in (tuple, Children):
        message = f"Only an array can be taken apart with [ ], not {describe(value)}"
        value = reader.report.add(
            scope.module.source, pattern, "not-understood", message, "Use { } or a member."
        )
    index = 0
    for child in pattern.children[1:-1]:
        if child.kind_id == TOKEN_COMMA:
            index += 1
        elif child.kind_id == REST_PATTERN:
            bind(reader, parts(child)[0], value if value is UNKNOWN else tuple(value[index:]), scope)
        elif child.kind_id != COMMENT:
            bind(reader, child, _item(value, index), scope)


def _item(value: Evaluated, index: int) -> Evaluated:
    if value is UNKNOWN:
        return UNKNOWN
    return value[index] if index < len(value) else UNDEFINED
