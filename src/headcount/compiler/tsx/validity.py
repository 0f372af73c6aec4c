"""Reject what TypeScript rejects and tree-sitter's grammar accepts.

tree-sitter parses for editors, so its grammar is looser than the language: `defineWorker('w', , 'haiku')`
would move an argument, `<!-- … -->` would drop text, `const class = …` would pass. Each rule here takes the
nodes of one kind and yields what is wrong with them. The whole tree is checked, also code that nothing uses.

The oracle test in `tests/oracle` compares the outcome with TypeScript's own parser.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from headcount.compiler.tsx.grammar import (
    ARRAY_PATTERN,
    ARROW,
    ASSIGNMENT_PATTERN,
    COMMENT,
    ELEMENTS,
    FIELD_ALIAS,
    FIELD_ARGUMENT,
    FIELD_KEY,
    FIELD_LEFT,
    FIELD_NAME,
    FIELD_OPERATOR,
    FIELD_OPTIONAL_CHAIN,
    FIELD_PARAMETER,
    FIELD_PARAMETERS,
    FIELD_PATTERN,
    FIELD_RIGHT,
    FIELD_SOURCE,
    FIELD_VALUE,
    FUNCTION,
    FUNCTION_EXPRESSION,
    IDENTIFIER,
    JSX_ATTRIBUTE,
    JSX_EXPRESSION,
    OBJECT_ASSIGNMENT_PATTERN,
    OBJECT_PATTERN,
    PAIR,
    PAIR_PATTERN,
    REST_PATTERN,
    SHORTHAND,
    SHORTHAND_PATTERN,
    SPREAD,
    TOKEN_ASYNC,
    TOKEN_COMMA,
    TOKEN_TYPE,
    kind,
)
from headcount.compiler.tsx.limits import MAX_SYNTAX_ERRORS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node

    from headcount.compiler.tsx.report import Report
    from headcount.compiler.tsx.source import SourceFile

    Rule = Callable[[SourceFile, Node], Iterator["Problem"]]

RESERVED = frozenset(
    {"break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete", "do", "else",
     "enum", "export", "extends", "false", "finally", "for", "function", "if", "import", "in", "instanceof",
     "new", "null", "return", "super", "switch", "this", "throw", "true", "try", "typeof", "var", "void",
     "while", "with"}
)  # fmt: skip
# Reserved in modules, which are always in strict mode.
RESERVED_IN_MODULES = frozenset(
    {"await", "implements", "interface", "let", "package", "private", "protected", "public", "static",
     "yield"}
)  # fmt: skip
NOT_BINDABLE = frozenset(("arguments", "eval"))
_WORDS = RESERVED | RESERVED_IN_MODULES | NOT_BINDABLE

_decimal = re.compile(
    r"(?:(?:0|[1-9](?:_?\d)*)(?:\.(?:\d(?:_?\d)*)?)?|\.\d(?:_?\d)*)(?:[eE][+-]?\d(?:_?\d)*)?"
)
_other_number = re.compile(
    r"(?:0[xX][\da-fA-F](?:_?[\da-fA-F])*|0[oO][0-7](?:_?[0-7])*|0[bB][01](?:_?[01])*|0|[1-9](?:_?\d)*)n?"
)
_escape = re.compile(
    r"\\(?:x[\da-fA-F]{2}|u[\da-fA-F]{4}|u\{0*(?:10|[\da-fA-F])?[\da-fA-F]{1,4}\}|0(?!\d)|[^xu0-9]|\r\n)",
    re.DOTALL,
)
_broken_line = re.compile(r"(?<!\\)(?:\\\\)*[\r\n]")
_regex_flags = re.compile(r"(?!.*(.).*\1)(?!.*u.*v|.*v.*u)[dgimsuvy]*")

FUNCTIONS = frozenset(
    (
        ARROW,
        FUNCTION,
        FUNCTION_EXPRESSION,
        *map(kind, ("generator_function", "generator_function_declaration", "method_definition")),
    )
)
METHOD = kind("method_definition")
LOOPS = frozenset(map(kind, ("for_statement", "for_in_statement", "while_statement", "do_statement")))
SWITCH = kind("switch_statement")
UNARY = kind("unary_expression")
BINARY = kind("binary_expression")
AMBIENT = kind("ambient_declaration")
VARIABLE_DECLARATOR = kind("variable_declarator")
IMPORT_SPECIFIER = kind("import_specifier")
EXPORT_SPECIFIER = kind("export_specifier")
IMPORT_CLAUSE = kind("import_clause")
EXPORTABLE_AS_DEFAULT = frozenset(
    map(
        kind,
        (
            "function_declaration",
            "function_signature",
            "generator_function_declaration",
            "class_declaration",
            "abstract_class_declaration",
            "class",
            "interface_declaration",
        ),
    )
)
OPTIONAL_PARAMETER = kind("optional_parameter")
STRING = kind("string")
COMPUTED_NAME = kind("computed_property_name")
THIS = kind("this")
PATTERNS = frozenset(
    (
        IDENTIFIER,
        THIS,
        OBJECT_PATTERN,
        ARRAY_PATTERN,
        REST_PATTERN,
        ASSIGNMENT_PATTERN,
        OBJECT_ASSIGNMENT_PATTERN,
        SHORTHAND_PATTERN,
        PAIR_PATTERN,
        COMMENT,
    )
)


class Problem(NamedTuple):
    """One thing that is invalid: the node to point at, what is wrong, and what to write instead."""

    node: Node
    message: str
    hint: str
    code: str = "syntax"


def report_invalid(source: SourceFile, root: Node, report: Report) -> bool:
    """Report everything in the tree that TypeScript would reject. True if there was anything."""
    found = 0
    rules = RULES
    pending = [root]
    while pending:
        node = pending.pop()
        rule = rules.get(node.kind_id)
        if rule is not None:
            for problem in rule(source, node):
                report.add(source, problem.node, problem.code, problem.message, problem.hint)
                found += 1
            if found >= MAX_SYNTAX_ERRORS:
                break
        pending.extend(node.named_children)
    return found > 0


def _html_comment(source: SourceFile, node: Node) -> Iterator[Problem]:
    yield Problem(
        node, "`<!-- -->` is not a comment in TSX", "Write {/* … */} between tags, // or /* … */ in code."
    )


def _no_holes(source: SourceFile, node: Node) -> Iterator[Problem]:
    """A comma needs an item before it in a call and in an object; only arrays may have holes."""
    after_comma = True
    for child in node.children[1:-1]:
        if child.kind_id == TOKEN_COMMA:
            if after_comma:
                yield Problem(
                    child, "An item is missing before this comma", "Remove the comma, or write undefined."
                )
            after_comma = True
        elif child.kind_id != COMMENT:
            after_comma = False


def _object(source: SourceFile, node: Node) -> Iterator[Problem]:
    yield from _no_holes(source, node)
    seen: set[str] = set()
    for child in node.named_children:
        if child.kind_id not in (PAIR, SHORTHAND, METHOD):
            continue
        name = child.child_by_field_id(FIELD_KEY) or child.child_by_field_id(FIELD_NAME) or child
        if name.kind_id == COMPUTED_NAME or (
            child.kind_id == METHOD and child.children[0].type in ("get", "set")
        ):
            continue
        key = source.name(name)
        if key in seen:
            yield Problem(name, f"The object has two values for {key}", "Remove one of them.")
        seen.add(key)


def _identifier(source: SourceFile, node: Node) -> Iterator[Problem]:
    """A reserved word is not a name, except for what an import or export calls a thing elsewhere."""
    name = source.text(node)
    if name not in _WORDS:
        return
    parent = node.parent
    if parent is None or parent.type.startswith("jsx_"):
        return
    if parent.kind_id in (IMPORT_SPECIFIER, EXPORT_SPECIFIER) and _names_elsewhere(parent, node):
        return
    if name in NOT_BINDABLE:
        if parent.kind_id in (
            VARIABLE_DECLARATOR,
            FUNCTION,
            *_PARAMETERS,
        ) and node != parent.child_by_field_id(FIELD_VALUE):
            yield Problem(node, f"{name} cannot be declared in a module", "Use another name.")
        return
    yield Problem(node, f"`{name}` is a reserved word and cannot be a name here", "Use another name.")


def _names_elsewhere(specifier: Node, name: Node) -> bool:
    """Whether the name in `a as b` belongs to the other module, where any word is allowed."""
    alias = specifier.child_by_field_id(FIELD_ALIAS)
    if specifier.kind_id == IMPORT_SPECIFIER:
        return alias is not None and name != alias
    clause = specifier.parent
    statement = None if clause is None else clause.parent
    from_elsewhere = statement is not None and statement.child_by_field_id(FIELD_SOURCE) is not None
    return from_elsewhere or name == alias


def _declaration(source: SourceFile, node: Node) -> Iterator[Problem]:
    """`const` and every pattern need a value, unless the declaration only informs the type checker."""
    parent = node.parent
    if parent is not None and parent.kind_id == AMBIENT:
        yield from _ambient(node)
        return
    constant = node.children[0].type == "const"
    for declarator in node.named_children:
        if declarator.kind_id != VARIABLE_DECLARATOR:
            continue
        name = declarator.child_by_field_id(FIELD_NAME)
        if name is None:
            continue
        if declarator.child_by_field_id(FIELD_VALUE) is None:
            if name.kind_id != IDENTIFIER:
                yield Problem(name, "A pattern needs a value to take apart", "Add ` = …`.")
            elif constant and not _is_ambient(node):
                yield Problem(
                    name, f"The constant {source.name(name)} has no value", "Add ` = …`, or write let."
                )
        yield from _pattern(source, name)


def _is_ambient(node: Node) -> bool:
    """Whether the declaration is in the body of a `declare module` or `declare namespace`."""
    parent = node.parent
    while parent is not None and parent.kind_id != AMBIENT:
        parent = parent.parent
    return parent is not None


def _ambient(node: Node) -> Iterator[Problem]:
    for declarator in node.named_children:
        value = declarator.child_by_field_id(FIELD_VALUE)
        if value is not None and declarator.child_by_field_name("type") is not None:
            yield Problem(
                value, "`declare` only names a type and takes no value", "Remove the value, or `declare`."
            )


def _pattern(source: SourceFile, node: Node) -> Iterator[Problem]:
    """A declared pattern consists of names; only an assignment may have members in it."""
    pending = [node]
    while pending:
        part = pending.pop()
        if part.kind_id not in PATTERNS:
            yield Problem(
                part, f"`{source.excerpt(part)}` is not a name that can be declared", "Write a plain name."
            )
        elif part.kind_id in (OBJECT_PATTERN, ARRAY_PATTERN):
            items = [child for child in part.named_children if child.kind_id != COMMENT]
            for item in items[:-1]:
                if item.kind_id == REST_PATTERN:
                    yield Problem(item, "`...` must be the last item of a pattern", "Move it to the end.")
            if items and items[-1].kind_id == REST_PATTERN and _comma_before_end(part):
                yield Problem(items[-1], "No comma may follow `...` in a pattern", "Remove the comma.")
            pending.extend(items)
        elif part.kind_id == OBJECT_ASSIGNMENT_PATTERN and _takes_apart(part):
            yield Problem(part, "A pattern in braces needs a name before it", "Write `name: { … } = …`.")
        elif part.kind_id == PAIR_PATTERN:
            value = part.child_by_field_id(FIELD_VALUE)
            pending.extend([] if value is None else [value])
        elif part.kind_id in (ASSIGNMENT_PATTERN, OBJECT_ASSIGNMENT_PATTERN):
            left = part.child_by_field_id(FIELD_LEFT)
            pending.extend([] if left is None else [left])
        elif part.kind_id == REST_PATTERN:
            pending.extend(part.named_children)


def _takes_apart(item: Node) -> bool:
    """Whether `{ … } = default` stands where a property's name is needed."""
    left = item.child_by_field_id(FIELD_LEFT)
    return left is not None and left.kind_id in (OBJECT_PATTERN, ARRAY_PATTERN)


