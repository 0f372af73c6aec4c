"""`a.b` and `a['b']` of constants, refs, enums, arrays, pipelines and modules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headcount.compiler.element import UNKNOWN, TaskRef, TeamRef, WorkerRef
from headcount.compiler.report import did_you_mean
from headcount.compiler.tsx.evaluate import evaluate, handles, too_deep
from headcount.compiler.tsx.expressions import field, foreign
from headcount.compiler.tsx.grammar import CALL, FIELD_INDEX, FIELD_OBJECT, FIELD_PROPERTY, MEMBER, SUBSCRIPT
from headcount.compiler.tsx.limits import MAX_DEPTH
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


class Skipped:
    """What a chain gives after `?.` met null: the rest of the chain is not evaluated."""

    __slots__ = ()


SKIPPED: Final = Skipped()
CHAINS: Final = frozenset((MEMBER, SUBSCRIPT, CALL))


def unskipped(value: Evaluated) -> Evaluated:
    return UNDEFINED if value is SKIPPED else value


def chained(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    """The value of a chain's inner part, which may be SKIPPED; parentheses end a chain."""
    if node.kind_id not in CHAINS:
        return evaluate(reader, node, scope)
    reader.depth += 1
    if reader.depth > MAX_DEPTH:
        raise too_deep(reader, node, scope)
    if node.kind_id == CALL:
        from headcount.compiler.tsx.functions import call_chain

        value = call_chain(reader, node, scope)
    else:
        value = _member_chain(reader, node, scope)
    reader.depth -= 1
    return value


@handles("member_expression", "subscript_expression")
def member_expression(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    return unskipped(_member_chain(reader, node, scope))


def _member_chain(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    value = chained(reader, field(node, FIELD_OBJECT), scope)
    if value is SKIPPED or skips(value, node):
        return SKIPPED
    if node.kind_id == MEMBER:
        return member(reader, value, scope.module.source.name(field(node, FIELD_PROPERTY)), node, scope)
    index = evaluate(reader, field(node, FIELD_INDEX), scope)
    if index is UNKNOWN:
        return UNKNOWN
    if isinstance(index, int) and not isinstance(index, bool):
        if type(value) in (tuple, Children):
            return value[index] if 0 <= index < len(value) else _no_item(reader, index, value, node, scope)
        if type(value) is str:
            return value[index] if 0 <= index < len(value) else UNDEFINED
    key = to_text(reader, index, node, scope)
    return UNKNOWN if key is UNKNOWN else member(reader, value, key, node, scope)


def skips(value: Evaluated, node: Node) -> bool:
    """Whether `?.` of this member or call ends the chain here."""
    return is_nullish(value) and any(child.type in ("?.", "optional_chain") for child in node.children)


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
    if isinstance(value, str):
        return len(value.encode("utf-16-le", "surrogatepass")) // 2 if name == "length" else MISSING
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
