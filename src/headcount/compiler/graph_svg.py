"""The drawing as one self-contained SVG that reads on a light and on a dark page."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple
from unicodedata import east_asian_width

from headcount.compiler.diagnostics import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from headcount.compiler.workflow_graph import Drawing, Group, Node, Section

_BOX_HEIGHT: Final = 44
_BOX_WIDTHS: Final = (96, 220)
_GAP_X: Final = 44
_GAP_Y: Final = 14
_PAD: Final = 18
_TITLE: Final = 30
_BETWEEN: Final = 30
_MAX_IN_A_ROW: Final = 5

# Colours are given once for each page colour; a viewer without the media query shows the first.
_STYLE: Final = """
  text { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328; }
  .note { font-size: 11px; fill: #656d76; }
  .title { font-weight: 600; }
  .panel { fill: #8080800f; stroke: #80808059; }
  .group { fill: none; stroke: #80808080; stroke-dasharray: 4 4; }
  .box { stroke-width: 1.2; }
  .team { fill: #ddf4ff; stroke: #54aeff; }
  .tasks { fill: #fff8c5; stroke: #d4a72c; }
  .shutdown { fill: #ffebe9; stroke: #ff8182; }
  .edge { fill: none; stroke: #808890; stroke-width: 1.4; }
  .head { fill: #808890; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .note { fill: #9198a1; }
    .team { fill: #0c2d6b66; } .tasks { fill: #4d3a0066; } .shutdown { fill: #67060c66; }
  }
"""


class _Placed(NamedTuple):
    """Something drawn, and the size that it takes."""

    parts: list[str]
    width: float
    height: float


def to_svg(drawing: Drawing) -> str:
    parts: list[str] = []
    y = float(_PAD)
    groups = [_group(group, number) for number, group in enumerate(drawing.groups)]
    width = max((group.width for group in groups), default=200.0)
    for number, group in enumerate(groups):
        if number:
            parts.append(_arrow_down(_PAD + width / 2, y - _BETWEEN, y))
        parts.append(_moved(group.parts, _PAD + (width - group.width) / 2, y))
        y += group.height + _BETWEEN
    height = max(y - _BETWEEN, _PAD) + _PAD
    return _page(drawing.title, parts, width + 2 * _PAD, height)


def _page(title: str, parts: list[str], width: float, height: float) -> str:
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    head = (
        '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
        ' orient="auto">'
        '<path class="head" d="M0 0 L8 4 L0 8 z"/></marker>'
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        f"<defs>{head}</defs>",
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _group(group: Group, number: int) -> _Placed:
    """The sections below each other, in the frame of their Workflow when they have one."""
    sections = [_section(section) for section in group.sections]
    inner = max(section.width for section in sections)
    framed = bool(group.title)
    left, y = (_PAD, float(_TITLE + 8)) if framed else (0, 0.0)
    parts: list[str] = []
    for n, section in enumerate(sections):
        if n:
            parts.append(_arrow_down(left + inner / 2, y - _BETWEEN, y))
        parts.append(_moved(_panel(group.sections[n], section, inner), left, y))
        y += section.height + _BETWEEN
    y -= _BETWEEN
    if not framed:
        return _Placed(parts, inner, y)
    width, height = inner + 2 * _PAD, y + _PAD
    frame = _rect("group", 0, 0, width, height, 10)
    return _Placed([frame, _text("title", _PAD, 24, f"Workflow: {group.title}"), *parts], width, height)


def _panel(section: Section, placed: _Placed, width: float) -> list[str]:
    frame = _rect("panel", 0, 0, width, placed.height, 8)
    return [frame, _text("title", _PAD, 22, section.title), *placed.parts]


def _section(section: Section) -> _Placed:
    """Boxes in layers; nodes that nothing connects fill rows of a few."""
    boxes = {node.id: node for node in section.nodes}
    grid = layered(list(boxes), section.edges)
    if not grid.routes and len(boxes) > 1:
        ids = list(boxes)
        columns = min(len(ids), _MAX_IN_A_ROW)
        grid = grid._replace(rows=[ids[n::columns] for n in range(columns)])
    widths = [max((_box_width(boxes[name]) for name in row if name in boxes), default=0) for row in grid.rows]
    tall = max(map(len, grid.rows), default=0)
    inner_height = tall * _BOX_HEIGHT + (tall - 1) * _GAP_Y
    spots: dict[str, tuple[float, float, float]] = {}
    gap = _GAP_X if grid.routes else _GAP_Y
    x = float(_PAD)
    for row, width in zip(grid.rows, widths, strict=True):
        top = _TITLE + 8 + (inner_height - len(row) * _BOX_HEIGHT - (len(row) - 1) * _GAP_Y) / 2
        if not grid.routes:
            top = _TITLE + 8
        for n, name in enumerate(row):
            spots[name] = (x, top + n * (_BOX_HEIGHT + _GAP_Y), width)
        x += width + gap
    parts = [_edge([spots[name] for name in route]) for route in grid.routes]
    parts += [part for name, node in boxes.items() for part in _box(node, section.kind, *spots[name])]
    title_width = _text_width(section.title) * 1.1 + 2 * _PAD
    return _Placed(parts, max(x - gap + _PAD, title_width), _TITLE + 8 + inner_height + _PAD)


def _box(node: Node, kind: str, x: float, y: float, width: float) -> Iterator[str]:
    yield f"<g><title>{escape(f'{node.label} · {node.note}' if node.note else node.label)}</title>"
    yield _rect(f"box {kind}", x, y, width, _BOX_HEIGHT, 6)
    yield _text("", x + 10, y + (19 if node.note else 27), _cut(node.label, width - 20, 7.4))
    if node.note:
        yield _text("note", x + 10, y + 35, _cut(node.note, width - 20, 6.2))
    yield "</g>"


def _box_width(node: Node) -> float:
    wanted = max(_text_width(node.label), _text_width(node.note) * 6.2 / 7.4) + 20
    return min(max(wanted, _BOX_WIDTHS[0]), _BOX_WIDTHS[1])


def _edge(spots: list[tuple[float, float, float]]) -> str:
    """A curve from the right side of the first box, through the stand-ins, to the left side of the last."""
    x, y, width = spots[0]
    middle = _BOX_HEIGHT / 2
    path = [f"M{x + width:g} {y + middle:g}"]
    end_x, end_y = x + width, y + middle
    for n, (next_x, next_y, next_width) in enumerate(spots[1:], 1):
        start_x, start_y = end_x, end_y
        end_x, end_y = next_x, next_y + middle
        bend = max((end_x - start_x) / 2, 12)
        path.append(f"C{start_x + bend:g} {start_y:g} {end_x - bend:g} {end_y:g} {end_x:g} {end_y:g}")
        if n < len(spots) - 1:
            end_x += next_width
            path.append(f"L{end_x:g} {end_y:g}")
    return f'<path class="edge" d="{" ".join(path)}" marker-end="url(#head)"/>'


def _arrow_down(x: float, top: float, bottom: float) -> str:
    return f'<path class="edge" d="M{x:g} {top + 4:g} L{x:g} {bottom - 3:g}" marker-end="url(#head)"/>'


def _moved(parts: list[str], x: float, y: float) -> str:
    return f'<g transform="translate({x:g} {y:g})">' + "\n".join(parts) + "</g>"


def _rect(kind: str, x: float, y: float, width: float, height: float, radius: int) -> str:
    where = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius}"'
    return f'<rect class="{kind}" {where}/>'


def _text(kind: str, x: float, y: float, text: str) -> str:
    style = f' class="{kind}"' if kind else ""
    return f'<text{style} x="{x:g}" y="{y:g}">{escape(text)}</text>'


def _text_width(text: str) -> float:
    """A guess that errs on the wide side: fonts differ, and a box that is too small cuts words."""
    return sum(14.0 if east_asian_width(letter) in "WF" else 7.4 for letter in text)


def _cut(text: str, width: float, letter: float) -> str:
    fits = int(width / letter)
    while text and _text_width(text) * letter / 7.4 > width and len(text) > 1:
        text = text[: min(fits, len(text) - 1)].rstrip("… ") + "…"
        fits -= 1
    return text


def escape(text: str) -> str:
    clean = printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return clean.replace('"', "&quot;")


# --- layout ----------------------------------------------------------------------------------------------
#
# Where the nodes of one section go: layers from left to right, each after all that it waits for.
#
# The usual steps of a layered drawing, in their simplest form: longest path for the layers, a stand-in on
# every layer that an edge passes, and a few sweeps that put each node near the middle of its neighbours.


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