def _comma_before_end(node: Node) -> bool:
    tokens = [child for child in node.children if child.kind_id != COMMENT]
    return len(tokens) > 2 and tokens[-2].kind_id == TOKEN_COMMA


def _parameters(source: SourceFile, node: Node) -> Iterator[Problem]:
    given = [child for child in node.named_children if child.kind_id in _PARAMETERS]
    seen: set[str] = set()
    optional = False
    for index, parameter in enumerate(given):
        pattern = parameter.child_by_field_id(FIELD_PATTERN)
        if pattern is None:
            continue
        value = parameter.child_by_field_id(FIELD_VALUE)
        if pattern.kind_id == REST_PATTERN:
            if index < len(given) - 1:
                yield Problem(parameter, "`...` must be the last parameter", "Move it to the end.")
            elif _comma_before_end(node):
                yield Problem(parameter, "No comma may follow `...` in parameters", "Remove the comma.")
            if value is not None:
                yield Problem(parameter, "A `...` parameter cannot have a default", "Remove the default.")
        elif parameter.kind_id == OPTIONAL_PARAMETER:
            optional = True
            if value is not None:
                yield Problem(parameter, "A parameter with a default is optional already", "Remove the `?`.")
        elif optional and value is None:
            yield Problem(
                parameter, "A required parameter follows an optional one", "Move it before, or add `?`."
            )
        yield from _pattern(source, pattern)
        for name in _bound(pattern):
            text = source.name(name)
            if text in seen:
                yield Problem(name, f"Two parameters are called {text}", "Rename one of them.")
            seen.add(text)


