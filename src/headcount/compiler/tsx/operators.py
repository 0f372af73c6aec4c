"""What JavaScript's operators give for constants. Values of different types are not converted silently."""

from __future__ import annotations

from math import fmod, inf, nan
from typing import TYPE_CHECKING

from headcount.compiler.tsx.literals import narrow
from headcount.compiler.tsx.values import UNDEFINED, Children, Function, JsObject, Native, is_nullish

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.compiler.tsx.values import Evaluated


class NotDefined(Exception):
    """The operator is not understood for these operands."""


def is_number(value: Evaluated) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def strict_equal(left: Evaluated, right: Evaluated) -> bool:
    """`===`: strings, numbers and booleans by value, everything else by identity."""
    if is_number(left) and is_number(right):
        return bool(left == right)
    if isinstance(left, str) and isinstance(right, str):
        return str(left) == str(right)
    return left is right or (type(left) is bool and type(right) is bool and left == right)


def loose_equal(left: Evaluated, right: Evaluated) -> bool:
    """`==`, where it means the same as `===` or compares with null; conversions are not understood."""
    if is_nullish(left) or is_nullish(right):
        return is_nullish(left) and is_nullish(right)
    if type_name(left) != type_name(right):
        raise NotDefined
    return strict_equal(left, right)


def _compare(left: Evaluated, right: Evaluated) -> int | None:
    """-1, 0 or 1; None when one of them is NaN. Strings compare by UTF-16 code units."""
    if is_number(left) and is_number(right):
        return None if left != left or right != right else (left > right) - (left < right)
    if isinstance(left, str) and isinstance(right, str):
        one, two = left.encode("utf-16-be", "surrogatepass"), right.encode("utf-16-be", "surrogatepass")
        return (one > two) - (one < two)
    raise NotDefined


def _divide(left: float, right: float) -> float:
    if right:
        return left / right
    return nan if not left or left != left else inf if left > 0 else -inf


def _remainder(left: float, right: float) -> float:
    return nan if not right or left in (inf, -inf) else fmod(left, right)


def _power(left: float, right: float) -> float:
    try:
        result = float(left) ** float(right)
    except OverflowError:
        return inf
    except ZeroDivisionError:
        return inf
    return nan if isinstance(result, complex) else result


_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": _divide,
    "%": _remainder,
    "**": _power,
}
_COMPARISONS: dict[str, Callable[[int], bool]] = {
    "<": lambda order: order < 0,
    ">": lambda order: order > 0,
    "<=": lambda order: order <= 0,
    ">=": lambda order: order >= 0,
}
_EQUALITIES: dict[str, Callable[[Evaluated, Evaluated], bool]] = {
    "===": strict_equal,
    "!==": lambda left, right: not strict_equal(left, right),
    "==": loose_equal,
    "!=": lambda left, right: not loose_equal(left, right),
}


def apply_binary(operator: str, left: Evaluated, right: Evaluated) -> Evaluated:
    """What `left operator right` gives, or NotDefined. `+`, `&&`, `||` and `??` are not among them."""
    if operator in _EQUALITIES:
        return _EQUALITIES[operator](left, right)
    if operator in _COMPARISONS:
        order = _compare(left, right)
        return order is not None and _COMPARISONS[operator](order)
    if operator == "in" and isinstance(right, JsObject) and isinstance(left, str):
        return left in right
    if operator in _ARITHMETIC and is_number(left) and is_number(right):
        return narrow(_ARITHMETIC[operator](left, right))
    raise NotDefined


def type_name(value: Evaluated) -> str:
    """What `typeof` gives."""
    if value is UNDEFINED:
        return "undefined"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if is_number(value):
        return "number"
    return "function" if isinstance(value, (Function, Native)) else "object"


def items_of(value: Evaluated) -> tuple[Evaluated, ...] | None:
    """The items of an array or of children, else None."""
    return value if type(value) in (tuple, Children) else None
