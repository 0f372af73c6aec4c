"""Dispatch from a node's kind to the function that evaluates it, and the limits that end every reading."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.tsx.grammar import KIND_COUNT, MAX_DEPTH, kind
from headcount.compiler.tsx.source import GiveUp

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from headcount.compiler.tsx.reader import Reader
    from headcount.compiler.tsx.values import Evaluated, Scope

    Handler = Callable[[Reader, Node, Scope], Evaluated]

HINTS = {
    "await_expression": "Nothing is executed, so nothing can be awaited: write the value.",
    "new_expression": "Nothing is executed: write the value.",
    "regex": "Regular expressions are not evaluated: write the value.",
    "this": "Components are functions: use their parameters.",
    "class_declaration": "Write the component as a function.",
    "assignment_expression": "Declare another constant.",
    "augmented_assignment_expression": "Declare another constant.",
    "update_expression": "Declare another constant.",
    "if_statement": "Use `condition ? a : b` or `condition && a` in what is returned.",
}
DEFAULT_HINT = (
    "Definitions are read, never executed: write a constant, a template, a member, `.map()`,"
    " `? :`, `&&`, `||` or `??`."
)


def not_understood(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    source = scope.module.source
    what = node.type.replace("_", " ")
    hint = HINTS.get(node.type, DEFAULT_HINT)
    return reader.report.add(source, node, "not-understood", f"This {what} is not understood", hint)


HANDLERS: list[Handler] = [not_understood] * KIND_COUNT


def handles(*kinds: str) -> Callable[[Handler], Handler]:
    """Registers the function that evaluates nodes of these kinds."""

    def register(handler: Handler) -> Handler:
        for name in kinds:
            HANDLERS[kind(name)] = handler
        return handler

    return register


def evaluate(reader: Reader, node: Node, scope: Scope) -> Evaluated:
    depth = reader.depth + 1
    if depth > MAX_DEPTH:
        raise too_deep(reader, node, scope)
    reader.depth = depth
    value = HANDLERS[node.kind_id](reader, node, scope)
    reader.depth = depth - 1
    return value


def too_deep(reader: Reader, node: Node, scope: Scope) -> GiveUp:
    message = f"This is nested more than {MAX_DEPTH} levels deep"
    hint = "Check for a component that uses itself; else move parts into constants."
    reader.report.add(scope.module.source, node, "too-deep", message, hint)
    return GiveUp()


def too_many(reader: Reader, node: Node, scope: Scope, what: str, limit: int) -> GiveUp:
    message = f"This grows beyond {limit:,} {what}"
    hint = "Check for components or constants that use each other several times over."
    reader.report.add(scope.module.source, node, "too-large", message, hint)
    return GiveUp()