def _bound(pattern: Node) -> Iterator[Node]:
    pending = [pattern]
    while pending:
        node = pending.pop()
        if node.kind_id in (IDENTIFIER, SHORTHAND_PATTERN):
            yield node
        elif node.kind_id in (ASSIGNMENT_PATTERN, OBJECT_ASSIGNMENT_PATTERN):
            pending.extend(filter(None, [node.child_by_field_id(FIELD_LEFT)]))
        elif node.kind_id == PAIR_PATTERN:
            pending.extend(filter(None, [node.child_by_field_id(FIELD_VALUE)]))
        elif node.kind_id in (OBJECT_PATTERN, ARRAY_PATTERN, REST_PATTERN):
            pending.extend(node.named_children)


def _arrow(source: SourceFile, node: Node) -> Iterator[Problem]:
    first = node.children[0]
    if first.type == "type_parameters" and first.named_child_count == 1 and not _is_generic(first):
        message = f"`{source.excerpt(first)}` is a tag in a .tsx file"
        yield Problem(first, message, "Write <T,>(…) => …, or a function.")
    arrow = next((child for child in node.children if child.type == "=>"), None)
    before = None if arrow is None else arrow.prev_sibling
    if arrow is not None and before is not None and _line_breaks(source, before, arrow):
        yield Problem(arrow, "`=>` must be on the line where the parameters end", "Move it up.")
    if first.kind_id == TOKEN_ASYNC and _line_breaks(source, first, node.children[1]):
        yield Problem(first, "The parameters must be on the line of `async`", "Remove the line break.")
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


