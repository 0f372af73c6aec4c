"""Reject operators, functions, statements, classes and types that TypeScript rejects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.tsx.grammar import (
    ARROW,
    AS_EXPRESSION,
    ASSIGNMENT,
    AUGMENTED,
    BINARY,
    COMMENT,
    COMPUTED_NAME,
    ELEMENTS,
    ENUM,
    FIELD_ARGUMENT,
    FIELD_BODY,
    FIELD_LEFT,
    FIELD_NAME,
    FIELD_OPERATOR,
    FIELD_OPTIONAL_CHAIN,
    FIELD_PARAMETER,
    FIELD_PARAMETERS,
    FIELD_RIGHT,
    FIELD_VALUE,
    FUNCTION,
    FUNCTION_EXPRESSION,
    IDENTIFIER,
    MEMBER,
    NON_NULL,
    PARENTHESIZED,
    SATISFIES,
    STRING,
    SUBSCRIPT,
    TERNARY,
    TOKEN_ASYNC,
    TOKEN_COMMA,
    UNARY,
    UPDATE,
    kind,
)
from headcount.compiler.tsx.source import Problem
from headcount.compiler.tsx.valid_names import NOT_BINDABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from headcount.compiler.tsx.source import SourceFile

FUNCTIONS = frozenset(
    (
        ARROW,
        FUNCTION,
        FUNCTION_EXPRESSION,
        *map(kind, ("generator_function", "generator_function_declaration", "method_definition")),
    )
)
LOOPS = frozenset(map(kind, ("for_statement", "for_in_statement", "while_statement", "do_statement")))
SWITCH = kind("switch_statement")
ABSTRACT_CLASS = kind("abstract_class_declaration")
LABELED = kind("labeled_statement")
CASTS = frozenset((AS_EXPRESSION, SATISFIES))
# What binds less tightly than any operator, so it is an operand only in parentheses.
LOOSE = frozenset((ARROW, ASSIGNMENT, AUGMENTED, kind("yield_expression")))
ASSIGNABLE = frozenset((IDENTIFIER, MEMBER, SUBSCRIPT, PARENTHESIZED, NON_NULL, *CASTS, kind("undefined")))
# What a class cannot extend without parentheses.
NOT_EXTENDABLE = LOOSE | CASTS | {BINARY, UNARY, UPDATE, TERNARY, NON_NULL, kind("await_expression")}
# What may stand in the body of `declare module`: declarations, imports and exports.
DECLARES = ("declaration", "export_statement", "import_statement", "signature", "module", "comment")
MODULES = (kind("module"), kind("internal_module"))
FUNCTION_TYPES = frozenset((kind("function_type"), kind("constructor_type")))


def _operands(source: SourceFile, *operands: Node | None) -> Iterator[Problem]:
    for operand in operands:
        if operand is not None and operand.kind_id in LOOSE:
            text = source.excerpt(operand)
            yield Problem(operand, f"`{text}` needs parentheses here", f"Write ({text}).")


def _binary(source: SourceFile, node: Node) -> Iterator[Problem]:
    operator = node.child_by_field_id(FIELD_OPERATOR)
    if operator is None:
        return
    left, right = node.child_by_field_id(FIELD_LEFT), node.child_by_field_id(FIELD_RIGHT)
    yield from _operands(source, left, right)
    sign = operator.type
    if sign in ("+", "-") and source.data[operator.end_byte : operator.end_byte + 1] == sign.encode():
        yield Problem(operator, f"`{sign}{sign}` changes a variable", "Put a blank between the signs.")
    if sign == "<" and _ends_with_element(left):
        yield Problem(operator, "Two elements need one element around them", "Write <>…</> around both.")
    if sign == "**" and left is not None and left.kind_id == UNARY:
        yield Problem(
            left, "`**` needs parentheses around what is on its left", f"Write ({source.excerpt(left)}) ** …"
        )
    if sign not in ("??", "||", "&&"):
        return
    for side in (left, right):
        inner = None if side is None or side.kind_id != BINARY else side.child_by_field_id(FIELD_OPERATOR)
        if inner is not None and (inner.type == "??") != (sign == "??") and inner.type in ("??", "||", "&&"):
            message = f"`{inner.type}` and `{sign}` cannot be mixed without parentheses"
            yield Problem(operator, message, f"Write ({source.excerpt(side)}) {sign} …" if side else "")


def _ends_with_element(node: Node | None) -> bool:
    """Whether the last operand is an element: TypeScript takes a `<` after it for a second element."""
    while node is not None and node.kind_id not in ELEMENTS:
        node = node.named_children[-1] if node.kind_id in (BINARY, UNARY) else None
    return node is not None


def _unary(source: SourceFile, node: Node) -> Iterator[Problem]:
    yield from _operands(source, node.child_by_field_id(FIELD_ARGUMENT))


def _parenthesized(source: SourceFile, node: Node) -> Iterator[Problem]:
    for child in node.named_children:
        if child.type == "type_annotation":
            yield Problem(
                child, f"`{source.excerpt(child)}` is not expected here", "Write `as` before a type."
            )


def _postfix(source: SourceFile, node: Node) -> Iterator[Problem]:
    first = node.children[0]
    if first.kind_id in ELEMENTS:
        hint = "Put the element into parentheses."
        yield Problem(node.children[1], "An element ends with its closing tag", hint)
    if (
        first.kind_id in CASTS
        or first.kind_id == UPDATE
        or (first.kind_id == ARROW and node.kind_id != NON_NULL)
    ):
        hint = "Put what is before it into parentheses."
        yield Problem(node.children[1], f"`{source.excerpt(node.children[1])}` is not expected here", hint)


def _cast(source: SourceFile, node: Node) -> Iterator[Problem]:
    """`as` and `satisfies` begin a statement of their own when they begin a line."""
    before, word = node.children[0], node.children[1]
    yield from _operands(source, before)
    if word.type in ("as", "satisfies") and _line_breaks(source, before, word):
        yield Problem(word, f"`{word.type}` must be on the line where the value ends", "Move it up.")


def _assignment(source: SourceFile, node: Node) -> Iterator[Problem]:
    left = node.child_by_field_id(FIELD_LEFT) or node.child_by_field_id(FIELD_ARGUMENT)
    if left is not None and left.child_by_field_id(FIELD_OPTIONAL_CHAIN) is not None:
        yield Problem(left, "An optional member cannot be assigned to", "Write `.` instead of `?.`.")


def _update(source: SourceFile, node: Node) -> Iterator[Problem]:
    yield from _assignment(source, node)
    changed = node.child_by_field_id(FIELD_ARGUMENT)
    if changed is not None and changed.kind_id not in ASSIGNABLE:
        yield Problem(changed, "`++` and `--` need a variable", "Write the value itself.")


def _new(source: SourceFile, node: Node) -> Iterator[Problem]:
    target = node.child_by_field_name("constructor")
    if target is not None and target.kind_id in LOOSE:
        yield Problem(target, "`new` needs a class", "Remove it.")
    if target is not None and target.child_by_field_id(FIELD_OPTIONAL_CHAIN) is not None:
        yield Problem(target, "`new` takes no optional member", "Write `.` instead of `?.`.")


def _arrow(source: SourceFile, node: Node) -> Iterator[Problem]:
    first = node.children[0]
    generic = node.child_by_field_name("type_parameters")
    if generic is not None and generic.named_child_count == 1 and not _is_generic(generic):
        message = f"`{source.excerpt(generic)}` is a tag in a .tsx file"
        yield Problem(generic, message, "Write <T,>(…) => …, or a function.")
    arrow = next((child for child in node.children if child.type == "=>"), None)
    before = None if arrow is None else arrow.prev_sibling
    if arrow is not None and before is not None and _line_breaks(source, before, arrow):
        yield Problem(arrow, "`=>` must be on the line where the parameters end", "Move it up.")
    if first.kind_id == TOKEN_ASYNC and _line_breaks(source, first, node.children[1]):
        yield Problem(first, "The parameters must be on the line of `async`", "Remove the line break.")
    body = node.child_by_field_id(FIELD_BODY)
    if body is not None and body.type == "object":
        yield Problem(body, "Braces after `=>` hold statements", "Write ({ … }) for an object.")
    single = node.child_by_field_id(FIELD_PARAMETER)
    if single is not None and source.text(single) in NOT_BINDABLE:
        yield Problem(single, f"{source.text(single)} cannot be declared in a module", "Use another name.")


def _line_breaks(source: SourceFile, before: Node, after: Node) -> bool:
    """Whether a line ends between two nodes; see `SourceFile.span` for why their points are not used."""
    return b"\n" in source.data[before.end_byte : after.start_byte]


def _is_generic(parameters: Node) -> bool:
    """`<T,>`, `<T extends X>` and `<T = X>` cannot be tags."""
    if any(child.kind_id == TOKEN_COMMA for child in parameters.children):
        return True
    return any(
        child.type in ("constraint", "default_type") for child in parameters.named_children[0].named_children
    )


def _enclosing(node: Node, kinds: frozenset[int]) -> Node | None:
    """The innermost node around `node` of one of these kinds, within its function."""
    parent = node.parent
    while parent is not None and parent.kind_id not in kinds:
        if parent.kind_id in FUNCTIONS:
            return None
        parent = parent.parent
    return parent


def _await(source: SourceFile, node: Node) -> Iterator[Problem]:
    yield from _operands(source, *node.named_children[:1])
    around = _enclosing(node, FUNCTIONS | {ENUM})
    if around is not None and all(child.kind_id != TOKEN_ASYNC for child in around.children):
        yield Problem(node, "`await` needs an async function around it", "Write the value itself.")


def _yield(source: SourceFile, node: Node) -> Iterator[Problem]:
    around = _enclosing(node, FUNCTIONS)
    if around is None or all(child.type != "*" for child in around.children):
        yield Problem(node, "`yield` needs a generator function around it", "Write the value itself.")


def _for_in(source: SourceFile, node: Node) -> Iterator[Problem]:
    if all(child.type != "await" for child in node.children):
        return
    operator = node.child_by_field_id(FIELD_OPERATOR)
    if operator is not None and operator.type == "in":
        yield Problem(operator, "`for await` needs `of`", "Write of instead of in.")
    around = _enclosing(node, FUNCTIONS)
    if around is not None and all(child.kind_id != TOKEN_ASYNC for child in around.children):
        yield Problem(node.children[1], "`await` needs an async function around it", "Remove it.")


def _break(source: SourceFile, node: Node) -> Iterator[Problem]:
    """`break` and `continue` need a loop, or the label that they name, in the same function."""
    if not node.named_children:
        if _enclosing(node, LOOPS | {SWITCH} if node.type == "break_statement" else LOOPS) is None:
            yield Problem(node, f"`{source.excerpt(node)}` needs a loop around it", "Remove it.")
        return
    label = source.text(node.named_children[0])
    around = _enclosing(node, frozenset((LABELED,)))
    while around is not None and source.text(around.named_children[0]) != label:
        around = _enclosing(around, frozenset((LABELED,)))
    if around is None:
        yield Problem(node, f"No statement around this has the label {label}", "Remove it.")


def _return(source: SourceFile, node: Node) -> Iterator[Problem]:
    if _enclosing(node, FUNCTIONS) is None:
        yield Problem(node, "`return` needs a function around it", "Remove it, or write a function.")


def _expression_statement(source: SourceFile, node: Node) -> Iterator[Problem]:
    """A statement that begins with `class` or `function` declares something, which has a name."""
    for child in node.named_children:
        if child.type in ("class", "function_expression", "generator_function"):
            yield Problem(child, "A declaration needs a name", f"Write {child.children[0].type} Name.")


def _one_line(source: SourceFile, node: Node) -> Iterator[Problem]:
    """The first word of a declaration is a keyword only if the next word is on its line."""
    word, *rest = node.children
    if rest and _line_breaks(source, word, rest[0]):
        text = source.excerpt(word)
        yield Problem(word, f"What `{text}` declares must be on its line", "Remove the line break.")


def _ambient(source: SourceFile, node: Node) -> Iterator[Problem]:
    """What `declare` says holds elsewhere, so there is nothing to execute in it."""
    yield from _one_line(source, node)
    for module in node.named_children:
        body = module.child_by_field_id(FIELD_BODY) if module.kind_id in MODULES else None
        for statement in [] if body is None else body.named_children:
            inside = statement.child_by_field_name("declaration") or statement
            if not statement.type.endswith(DECLARES) or inside.kind_id == FUNCTION:
                yield Problem(statement, "`declare` only names types", "Remove the code.")


def _method(source: SourceFile, node: Node) -> Iterator[Problem]:
    parameters = node.child_by_field_id(FIELD_PARAMETERS)
    for child in node.children:
        wanted = {"get": 0, "set": 1}.get(child.type)
        if wanted is not None and parameters is not None and parameters.named_child_count != wanted:
            yield Problem(
                parameters, f"A {child.type} accessor takes {wanted} parameters", "Mend its parameters."
            )


def _heritage(source: SourceFile, node: Node) -> Iterator[Problem]:
    base = node.child_by_field_id(FIELD_VALUE)
    if base is not None and base.kind_id in NOT_EXTENDABLE:
        yield Problem(base, f"A class cannot extend `{source.excerpt(base)}`", "Write a name.")


def _class(source: SourceFile, node: Node) -> Iterator[Problem]:
    if node.children[0].type == "abstract":
        yield from _one_line(source, node)
    body = node.child_by_field_id(FIELD_BODY)
    for child in [] if body is None else body.children:
        if child.type == "abstract_method_signature" and node.kind_id != ABSTRACT_CLASS:
            yield Problem(child, "Only an abstract class has abstract methods", "Write abstract class.")
        elif child.kind_id == TOKEN_COMMA:
            yield Problem(child, "Members of a class are not separated by commas", "Write a semicolon.")


def _class_field(source: SourceFile, node: Node) -> Iterator[Problem]:
    """`!` promises a value that comes later, so the field has a type, and neither a value nor `static`."""
    words = {child.type for child in node.children}
    lacks_type = node.child_by_field_name("type") is None
    if "!" in words and (lacks_type or words & {"declare", "static", "abstract"} or _has_value(node)):
        yield Problem(node, "`!` is not expected in this field", "Remove the `!`.")


def _has_value(node: Node) -> bool:
    return node.child_by_field_id(FIELD_VALUE) is not None


def _enum_body(source: SourceFile, node: Node) -> Iterator[Problem]:
    for child in node.named_children:
        name = child.child_by_field_id(FIELD_NAME) or child
        inner = name.named_children[0] if name.kind_id == COMPUTED_NAME and name.named_children else None
        if name.kind_id == COMPUTED_NAME and (inner is None or inner.kind_id != STRING):
            yield Problem(name, "A member of an enum needs a fixed name", "Write the name itself.")


def _members(source: SourceFile, node: Node) -> Iterator[Problem]:
    """A separator follows a member of the type. `{|` is Flow's."""
    if node.children[0].type != "{":
        yield Problem(node.children[0], "`{|` does not begin a type", "Write {.")
    separated = True
    for child in node.children[1:-1]:
        if child.type in (",", ";"):
            if separated:
                yield Problem(child, "A member is missing before this", "Remove the sign.")
            separated = True
        elif child.kind_id != COMMENT:
            separated = False


