"""Literals, operators, arrays, objects, members: expressions that need no call and make no element."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.element import UNKNOWN
from headcount.compiler.tsx.children import join, to_text
from headcount.compiler.tsx.evaluate import evaluate, handles, not_understood, too_many
from headcount.compiler.tsx.grammar import (
    BINARY,
    COMMENT,
    COMPUTED_NAME,
    FIELD_ALTERNATIVE,
    FIELD_ARGUMENT,
    FIELD_CONDITION,
    FIELD_CONSEQUENCE,
    FIELD_KEY,
    FIELD_LEFT,
    FIELD_OPERATOR,
    FIELD_RIGHT,
    FIELD_VALUE,
    IDENTIFIER,
    LEADING,
    MAX_ITEMS,
    NUMBER,
    PAIR,
    SHORTHAND,
    SPREAD,
    STRING,
    TEMPLATE_SUBSTITUTION,
    TOKEN_COMMA,
    UNARY,
)
from headcount.compiler.tsx.literals import BadLiteral, add_numbers, cook_template, parse_number, unescape
from headcount.compiler.tsx.methods import GLOBALS
from headcount.compiler.tsx.operators import NotDefined, apply_binary, type_name
from headcount.compiler.tsx.values import (
    MISSING,
    UNDEFINED,
    Children,
    Foreign,
    JsObject,
    PlaceholderText,
    describe,
    is_nullish,
    truthy,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from headcount.compiler.tsx.reader import Reader
    from headcount.compiler.tsx.values import Evaluated, Scope

# Names that every JavaScript has, and that are never evaluated.
NEVER_EVALUATED = frozenset(
    ("Array", "Date", "JSON", "Math", "Number", "Promise", "console", "process", "require")
)


def parts(node: Node) -> list[Node]:
    """The named children of a node without comments, which may stand anywhere."""
    children = node.named_children
    for child in children:
        if child.kind_id == COMMENT:
            return [child for child in children if child.kind_id != COMMENT]
    return children


def field(node: Node, number: int) -> Node:
    """A field that the grammar promises."""
    child = node.child_by_field_id(number)
    if child is None:
        raise LookupError(f"{node.type} has no field {number}")
    return child


@handles("string")
def string(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    raw = scope.data[node.start_byte + 1 : node.end_byte - 1].decode()
    if "\\" not in raw:
        return raw
    try:
        return unescape(raw)
    except BadLiteral as error:
        return _bad_literal(reader, node, scope, error)


@handles("template_string")
def template_string(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    """Text is cut from between the substitutions; what an unbound `${name}` becomes, see `text`."""
    pieces: list[Evaluated] = []
    start = node.start_byte + 1
    try:
        for child in node.named_children:
            if child.kind_id == TEMPLATE_SUBSTITUTION:
                pieces.append(cook_template(scope.data[start : child.start_byte].decode()))
                pieces.append(_substitution(reader, child, scope))
                start = child.end_byte
        pieces.append(cook_template(scope.data[start : node.end_byte - 1].decode()))
    except BadLiteral as error:
        return _bad_literal(reader, node, scope, error)
    return pieces[0] if len(pieces) == 1 else join(reader, pieces, node, scope)


def _substitution(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    inner = parts(node)
    if len(inner) != 1:
        return not_understood(reader, node, scope)
    expression = inner[0]
    name = _root_name(expression, scope)
    if name and not scope.binds(name) and name not in GLOBALS:
        # The substitution as it was written, for the reader of a prompt.
        text = PlaceholderText(scope.module.source.text(node))
        text.unbound = ((name, scope, node),)
        reader.has_placeholders = True
        return text
    value = evaluate(reader, expression, scope)
    return to_text(reader, value, expression, scope)


def _root_name(node: Node, scope: Scope) -> str:
    """The name that an expression begins with: `a` in `a`, `a.b`, `a[0]`, `a(x)`, `a ? b : c`, `a?.b`."""
    while node.kind_id != IDENTIFIER:
        first = node.child_by_field_id(FIELD_OPERATOR) if node.kind_id == UNARY else None
        inner = parts(node)
        if not inner or (node.kind_id not in LEADING and first is None):
            return ""
        node = inner[0]
    return scope.module.source.name(node)


def _bad_literal(reader: Reader, node: Node, scope: Scope, error: BadLiteral) -> Evaluated:
    message = f"This literal has no value: {error}"
    return reader.report.add(scope.module.source, node, "bad-literal", message, "Write the character itself.")


@handles("number")
def number(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    try:
        return parse_number(scope.module.source.text(node))
    except (BadLiteral, ValueError) as error:
        hint = "Write a decimal number."
        message = f"This number is not understood: {error}"
        return reader.report.add(scope.module.source, node, "bad-literal", message, hint)


@handles("true")
def true(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    return True


@handles("false")
def false(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    return False


@handles("null")
def null(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    return None


@handles("undefined")
def undefined(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    return UNDEFINED


@handles("identifier", "shorthand_property_identifier")
def identifier(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    name = scope.module.source.name(node)
    value = scope.find(reader, name)
    if value is MISSING:
        value = GLOBALS.get(name, MISSING)
    if value is MISSING:
        from headcount.compiler.tsx.factories import VALUE_NAMES

        hint = f"Declare it with `const {name} = …`, or import it."
        if name in VALUE_NAMES:
            hint = f"Add {name} to the import from 'react-agentic'."
        elif name in NEVER_EVALUATED:
            hint = "Definitions are read, never executed: write the value."
        return reader.report.add(scope.module.source, node, "unbound-name", f"{name} is not defined", hint)
    if type(value) is Foreign:
        return foreign(reader, name, value, node, scope)
    return value


def foreign(reader: Reader, name: str, value: Foreign, node: Node, scope: Scope) -> Evaluated:
    message = f"{name} comes from '{value.package}', which is not read"
    hint = (
        "Only local files and 'react-agentic', 'react-agentic/swarm', 'headcount' are: write the value here."
    )
    return reader.report.add(scope.module.source, node, "foreign-import", message, hint)


@handles("parenthesized_expression", "as_expression", "satisfies_expression", "non_null_expression")
def wrapper(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    """Parentheses and casts mean what they enclose; a type that follows is for the type checker."""
    return evaluate(reader, parts(node)[0], scope)


@handles("ternary_expression")
def ternary(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    condition = evaluate(reader, field(node, FIELD_CONDITION), scope)
    if condition is UNKNOWN:
        return UNKNOWN
    branch = FIELD_CONSEQUENCE if truthy(condition) else FIELD_ALTERNATIVE
    return evaluate(reader, field(node, branch), scope)


@handles("unary_expression")
def unary(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    operator = field(node, FIELD_OPERATOR).type
    if operator not in ("-", "!", "+", "typeof", "void"):
        return not_understood(reader, node, scope)
    value = evaluate(reader, field(node, FIELD_ARGUMENT), scope)
    if value is UNKNOWN:
        return UNKNOWN
    if operator == "!":
        return not truthy(value)
    if operator == "typeof":
        return type_name(value)
    if operator == "void":
        return UNDEFINED
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return _wrong_operand(reader, operator, value, node, scope)
    return -value if operator == "-" and value else value


@handles("binary_expression")
def binary(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    """The left spine of `a + b + c + …` is walked, not recursed into: such chains are long."""
    chain: list[Node] = []
    leftmost = node
    while leftmost.kind_id == BINARY:
        chain.append(leftmost)
        leftmost = field(leftmost, FIELD_LEFT)
    value = evaluate(reader, leftmost, scope)
    for link in reversed(chain):
        value = _apply(reader, value, link, scope)
    return value


def _apply(reader: Reader, left: Evaluated, node: Node, scope: Scope) -> Evaluated:
    operator = field(node, FIELD_OPERATOR).type
    right = field(node, FIELD_RIGHT)
    if operator == "+":
        return _add(reader, left, evaluate(reader, right, scope), node, scope)
    if operator not in ("&&", "||", "??"):
        return _binary_value(reader, operator, left, evaluate(reader, right, scope), node, scope)
    if left is UNKNOWN:
        return UNKNOWN
    keep = is_nullish(left) if operator == "??" else truthy(left) == (operator == "&&")
    return evaluate(reader, right, scope) if keep else left


def _binary_value(
    reader: Reader, operator: str, left: Evaluated, right: Evaluated, node: Node, scope: Scope
) -> Evaluated:
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    for value in (left, right):
        if type(value) is PlaceholderText:
            return unbound_text(reader, value)
    try:
        return apply_binary(operator, left, right)
    except NotDefined:
        message = f"`{operator}` is not understood for {describe(left)} and {describe(right)}"
        return reader.report.add(
            scope.module.source, node, "not-understood", message, "Use it with two strings or two numbers."
        )


def unbound_text(reader: Reader, text: PlaceholderText) -> Evaluated:
    """Report that the text of a placeholder is needed and not known."""
    name, scope, node = text.unbound[0]
    hint = f"Declare {name}, or import it."
    return reader.report.add(scope.module.source, node, "unbound-name", f"{name} is not defined", hint)


def _add(reader: Reader, left: Evaluated, right: Evaluated, node: Node, scope: Scope) -> Evaluated:
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    if isinstance(left, str) or isinstance(right, str):
        pieces = [to_text(reader, value, node, scope) for value in (left, right)]
        return join(reader, pieces, node, scope)
    for value in (left, right):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return _wrong_operand(reader, "+", value, node, scope)
    return add_numbers(left, right)


def _wrong_operand(reader: Reader, operator: str, value: Evaluated, node: Node, scope: Scope) -> Evaluated:
    message = f"`{operator}` is not understood for {describe(value)}"
    return reader.report.add(
        scope.module.source, node, "not-understood", message, "Use it with strings or numbers."
    )


@handles("array")
def array(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    items: list[Evaluated] = []
    children = node.named_children
    for child in children:
        kind_id = child.kind_id
        if kind_id == IDENTIFIER:
            items.append(identifier(reader, child, scope))
        elif kind_id == SPREAD:
            items.extend(_spread_items(reader, child, scope))
        elif kind_id != COMMENT:
            items.append(evaluate(reader, child, scope))
    if node.child_count > 2 * len(children) + 1:
        _report_holes(reader, node, scope)
    if len(items) > MAX_ITEMS:
        raise too_many(reader, node, scope, "items", MAX_ITEMS)
    objects = [item for item in items if type(item) is JsObject]
    if objects:
        shape = frozenset().union(*objects)
        for item in objects:
            item.shape = shape
    return tuple(items)


def _spread_items(reader: Reader, node: Node, scope: Scope) -> tuple[Evaluated, ...]:
    value = evaluate(reader, parts(node)[0], scope)
    if isinstance(value, tuple) and type(value) in (tuple, Children):
        return value
    if value is UNKNOWN:
        return (UNKNOWN,)
    message = f"Only an array can be spread here, not {describe(value)}"
    hint = "Spread an array, or leave out the dots."
    return (reader.report.add(scope.module.source, node, "not-understood", message, hint),)


def _report_holes(reader: Reader, node: Node, scope: Scope) -> None:
    """`[a, , b]` has an undefined item in JavaScript, and is a slip in a definition."""
    after_comma = True
    for child in node.children[1:]:
        if child.kind_id == TOKEN_COMMA and after_comma:
            message = "An item is missing before this comma"
            reader.report.add(scope.module.source, child, "not-understood", message, "Remove the comma.")
        if child.kind_id != COMMENT:
            after_comma = child.kind_id == TOKEN_COMMA


@handles("object")
def object_literal(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    result = JsObject()
    for child in parts(node):
        kind_id = child.kind_id
        if kind_id == PAIR:
            key = property_key(reader, field(child, FIELD_KEY), scope)
            value = evaluate(reader, field(child, FIELD_VALUE), scope)
            if key is not UNKNOWN:
                result[key] = value
        elif kind_id == SHORTHAND:
            result[scope.module.source.name(child)] = identifier(reader, child, scope)
        elif kind_id == SPREAD:
            _spread_object(reader, result, child, scope)
        else:
            not_understood(reader, child, scope)
    return result


def property_key(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    """The key that a property name spells: `a`, `'a'`, `1` or `[expression]`."""
    if node.kind_id == COMPUTED_NAME:
        value = evaluate(reader, parts(node)[0], scope)
        return to_text(reader, value, node, scope)
    if node.kind_id == STRING:
        return string(reader, node, scope)
    if node.kind_id == NUMBER:
        return to_text(reader, number(reader, node, scope), node, scope)
    return scope.module.source.name(node)


def _spread_object(reader: Reader, result: JsObject, node: Node, scope: Scope) -> None:
    value = evaluate(reader, parts(node)[0], scope)
    if isinstance(value, JsObject):
        result.update(value)
    elif not (is_nullish(value) or value is False or value is UNKNOWN):
        message = f"Only an object can be spread here, not {describe(value)}"
        reader.report.add(scope.module.source, node, "not-understood", message, "Spread an object.")
