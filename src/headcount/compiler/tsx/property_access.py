"""Properties of values: `a.b`, `a['b']`, and destructuring.

The values are constants, refs, enums, arrays, pipelines and modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headcount.compiler.diagnostics import did_you_mean
from headcount.compiler.element import UNKNOWN, TaskRef, TeamRef, WorkerRef
from headcount.compiler.tsx.children import to_text
from headcount.compiler.tsx.evaluate import evaluate, handles, not_understood, too_deep
from headcount.compiler.tsx.expressions import field, foreign, parts, property_key
from headcount.compiler.tsx.grammar import (
    ARRAY_PATTERN,
    ASSIGNMENT_PATTERN,
    CALL,
    COMMENT,
    FIELD_INDEX,
    FIELD_KEY,
    FIELD_LEFT,
    FIELD_OBJECT,
    FIELD_PROPERTY,
    FIELD_RIGHT,
    FIELD_VALUE,
    IDENTIFIER,
    MAX_DEPTH,
    MEMBER,
    OBJECT_ASSIGNMENT_PATTERN,
    OBJECT_PATTERN,
    PAIR_PATTERN,
    REST_PATTERN,
    SHORTHAND_PATTERN,
    SUBSCRIPT,
    TOKEN_COMMA,
)
from headcount.compiler.tsx.values import (
    MISSING,
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
    from headcount.compiler.tsx.values import Evaluated, Scope

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
        known = list(value) if isinstance(value, JsObject) else list(REF_MEMBERS.get(type(value), ()))
        who = value.name if isinstance(value, EnumObject) else describe(value).capitalize()
        hint = did_you_mean(name, known) if known else "Write the value here."
        code = "unknown-enum-member" if isinstance(value, EnumObject) else "unknown-member"
        return reader.report.add(scope.module.source, node, code, f"{who} has no member {name}", hint)
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


def _no_item(reader: Reader, index: int, value: Evaluated, node: Node, scope: Scope) -> Evaluated:
    message = f"There is no item {index} in an array of {len(value)}"
    hint = "The first item is 0."
    return reader.report.add(scope.module.source, node, "unknown-member", message, hint)


# --- patterns --------------------------------------------------------------------------------------------
#
# Destructuring, in parameters and in declarations.


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