def _type(source: SourceFile, node: Node) -> Iterator[Problem]:
    """`|A` and `&A` are types; `||A`, `&&A` and `&() => A` are not."""
    for part in node.named_children:
        if part.kind_id in FUNCTION_TYPES:
            yield Problem(part, "A function type needs parentheses here", "Write ((…) => …).")
    if node.child_count < 3 and node.parent is not None and node.parent.kind_id == node.kind_id:
        yield Problem(node, f"`{source.excerpt(node)}` is not a type", "Remove one of the signs.")


def _type_arguments(source: SourceFile, node: Node) -> Iterator[Problem]:
    last = [child for child in node.children if child.kind_id != COMMENT][-2]
    if last.kind_id == TOKEN_COMMA:
        yield Problem(last, "No comma may follow the last type argument", "Remove the comma.")


def _array_type(source: SourceFile, node: Node) -> Iterator[Problem]:
    if _line_breaks(source, node.children[0], node.children[1]):
        yield Problem(node.children[1], "`[` must be on the line where the type ends", "Move it up.")


def _not_a_type(source: SourceFile, node: Node) -> Iterator[Problem]:
    yield Problem(
        node, f"`{source.excerpt(node)}` is not a type", "Write `| null` for a type that may be null."
    )


CODE = {
    "binary_expression": _binary,
    "unary_expression": _unary,
    "parenthesized_expression": _parenthesized,
    "as_expression": _cast,
    "satisfies_expression": _cast,
    "non_null_expression": _postfix,
    "member_expression": _postfix,
    "subscript_expression": _postfix,
    "call_expression": _postfix,
    "instantiation_expression": _postfix,
    "assignment_expression": _assignment,
    "augmented_assignment_expression": _assignment,
    "update_expression": _update,
    "new_expression": _new,
    "arrow_function": _arrow,
    "await_expression": _await,
    "yield_expression": _yield,
    "for_in_statement": _for_in,
    "break_statement": _break,
    "continue_statement": _break,
    "return_statement": _return,
    "expression_statement": _expression_statement,
    "ambient_declaration": _ambient,
    "module": _one_line,
    "internal_module": _one_line,
    "interface_declaration": _one_line,
    "type_alias_declaration": _one_line,
    "method_definition": _method,
    "extends_clause": _heritage,
    "class_declaration": _class,
    "class": _class,
    "abstract_class_declaration": _class,
    "public_field_definition": _class_field,
    "enum_body": _enum_body,
    "interface_body": _members,
    "object_type": _members,
    "union_type": _type,
    "intersection_type": _type,
    "type_arguments": _type_arguments,
    "array_type": _array_type,
    "lookup_type": _array_type,
    "flow_maybe_type": _not_a_type,
}
