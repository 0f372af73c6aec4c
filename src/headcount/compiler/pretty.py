"""Python expressions, laid out as a formatter would: on one line if it fits, else an item a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

WIDTH: Final = 100


class Items(NamedTuple):
    """`[a, b]`, `{k: v}`: items between brackets."""

    start: str
    items: Sequence[Expression]
    end: str


class Call(NamedTuple):
    """`name(arguments)[children]`; None leaves the brackets out."""

    name: str
    arguments: Sequence[Expression] | None
    children: Sequence[Expression] | None


class Lines(NamedTuple):
    """A string of several lines: literals side by side in parentheses, one for each line."""

    name: str
    literals: Sequence[str]


Expression: TypeAlias = "str | Items | Call | Lines"


def render(before: str, expression: Expression, after: str = "", indent: int = 0) -> str:
    """The lines of `before` + expression + `after`; the first line is not indented."""
    flat = before + _flat(expression) + after
    if "\n" not in flat and indent + len(flat) <= WIDTH:
        return flat
    if isinstance(expression, str):
        return flat
    if isinstance(expression, Lines):
        pad = " " * (indent + 4)
        lines = [f"{before}{expression.name}(", *(pad + part for part in expression.literals)]
        return "\n".join([*lines, f"{' ' * indent}){after}"])
    if isinstance(expression, Items):
        return before + _broken(expression.start, expression.items, expression.end, indent) + after
    head = expression.name
    if expression.arguments is not None:
        arguments = Items(f"{head}(", expression.arguments, ")")
        fits = indent + len(before + _flat(arguments)) <= WIDTH - 1 and expression.children
        head = _flat(arguments) if fits else _broken(*arguments, indent)
    if expression.children is None:
        return before + head + after
    return before + _broken(f"{head}[", expression.children, "]", indent) + after


def literal(text: str) -> str:
    """A string in double quotes where Python would take either."""
    quoted = repr(text)
    return f'"{quoted[1:-1]}"' if quoted[0] == "'" and '"' not in text else quoted


def string(text: str) -> Expression:
    lines = text.splitlines(keepends=True)
    return literal(text) if len(lines) < 2 else Lines("", [literal(line) for line in lines])


def named(name: str, value: Expression, sign: str = "=") -> Expression:
    """`name=value`, or with another sign between them."""
    if isinstance(value, str):
        return f"{name}{sign}{value}"
    if isinstance(value, Items):
        return value._replace(start=f"{name}{sign}{value.start}")
    return value._replace(name=f"{name}{sign}{value.name}")


def _flat(expression: Expression) -> str:
    if isinstance(expression, str):
        return expression
    if isinstance(expression, Items):
        return f"{expression.start}{', '.join(map(_flat, expression.items))}{expression.end}"
    text = expression.name
    if isinstance(expression, Lines):
        return f"{text}({' '.join(expression.literals)})"
    if expression.arguments is not None:
        text += f"({', '.join(map(_flat, expression.arguments))})"
    if expression.children is not None:
        text += f"[{', '.join(map(_flat, expression.children))}]"
    return text


def _broken(start: str, items: Sequence[Expression], end: str, indent: int) -> str:
    if not items:
        return f"{start}{end}"
    inner = indent + 4
    lines = [f"{' ' * inner}{render('', item, ',', inner)}" for item in items]
    return "\n".join([start, *lines, f"{' ' * indent}{end}"])