def _binary(source: SourceFile, node: Node) -> Iterator[Problem]:
    operator = node.child_by_field_id(FIELD_OPERATOR)
    if operator is None:
        return
    left, right = node.child_by_field_id(FIELD_LEFT), node.child_by_field_id(FIELD_RIGHT)
    if operator.type == "<" and _ends_with_element(left):
        yield Problem(operator, "Two elements need one element around them", "Write <>…</> around both.")
    if operator.type == "**" and left is not None and left.kind_id == UNARY:
        yield Problem(
            left, "`**` needs parentheses around what is on its left", f"Write ({source.excerpt(left)}) ** …"
        )
    if operator.type not in ("??", "||", "&&"):
        return
    for side in (left, right):
        inner = None if side is None or side.kind_id != BINARY else side.child_by_field_id(FIELD_OPERATOR)
        if (
            inner is not None
            and (inner.type == "??") != (operator.type == "??")
            and inner.type in ("??", "||", "&&")
        ):
            message = f"`{inner.type}` and `{operator.type}` cannot be mixed without parentheses"
            yield Problem(
                operator, message, f"Write ({source.excerpt(side)}) {operator.type} …" if side else ""
            )


def _ends_with_element(node: Node | None) -> bool:
    """Whether the last operand is an element: TypeScript takes a `<` after it for a second element."""
    while node is not None and node.kind_id not in ELEMENTS:
        node = node.named_children[-1] if node.kind_id in (BINARY, UNARY) else None
    return node is not None


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


