"""Names and what they are bound to. Nothing is evaluated before it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headcount.compiler.tsx.values import Evaluated

if TYPE_CHECKING:
    from headcount.compiler.tsx.module import Module
    from headcount.compiler.tsx.reader import Reader


class Missing:
    """What a look-up answers when the name is bound nowhere; JavaScript's `undefined` is a value."""

    __slots__ = ()


MISSING: Final = Missing()


class Lazy:
    """A binding that becomes a value when it is first used."""

    __slots__ = ()

    def force(self, reader: Reader) -> Evaluated:
        raise NotImplementedError


class Scope:
    """A module's, function's or block's names. `data` is the source that its nodes lie in."""

    __slots__ = ("data", "module", "names", "parent")

    def __init__(self, module: Module, parent: Scope | None) -> None:
        self.module = module
        self.data = module.source.data
        self.parent = parent
        self.names: dict[str, Evaluated] = {}

    def find(self, reader: Reader, name: str) -> Evaluated:
        """The value that `name` has here, or MISSING."""
        scope: Scope | None = self
        while scope is not None:
            value = scope.names.get(name, MISSING)
            if value is not MISSING:
                if isinstance(value, Lazy):
                    value = scope.names[name] = value.force(reader)
                return value
            scope = scope.parent
        return MISSING

    def binds(self, name: str) -> bool:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return True
            scope = scope.parent
        return False
