"""Reject names, declarations, patterns, parameters and items of objects that TypeScript rejects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.tsx.grammar import (
    ARRAY_PATTERN,
    ASSIGNMENT_PATTERN,
    COMMENT,
    COMPUTED_NAME,
    FIELD_ALIAS,
    FIELD_KEY,
    FIELD_LEFT,
    FIELD_NAME,
    FIELD_PATTERN,
    FIELD_SOURCE,
    FIELD_VALUE,
    FUNCTION,
    IDENTIFIER,
    JSX_EXPRESSION,
    LEXICAL,
    OBJECT_ASSIGNMENT_PATTERN,
    OBJECT_PATTERN,
    PAIR,
    PAIR_PATTERN,
    REST_PATTERN,
    SHORTHAND,
    SHORTHAND_PATTERN,
    TOKEN_COMMA,
    kind,
)
from headcount.compiler.tsx.source import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from headcount.compiler.tsx.source import SourceFile

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
_WORDS = frozenset(word.encode() for word in RESERVED | RESERVED_IN_MODULES | NOT_BINDABLE)

METHOD = kind("method_definition")
AMBIENT = kind("ambient_declaration")
VARIABLE_DECLARATOR = kind("variable_declarator")
IMPORT_SPECIFIER = kind("import_specifier")
EXPORT_SPECIFIER = kind("export_specifier")
OPTIONAL_PARAMETER = kind("optional_parameter")
PARAMETERS = (kind("required_parameter"), OPTIONAL_PARAMETER)
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
        if name.kind_id == COMPUTED_NAME:
            continue
        key = source.name(name)
        accessor = child.children[0].type if child.kind_id == METHOD else ""
        accessor = accessor if accessor in ("get", "set") else ""
        taken = {key, f"{accessor} {key}"} if accessor else {key, f"get {key}", f"set {key}"}
        if taken & seen:
            yield Problem(name, f"The object has two values for {key}", "Remove one of them.")
        seen.add(f"{accessor} {key}" if accessor else key)


def _identifier(source: SourceFile, node: Node) -> Iterator[Problem]:
    """A reserved word is not a name, except for what an import or export calls a thing elsewhere."""
    if source.data[node.start_byte : node.end_byte] not in _WORDS:
        return
    name = source.text(node)
    parent = node.parent
    if parent is None or (parent.kind_id != JSX_EXPRESSION and parent.type.startswith("jsx_")):
        return
    if parent.kind_id in (IMPORT_SPECIFIER, EXPORT_SPECIFIER) and _names_elsewhere(parent, node):
        return
    if name in NOT_BINDABLE:
        if parent.kind_id in (
            VARIABLE_DECLARATOR,
            FUNCTION,
            *PARAMETERS,
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


def _block(source: SourceFile, node: Node) -> Iterator[Problem]:
    """`let` and `const` declare a name once in a block."""
    seen: set[str] = set()
    for statement in node.named_children:
        for declarator in statement.named_children if statement.kind_id == LEXICAL else ():
            pattern = declarator.child_by_field_id(FIELD_NAME)
            for name in [] if pattern is None else _bound(pattern):
                text = source.name(name)
                if text in seen:
                    yield Problem(name, f"{text} is declared twice", "Rename one of them.")
                seen.add(text)


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
    given = [child for child in node.named_children if child.kind_id in PARAMETERS]
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
            if value is not None or parameter.kind_id == OPTIONAL_PARAMETER:
                hint = "Remove the default, or the `?`."
                yield Problem(parameter, "A `...` parameter is optional already", hint)
        elif parameter.kind_id == OPTIONAL_PARAMETER:
            optional = True
            if value is not None:
                yield Problem(parameter, "A parameter with a default is optional already", "Remove the `?`.")
        elif optional and value is None:
            yield Problem(
                parameter, "A required parameter follows an optional one", "Move it before, or add `?`."
            )
        if pattern.kind_id == THIS and value is not None:
            yield Problem(parameter, "`this` cannot have a default", "Remove the default.")
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


def _type_name(source: SourceFile, node: Node) -> Iterator[Problem]:
    name = source.text(node)
    if name in RESERVED or name in RESERVED_IN_MODULES:
        yield Problem(node, f"`{name}` is a reserved word and cannot be a name here", "Use another name.")


def _type_parameters(source: SourceFile, node: Node) -> Iterator[Problem]:
    parent = node.parent
    of_a_type = parent is not None and parent.type in ("type_alias_declaration", "interface_declaration")
    seen: set[str] = set()
    for parameter in node.named_children:
        name = parameter.child_by_field_id(FIELD_NAME)
        text = "" if name is None else source.text(name)
        if text and text in seen:
            yield Problem(parameter, f"Two type parameters are called {text}", "Rename one of them.")
        seen.add(text)
        if of_a_type and parameter.children and parameter.children[0].type == "const":
            yield Problem(parameter, "`const` is for the type parameters of a function", "Remove it.")


NAMES = {
    "arguments": _no_holes,
    "object_pattern": _no_holes,
    "object": _object,
    "identifier": _identifier,
    "shorthand_property_identifier": _identifier,
    "shorthand_property_identifier_pattern": _identifier,
    "lexical_declaration": _declaration,
    "variable_declaration": _declaration,
    "statement_block": _block,
    "for_statement": _block,
    "formal_parameters": _parameters,
    "type_identifier": _type_name,
    "statement_identifier": _type_name,
    "type_parameters": _type_parameters,
}