def _cast(source: SourceFile, node: Node) -> Iterator[Problem]:
    """`as` and `satisfies` begin a statement of their own when they begin a line."""
    before, word = node.children[0], node.children[1]
    if word.type in ("as", "satisfies") and _line_breaks(source, before, word):
        yield Problem(word, f"`{word.type}` must be on the line where the value ends", "Move it up.")


def _number(source: SourceFile, node: Node) -> Iterator[Problem]:
    """A number ends where a name could not go on: `12.5as 0` is neither."""
    text = source.text(node)
    following = source.data[node.end_byte : node.end_byte + 1]
    if following and (following.isalnum() or following in b"_$\\" or following >= b"\x80"):
        yield Problem(node, f"A name directly follows the number {text}", "Put a blank between them.")
    elif not _decimal.fullmatch(text) and not _other_number.fullmatch(text):
        hint = "Write a decimal number without leading zeros, or 0o… for an octal one."
        yield Problem(node, f"{text} is not a number in a module", hint)


def _string(source: SourceFile, node: Node) -> Iterator[Problem]:
    """A string ends on its line, unless it is an attribute's or the line break is escaped."""
    if b"\n" not in source.data[node.start_byte : node.end_byte]:
        return
    parent = node.parent
    if (parent is None or parent.kind_id != JSX_ATTRIBUTE) and _broken_line.search(
        source.text(node).replace("\r\n", "\n")
    ):
        yield Problem(
            node, "This string does not end on its line", "Close it, or write `…` for several lines."
        )


def _escape_sequence(source: SourceFile, node: Node) -> Iterator[Problem]:
    text = source.text(node)
    following = source.data[node.end_byte : node.end_byte + 1]
    if _escape.fullmatch(text) and not (text == "\\0" and following.isdigit()):
        return
    parent = node.parent
    tagged = parent is not None and parent.parent is not None and parent.parent.type == "call_expression"
    if not (tagged and parent is not None and parent.type == "template_string"):
        yield Problem(
            node, f"`{text}` is not a valid escape", "Write the character itself, or \\xNN or \\u{N}."
        )


def _regex(source: SourceFile, node: Node) -> Iterator[Problem]:
    flags = node.child_by_field_name("flags")
    if flags is not None and not _regex_flags.fullmatch(source.text(flags)):
        yield Problem(
            flags,
            f"`{source.text(flags)}` are not flags of a regular expression",
            "Use each of dgimsuvy once.",
        )
    pattern = node.child_by_field_name("pattern")
    if pattern is not None and not _balanced(source.text(pattern)):
        yield Problem(
            pattern, "The parentheses of this regular expression do not match", "Close each, or write \\(."
        )


def _balanced(pattern: str) -> bool:
    depth, in_class, escaped = 0, False, False
    for letter in pattern:
        if escaped:
            escaped = False
        elif letter == "\\":
            escaped = True
        elif in_class:
            in_class = letter != "]"
        elif letter == "[":
            in_class = True
        elif letter in "()":
            depth += 1 if letter == "(" else -1
            if depth < 0:
                return False
    return depth == 0 and not in_class


def _export(source: SourceFile, node: Node) -> Iterator[Problem]:
    children = node.children
    if len(children) < 3 or children[1].type != "default":
        return
    declaration = node.child_by_field_name("declaration")
    if declaration is not None and declaration.kind_id not in EXPORTABLE_AS_DEFAULT:
        yield Problem(
            declaration, "`export default` takes a value, not a declaration", "Write the value itself."
        )


