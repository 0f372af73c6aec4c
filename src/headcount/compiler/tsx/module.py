"""A file's names: what it declares, imports and exports. Values come later, when they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.tsx.evaluate import evaluate, not_understood
from headcount.compiler.tsx.expressions import field, parts
from headcount.compiler.tsx.grammar import (
    ASSIGNMENT,
    AUGMENTED,
    COMMENT,
    ENUM,
    ENUM_ASSIGNMENT,
    EXPRESSION_STATEMENT,
    FIELD_BODY,
    FIELD_NAME,
    FIELD_VALUE,
    FUNCTION,
    IDENTIFIER,
    LEXICAL,
    STRING,
    TYPES_ONLY,
    UPDATE,
    VARIABLE,
    kind,
)
from headcount.compiler.tsx.property_access import bind, names_in
from headcount.compiler.tsx.values import MISSING, UNDEFINED, EnumObject, Function, Lazy, Scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from headcount.compiler.tsx.imports import Origin
    from headcount.compiler.tsx.reader import Reader
    from headcount.compiler.tsx.source import SourceFile
    from headcount.compiler.tsx.values import Evaluated

EMPTY_STATEMENT = kind("empty_statement")


class Module:
    """`exports` maps an exported name to a local one, or to the import that it passes on."""

    __slots__ = ("exports", "names", "searching", "source", "stars", "tags", "uses")

    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self.names = Scope(self, None)
        self.exports: dict[str, str | Lazy] = {}
        self.stars: list[Origin] = []
        self.uses: set[Module] = set()
        self.tags: set[int] = set()
        self.searching = False

    def exported(self, reader: Reader, name: str) -> Evaluated:
        """The value exported as `name`, or MISSING."""
        target = self.exports.get(name)
        if isinstance(target, Lazy):
            return target.force(reader)
        if target is not None:
            return self.names.find(reader, target)
        return MISSING if name == "default" else self._from_stars(reader, name)

    def _from_stars(self, reader: Reader, name: str) -> Evaluated:
        if self.searching:
            return MISSING
        self.searching = True
        try:
            for origin in self.stars:
                value = origin.exported(reader, name)
                if value is not MISSING:
                    return value
        finally:
            self.searching = False
        return MISSING


class Const(Lazy):
    """A declaration with a plain name."""

    __slots__ = ("busy", "declarator", "name", "scope")

    def __init__(self, name: str, declarator: Node, scope: Scope) -> None:
        self.name = name
        self.declarator = declarator
        self.scope = scope
        self.busy = False

    def force(self, reader: Reader) -> Evaluated:
        if self.busy:
            return report_cycle(reader, self.name, self.declarator, self.scope)
        self.busy = True
        node = self.declarator.child_by_field_id(FIELD_VALUE)
        value = UNDEFINED if node is None else evaluate(reader, node, self.scope)
        if type(value) is Function and not value.name:
            value.name = self.name
        return value


class Unpacked(Lazy):
    """One name of `const { a, b } = …`; the first to be used binds them all."""

    __slots__ = ("declarator", "forcing", "name", "scope")

    def __init__(self, name: str, declarator: Node, scope: Scope, forcing: set[int]) -> None:
        self.name = name
        self.declarator = declarator
        self.scope = scope
        self.forcing = forcing

    def force(self, reader: Reader) -> Evaluated:
        if self.forcing:
            return report_cycle(reader, self.name, self.declarator, self.scope)
        self.forcing.add(1)
        node = self.declarator.child_by_field_id(FIELD_VALUE)
        value = UNDEFINED if node is None else evaluate(reader, node, self.scope)
        bind(reader, field(self.declarator, FIELD_NAME), value, self.scope)
        return self.scope.names[self.name]


class Expression(Lazy):
    """What `export default` gives."""

    __slots__ = ("busy", "node", "scope")

    def __init__(self, node: Node, scope: Scope) -> None:
        self.node = node
        self.scope = scope
        self.busy = False

    def force(self, reader: Reader) -> Evaluated:
        if self.busy:
            return report_cycle(reader, "default", self.node, self.scope)
        self.busy = True
        return evaluate(reader, self.node, self.scope)


class LocalEnum(Lazy):
    __slots__ = ("name", "node", "scope")

    def __init__(self, name: str, node: Node, scope: Scope) -> None:
        self.name = name
        self.node = node
        self.scope = scope

    def force(self, reader: Reader) -> Evaluated:
        members: dict[str, Evaluated] = {}
        following: Evaluated = 0
        for item in parts(field(self.node, FIELD_BODY)):
            name_node = field(item, FIELD_NAME) if item.kind_id == ENUM_ASSIGNMENT else item
            name = self.scope.module.source.name(name_node)
            if item.kind_id == ENUM_ASSIGNMENT:
                following = evaluate(reader, field(item, FIELD_VALUE), self.scope)
            elif not isinstance(following, int):
                following = not_understood(reader, item, self.scope)
            members[name] = following
            following = following + 1 if isinstance(following, int) else None
        return EnumObject(self.name, members)


def report_cycle(reader: Reader, name: str, node: Node, scope: Scope) -> Evaluated:
    message = f"{name} is defined by itself"
    hint = "Break the circle: one of the definitions needs a value of its own."
    return reader.report.add(scope.module.source, node, "definition-cycle", message, hint)


def bind_statement(reader: Reader, node: Node, scope: Scope) -> None:
    """Binds what a statement declares; a statement that would do something is reported."""
    binder = BINDERS.get(node.kind_id)
    if binder is not None:
        binder(reader, node, scope)
    elif node.kind_id not in TYPES_ONLY and node.kind_id != EMPTY_STATEMENT:
        not_understood(reader, node, scope)


def declare(reader: Reader, name: str, value: Evaluated, node: Node, scope: Scope) -> None:
    if name in scope.names:
        message = f"{name} is declared twice"
        reader.report.add(scope.module.source, node, "declared-twice", message, "Rename one of them.")
    scope.names[name] = value


def _bind_variables(reader: Reader, node: Node, scope: Scope) -> None:
    for declarator in node.named_children:
        if declarator.kind_id == COMMENT:
            continue
        target = field(declarator, FIELD_NAME)
        if target.kind_id == IDENTIFIER:
            name = scope.module.source.name(target)
            declare(reader, name, Const(name, declarator, scope), target, scope)
            continue
        forcing: set[int] = set()
        for name in names_in(field(declarator, FIELD_NAME), scope):
            declare(reader, name, Unpacked(name, declarator, scope, forcing), declarator, scope)


def _bind_function(reader: Reader, node: Node, scope: Scope) -> None:
    name = scope.module.source.name(field(node, FIELD_NAME))
    declare(reader, name, Function(node, scope, name), node, scope)


def _bind_enum(reader: Reader, node: Node, scope: Scope) -> None:
    name = scope.module.source.name(field(node, FIELD_NAME))
    declare(reader, name, LocalEnum(name, node, scope), node, scope)


def _bind_expression(reader: Reader, node: Node, scope: Scope) -> None:
    """`'use client'` does nothing; anything else would change something while it runs."""
    expression = parts(node)[0]
    if expression.kind_id == STRING:
        return
    source = scope.module.source
    if expression.kind_id in (ASSIGNMENT, AUGMENTED, UPDATE):
        hint = "A name keeps its first value: declare another constant."
        reader.report.add(
            source, expression, "reassigned", "Values are not changed after they are declared", hint
        )
        return
    hint = "Definitions are read, never executed: remove it, or write the result as a constant."
    reader.report.add(source, expression, "not-understood", "This statement would have to be executed", hint)


BINDERS: dict[int, Callable[[Reader, Node, Scope], None]] = {
    LEXICAL: _bind_variables,
    VARIABLE: _bind_variables,
    FUNCTION: _bind_function,
    ENUM: _bind_enum,
    EXPRESSION_STATEMENT: _bind_expression,
}
