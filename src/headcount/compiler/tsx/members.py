"""`a.b` and `a['b']` of constants, refs, enums, arrays, pipelines and modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.element import UNKNOWN, TaskRef, TeamRef, WorkerRef
from headcount.compiler.report import did_you_mean
from headcount.compiler.tsx.evaluate import evaluate, handles
from headcount.compiler.tsx.expressions import field, foreign
from headcount.compiler.tsx.grammar import FIELD_INDEX, FIELD_OBJECT, FIELD_OPTIONAL_CHAIN, FIELD_PROPERTY
from headcount.compiler.tsx.scope import MISSING
from headcount.compiler.tsx.text import to_text
from headcount.compiler.tsx.values import (
    UNDEFINED,
    Children,
    EnumObject,
    Foreign,
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

REF_MEMBERS = {
    TaskRef: ("subject", "name"),
    WorkerRef: ("name", "type", "model", "agent", "role", "workspace"),
    TeamRef: ("name", "members"),
}


@handles("member_expression")
def member_expression(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    value = evaluate(reader, field(node, FIELD_OBJECT), scope)
    name = scope.module.source.text(field(node, FIELD_PROPERTY))
    return _access(reader, value, name, node, scope)


@handles("subscript_expression")
def subscript_expression(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    value = evaluate(reader, field(node, FIELD_OBJECT), scope)
    index = evaluate(reader, field(node, FIELD_INDEX), scope)
    if index is UNKNOWN:
        return UNKNOWN
    if isinstance(index, int) and not isinstance(index, bool) and type(value) in (tuple, Children):
        return value[index] if 0 <= index < len(value) else _no_item(reader, index, value, node, scope)
    key = to_text(reader, index, node, scope)
    return UNKNOWN if key is UNKNOWN else _access(reader, value, key, node, scope)


def _access(reader: Reader, value: Evaluated, name: str, node: Node, scope: Scope) -> Evaluated:
    if is_nullish(value) and node.child_by_field_id(FIELD_OPTIONAL_CHAIN) is not None:
        return UNDEFINED
    return member(reader, value, name, node, scope)


def member(reader: Reader, value: Evaluated, name: str, node: Node, scope: Scope) -> Evaluated:
    """The member `name` of `value`. One that is not there is a mistake, unless it is an optional prop."""
    if value is UNKNOWN:
        return UNKNOWN
    if isinstance(value, JsObject):
        if name in value:
            return value[name]
        if isinstance(value, Props) or name in value.shape:
            return UNDEFINED
    found = _other_member(reader, value, name)
    if found is MISSING:
        return _no_member(reader, value, name, node, scope)
    if type(found) is Foreign:
        return foreign(reader, name, found, node, scope)
    return found


def _other_member(reader: Reader, value: Evaluated, name: str) -> Evaluated:
    names = REF_MEMBERS.get(type(value))
    if names is not None:
        return _ref_member(value, name, names)
    if type(value) in (tuple, Children):
        return len(value) if name == "length" else MISSING
    exported = getattr(value, "exported", None)
    return MISSING if exported is None else exported(reader, name)


def _ref_member(ref: Evaluated, name: str, names: tuple[str, ...]) -> Evaluated:
    if name == "__id":
        return str(ref.uid)
    if name not in names:
        return MISSING
    value = getattr(ref, name)
    return UNDEFINED if value is None else value


def _no_member(reader: Reader, value: Evaluated, name: str, node: Node, scope: Scope) -> Evaluated:
    known = list(value) if isinstance(value, JsObject) else list(REF_MEMBERS.get(type(value), ()))
    who = value.name if isinstance(value, EnumObject) else describe(value).capitalize()
    hint = did_you_mean(name, known) if known else "Write the value here."
    code = "unknown-enum-member" if isinstance(value, EnumObject) else "unknown-member"
    return reader.report.add(scope.module.source, node, code, f"{who} has no member {name}", hint)


def _no_item(reader: Reader, index: int, value: Evaluated, node: Node, scope: Scope) -> Evaluated:
    message = f"There is no item {index} in an array of {len(value)}"
    hint = "The first item is 0."
    return reader.report.add(scope.module.source, node, "unknown-member", message, hint)