def _program(source: SourceFile, node: Node) -> Iterator[Problem]:
    defaults = [
        child
        for child in node.named_children
        if child.type == "export_statement" and child.children[1].type == "default"
    ]
    for extra in defaults[1:]:
        declaration = extra.child_by_field_name("declaration")
        if declaration is None or declaration.type not in ("interface_declaration", "function_signature"):
            yield Problem(extra, "The file has two default exports", "Remove one of them.")


def _import(source: SourceFile, node: Node) -> Iterator[Problem]:
    if node.children[1].kind_id != TOKEN_TYPE:
        return
    for clause in node.named_children:
        if clause.kind_id == IMPORT_CLAUSE and len(clause.named_children) > 1:
            hint = "Write two imports."
            yield Problem(clause, "`import type` takes a default or names in braces, not both", hint)


def _enclosing(node: Node, kinds: frozenset[int]) -> Node | None:
    """The innermost node around `node` of one of these kinds, within its function."""
    parent = node.parent
    while parent is not None and parent.kind_id not in kinds:
        if parent.kind_id in FUNCTIONS:
            return None
        parent = parent.parent
    return parent


def _await(source: SourceFile, node: Node) -> Iterator[Problem]:
    if node.named_children and node.named_children[0].kind_id == ARROW:
        yield Problem(node, "`await` cannot be before an arrow function", "Write async, or remove it.")
    around = _enclosing(node, FUNCTIONS)
    if around is not None and all(child.kind_id != TOKEN_ASYNC for child in around.children):
        yield Problem(node, "`await` needs an async function around it", "Write the value itself.")


def _yield(source: SourceFile, node: Node) -> Iterator[Problem]:
    around = _enclosing(node, FUNCTIONS)
    if around is None or all(child.type != "*" for child in around.children):
        yield Problem(node, "`yield` needs a generator function around it", "Write the value itself.")


def _break(source: SourceFile, node: Node) -> Iterator[Problem]:
    around = _enclosing(node, LOOPS | {SWITCH} if node.type == "break_statement" else LOOPS)
    if around is None and not node.named_children:
        yield Problem(node, f"`{source.excerpt(node)}` needs a loop around it", "Remove it.")


def _return(source: SourceFile, node: Node) -> Iterator[Problem]:
    if _enclosing(node, FUNCTIONS) is None:
        yield Problem(node, "`return` needs a function around it", "Remove it, or write a function.")


def _method(source: SourceFile, node: Node) -> Iterator[Problem]:
    parameters = node.child_by_field_id(FIELD_PARAMETERS)
    for child in node.children:
        wanted = {"get": 0, "set": 1}.get(child.type)
        if wanted is not None and parameters is not None and parameters.named_child_count != wanted:
            yield Problem(
                parameters, f"A {child.type} accessor takes {wanted} parameters", "Mend its parameters."
            )


def _enum_body(source: SourceFile, node: Node) -> Iterator[Problem]:
    for child in node.named_children:
        name = child.child_by_field_id(FIELD_NAME) or child
        inner = name.named_children[0] if name.kind_id == COMPUTED_NAME and name.named_children else None
        if name.kind_id == COMPUTED_NAME and (inner is None or inner.kind_id != STRING):
            yield Problem(name, "A member of an enum needs a fixed name", "Write the name itself.")


def _assignment(source: SourceFile, node: Node) -> Iterator[Problem]:
    left = node.child_by_field_id(FIELD_LEFT) or node.child_by_field_id(FIELD_ARGUMENT)
    if left is not None and left.child_by_field_id(FIELD_OPTIONAL_CHAIN) is not None:
        yield Problem(left, "An optional member cannot be assigned to", "Write `.` instead of `?.`.")


def _new(source: SourceFile, node: Node) -> Iterator[Problem]:
    target = node.child_by_field_name("constructor")
    if target is not None and target.child_by_field_id(FIELD_OPTIONAL_CHAIN) is not None:
        yield Problem(target, "`new` takes no optional member", "Write `.` instead of `?.`.")


