"""What an expression can be while a definition is read.

Strings, numbers, booleans, `None` (JavaScript's `null`), tuples (arrays), the refs of `element.py` and
`Element` stand for themselves; the classes here are what exists only during reading. None of them leaves
the reader: `children.to_value` turns them into plain values, or reports them.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from headcount.compiler.element import Element, TaskRef, TeamRef, Unknown, WorkerRef

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tree_sitter import Node

    from headcount.compiler.tsx.module import Module
    from headcount.compiler.tsx.reader import Reader

# The types of values that stand for themselves when they leave the reader.
PLAIN = frozenset((str, int, float, bool, type(None), Unknown, WorkerRef, TaskRef, TeamRef, Element))
# An evaluated expression. A union of fifteen types would be narrowed at every use and catch nothing.
Evaluated = Any


class Undefined:
    """JavaScript's `undefined`: a prop that was not given, a default that applies."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNDEFINED"


UNDEFINED: Final = Undefined()


class JsObject(dict[str, Evaluated]):
    """An object literal. `shape` holds the keys of its siblings in one array literal: there, as in
    TypeScript, a key that only some of them have is undefined in the others; elsewhere it is a mistake."""

    __slots__ = ("shape",)

    def __init__(self, items: Iterable[tuple[str, Evaluated]] | dict[str, Evaluated] = ()) -> None:
        super().__init__(items)
        self.shape: frozenset[str] = frozenset()


class Props(JsObject):
    """What a component was given; any other name is undefined in it."""

    __slots__ = ()


class EnumObject(JsObject):
    __slots__ = ("name",)

    def __init__(self, name: str, items: dict[str, Evaluated]) -> None:
        super().__init__(items)
        self.name = name


class Children(tuple[Evaluated, ...]):
    """Several children of a component, as it receives them."""

    __slots__ = ()


class PlaceholderText(str):
    """Text with a `${name}` whose name is bound nowhere: right in a prompt, a mistake elsewhere.

    `unbound` lists each name and the scope and node where it stood."""

    unbound: tuple[tuple[str, Scope, Node], ...]


class BuiltIn:
    """A component of the language, or any name imported from it that is no factory and no enum."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Native:
    """A factory: `call(call)` answers with the ref, or reports."""

    __slots__ = ("call", "name")

    def __init__(self, name: str, call: Callable[..., Evaluated]) -> None:
        self.name = name
        self.call = call


class Function:
    """A component, a render prop or a `.map` callback, with the scope that it closes over. `accepted` has the
    props that a component reads, once they were determined."""

    __slots__ = ("accepted", "name", "node", "scope")

    def __init__(self, node: Node, scope: Scope, name: str) -> None:
        self.accepted: Evaluated = MISSING
        self.node = node
        self.scope = scope
        self.name = name


class Foreign:
    """A name imported from a package that is never read."""

    __slots__ = ("package",)

    def __init__(self, package: str) -> None:
        self.package = package


def truthy(value: Evaluated) -> bool:
    if value is UNDEFINED or value is None:
        return False
    if isinstance(value, (str, int, float)):
        return bool(value) and value == value  # NaN is false in JavaScript
    return True


def is_nullish(value: Evaluated) -> bool:
    return value is None or value is UNDEFINED


def js_number(value: int | float) -> str:
    """A number as JavaScript prints it: `1`, `1.5`, `1e+21`, `1e-7`."""
    if isinstance(value, int):
        return str(value)
    if not isfinite(value):
        return "Infinity" if value > 0 else "-Infinity" if value < 0 else "NaN"
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0") or "0"
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len((whole + fraction).lstrip("0")))
    sign = "-" if value < 0 else ""
    return sign + _place_point(digits.rstrip("0") or "0", point if digits != "0" else 1)


def _place_point(digits: str, point: int) -> str:
    """`digits` with the decimal point after the first `point` of them, by ECMAScript's Number::toString."""
    if len(digits) <= point <= 21:
        return digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    exponent = point - 1
    fraction = "." + digits[1:] if len(digits) > 1 else ""
    return f"{digits[0]}{fraction}e{'+' if exponent > 0 else '-'}{abs(exponent)}"


def describe(value: Evaluated) -> str:
    """What a value is, for a message."""
    names = {
        "str": "a string", "PlaceholderText": "a string", "int": "a number", "float": "a number",
        "bool": "true or false", "NoneType": "null", "Undefined": "undefined", "tuple": "an array",
        "Children": "children", "JsObject": "an object", "Props": "an object", "EnumObject": "an enum",
        "Element": "an element", "WorkerRef": "a worker", "TaskRef": "a task", "TeamRef": "a team",
        "Function": "a function", "Native": "a function", "BuiltIn": "a component", "Foreign": "an import",
        "Text": "text", "PipelineBuilder": "a pipeline that is not built", "Namespace": "a module",
    }  # fmt: skip
    return names.get(type(value).__name__, "something else")


# --- scope -----------------------------------------------------------------------------------------------
#
# Names and what they are bound to. Nothing is evaluated before it is used.


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
