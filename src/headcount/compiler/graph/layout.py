"""Where the nodes of one section go: layers from left to right, each after all that it waits for.

The usual steps of a layered drawing, in their simplest form: longest path for the layers, a stand-in on
every layer that an edge passes, and a few sweeps that put each node near the middle of its neighbours.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_SWEEPS: Final = 4


class Layered(NamedTuple):
    """`rows[layer]` lists node names from top to bottom; `routes` has, for each edge, the names that it
    passes, ends included. A name that is no node is a stand-in."""

    rows: list[list[str]]
    routes: list[list[str]]


def layered(names: Sequence[str], edges: Iterable[tuple[str, str]]) -> Layered:
    known = set(names)
    inner = [(a, b) for a, b in edges if a in known and b in known]
    layer = _layers(names, inner)
    rows: list[list[str]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for name in names:
        rows[layer[name]].append(name)
    routes = [_route(a, b, layer, rows) for a, b in inner]
    _order(rows, routes)
    return Layered(rows, routes)


def _layers(names: Sequence[str], edges: list[tuple[str, str]]) -> dict[str, int]:
    """The longest way to each node. The tasks of a document have no cycles: lowering saw to it."""
    before: dict[str, list[str]] = {name: [] for name in names}
    for a, b in edges:
        before[b].append(a)
    layer: dict[str, int] = {}
    stack = list(reversed(names))
    while stack:
        name = stack[-1]
        missing = [other for other in before[name] if other not in layer]
        if missing:
            stack += missing
        else:
            layer[stack.pop()] = max((layer[other] + 1 for other in before[name]), default=0)
    return layer


def _route(a: str, b: str, layer: dict[str, int], rows: list[list[str]]) -> list[str]:
    stands = [f"{a}>{b}@{n}" for n in range(layer[a] + 1, layer[b])]
    for stand, n in zip(stands, range(layer[a] + 1, layer[b]), strict=True):
        rows[n].append(stand)
    return [a, *stands, b]


def _order(rows: list[list[str]], routes: list[list[str]]) -> None:
    left: dict[str, list[str]] = {}
    right: dict[str, list[str]] = {}
    for route in routes:
        for a, b in pairwise(route):
            left.setdefault(b, []).append(a)
            right.setdefault(a, []).append(b)
    place = {name: where for row in rows for name, where in _places(row)}
    for sweep in range(_SWEEPS):
        neighbours = right if sweep % 2 else left
        for row in reversed(rows) if sweep % 2 else rows:
            row.sort(key=lambda name: _middle(neighbours.get(name), place, place[name]))
            place.update(_places(row))


def _places(row: list[str]) -> Iterator[tuple[str, float]]:
    """How far down each name stands, from 0 to 1, so that rows of different length compare."""
    return ((name, n / max(len(row) - 1, 1)) for n, name in enumerate(row))


def _middle(near: list[str] | None, place: dict[str, float], own: float) -> float:
    return sum(place[other] for other in near) / len(near) if near else own
