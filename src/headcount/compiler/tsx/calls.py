"""A call of a factory: its arguments, and how it refuses one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.element import UNKNOWN
from headcount.compiler.tsx.values import UNDEFINED, PlaceholderText, describe, is_nullish

if TYPE_CHECKING:
    from tree_sitter import Node

    from headcount.compiler.tsx.reader import Reader
    from headcount.compiler.tsx.scope import Scope
    from headcount.compiler.tsx.values import Evaluated, Function

LAST = -1


class Uids:
    """Numbers that tell refs apart, in the order in which they are made."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last = 0

    def next(self) -> int:
        self._last += 1
        return self._last


class Call:
    """One call with its evaluated arguments; `nodes` are the nodes of the arguments."""

    __slots__ = ("arguments", "node", "nodes", "reader", "scope", "uids")

    def __init__(
        self,
        reader: Reader,
        scope: Scope,
        node: Node,
        arguments: list[Evaluated],
        nodes: tuple[Node, ...],
    ) -> None:
        self.uids = reader.uids
        self.arguments = arguments
        self.reader = reader
        self.scope = scope
        self.node = node
        self.nodes = nodes

    def with_arguments(self, arguments: list[Evaluated]) -> Call:
        """The same call with other arguments, for a factory that is given as a callback."""
        return Call(self.reader, self.scope, self.node, arguments, ())

    def refuse(self, index: int, message: str, hint: str) -> Evaluated:
        """Reports what is wrong with the argument at `index`, or with the call when it is not there."""
        node = self.nodes[index] if self.nodes and index < len(self.nodes) else self.node
        return self.reader.report.add(self.scope.module.source, node, "wrong-argument", message, hint)

    def run(self, function: Function) -> Evaluated:
        """What a function that was given as an argument returns without arguments of its own."""
        from headcount.compiler.tsx.functions import call_function

        return call_function(self.reader, function, [], self.node, self.scope)

    def at_most(self, count: int, name: str) -> None:
        if len(self.arguments) > count:
            self.refuse(count, f"{name} takes at most {count} arguments", "Remove the rest.")

    def argument(self, index: int) -> Evaluated:
        return self.arguments[index] if index < len(self.arguments) else UNDEFINED

    def text(self, index: int, what: str) -> Evaluated:
        """The string at `index`, or UNKNOWN; an empty one names nothing."""
        value = self.argument(index)
        if type(value) is str and value and not value.isspace():
            return value
        if value == "" or (type(value) is str and value.isspace()):
            return self.refuse(index, f"{what} is empty", "Write a string that says something.")
        if value is UNDEFINED:
            return self.refuse(index, f"{what} is missing", "Write it as a string.")
        return self.checked_text(value, index, what)

    def optional_text(self, index: int, what: str) -> Evaluated:
        """The string at `index`, None when it is absent, or UNKNOWN."""
        value = self.argument(index)
        return None if is_nullish(value) else self.text(index, what)

    def checked_text(self, value: Evaluated, index: int, what: str) -> Evaluated:
        """`value` when it is a string without unbound names, else UNKNOWN."""
        if type(value) is str or value is UNKNOWN:
            return value
        if type(value) is PlaceholderText:
            name, scope, node = value.unbound[0]
            hint = f"Declare {name}, or import it."
            return self.reader.report.add(
                scope.module.source, node, "unbound-name", f"{name} is not defined", hint
            )
        return self.refuse(index, f"{what} must be a string, not {describe(value)}", "Write a string.")