def _type(source: SourceFile, node: Node) -> Iterator[Problem]:
    """`|A` and `&A` are types; `||A` and `&&A` are not."""
    if node.child_count < 3 and node.parent is not None and node.parent.kind_id == node.kind_id:
        yield Problem(node, f"`{source.excerpt(node)}` is not a type", "Remove one of the signs.")


def _type_name(source: SourceFile, node: Node) -> Iterator[Problem]:
    name = source.text(node)
    if name in RESERVED or name in RESERVED_IN_MODULES:
        yield Problem(node, f"`{name}` is a reserved word and cannot be a name here", "Use another name.")


def _type_parameters(source: SourceFile, node: Node) -> Iterator[Problem]:
    parent = node.parent
    if parent is None or parent.type not in ("type_alias_declaration", "interface_declaration"):
        return
    for parameter in node.named_children:
        if parameter.children and parameter.children[0].type == "const":
            yield Problem(parameter, "`const` is for the type parameters of a function", "Remove it.")


def _jsx_attributes(source: SourceFile, node: Node) -> Iterator[Problem]:
    """Every attribute has one name and one value."""
    seen: set[str] = set()
    for child in node.named_children:
        if child.kind_id == JSX_EXPRESSION and all(part.kind_id != SPREAD for part in child.named_children):
            yield Problem(
                child, "Braces among attributes need a spread", "Write {...props}, or name={value}."
            )
        if child.kind_id != JSX_ATTRIBUTE:
            continue
        pair = [part for part in child.named_children if part.kind_id != COMMENT]
        name = source.text(pair[0])
        if name in seen:
            yield Problem(child, f"{name} is given twice", "Remove one of them.", "duplicate-prop")
        seen.add(name)
        value = pair[-1]
        if value.kind_id == JSX_EXPRESSION:
            inside = [part for part in value.named_children if part.kind_id != COMMENT]
            if not inside:
                hint = "Write a value between the braces, or remove the attribute."
                yield Problem(value, "There is no value here", hint, "empty-expression")
            elif inside[0].kind_id == SPREAD:
                yield Problem(inside[0], "A value cannot be spread here", "Remove the dots.")


def _jsx_expression(source: SourceFile, node: Node) -> Iterator[Problem]:
    for child in node.named_children:
        if child.type == "sequence_expression":
            yield Problem(child, "A comma cannot separate two values in braces", "Write {a}{b}, or [a, b].")


_PARAMETERS = (kind("required_parameter"), OPTIONAL_PARAMETER)

RULES: dict[int, Rule] = {
    kind(name): rule
    for names, rule in (
        (("html_comment",), _html_comment),
        (("arguments", "object_pattern"), _no_holes),
        (("object",), _object),
        (
            ("identifier", "shorthand_property_identifier", "shorthand_property_identifier_pattern"),
            _identifier,
        ),
        (("lexical_declaration", "variable_declaration"), _declaration),
        (("formal_parameters",), _parameters),
        (("arrow_function",), _arrow),
        (("binary_expression",), _binary),
        (("parenthesized_expression",), _parenthesized),
        (("as_expression", "satisfies_expression"), _cast),
        (
            (
                "non_null_expression",
                "member_expression",
                "subscript_expression",
                "call_expression",
                "instantiation_expression",
            ),
            _postfix,
        ),
        (("number",), _number),
        (("string",), _string),
        (("escape_sequence",), _escape_sequence),
        (("regex",), _regex),
        (("export_statement",), _export),
        (("program",), _program),
        (("import_statement",), _import),
        (("await_expression",), _await),
        (("yield_expression",), _yield),
        (("break_statement", "continue_statement"), _break),
        (("return_statement",), _return),
        (("method_definition",), _method),
        (("enum_body",), _enum_body),
        (("assignment_expression", "augmented_assignment_expression", "update_expression"), _assignment),
        (("new_expression",), _new),
        (("type_parameters",), _type_parameters),
        (("union_type", "intersection_type"), _type),
        (("type_identifier",), _type_name),
        (("jsx_opening_element", "jsx_self_closing_element"), _jsx_attributes),
        (("jsx_expression",), _jsx_expression),
    )
    for name in names
}
