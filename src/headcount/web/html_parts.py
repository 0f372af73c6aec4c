"""HTML as values, and the timeline as SVG.

`el` escapes text where it enters an element, so no caller can forget to.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_VOID = frozenset(("meta", "br", "rect", "line", "circle", "path"))


class Markup(str):
    """Text that is markup already: only `el` and `raw` make it."""

    __slots__ = ()


Child = str | int | float | None


def el(tag: str, *children: Child, **attributes: str | int | float | None) -> Markup:
    """Return an element. `class_` is class, `http_equiv` is http-equiv, and None is omitted."""
    said = "".join(_attribute(name, value) for name, value in attributes.items() if value is not None)
    if tag in _VOID and not children:
        return Markup(f"<{tag}{said}>" if tag in ("meta", "br") else f"<{tag}{said}/>")
    return Markup(f"<{tag}{said}>{join(*children)}</{tag}>")


def join(*children: Child) -> Markup:
    return Markup("".join(_text(child) for child in children if child is not None))


def raw(text: str) -> Markup:
    """Mark text as markup. Only for headcount's own style sheets."""
    return Markup(text)


def _text(child: Child) -> str:
    return child if isinstance(child, Markup) else html.escape(_visible(str(child)), quote=False)


def _attribute(name: str, value: str | int | float) -> str:
    shown = name.rstrip("_").replace("_", "-")
    return f' {shown}="{html.escape(_visible(str(value)))}"'


def _visible(text: str) -> str:
    """Return text without control characters, some of which change the direction of their neighbours."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


# --- the timeline --------------------------------------------------------------------------------------
#
# The timeline as a picture: a lane for each member, drawn to one scale, readable without a script.


WIDTH = 1040
_LABELS = 150
_LANE = 26
_BAR = 16
_AXIS = 28
_LETTER = 6.4  # about the width of one at this size: a word is written only where it fits
_STEPS_S = (
    0.1,
    0.2,
    0.5,
    1,
    2,
    5,
    10,
    20,
    30,
    60,
    120,
    300,
    600,
    1200,
    1800,
    3600,
    7200,
    14400,
    43200,
    86400,
)
_TICKS = 10
SHOWN_AS = {
    "starting": "starting",
    "running": "working",
    "idle": "idle",
    "paused": "paused",
    "limited": "at a usage limit",
    "asked": "asked",
    "inspecting": "inspected",
    "verified": "verified",
    "nudged": "nudged",
    "escalated": "escalated",
    "salvaging": "salvaged",
    "stopping": "stopping",
    "killing": "killed",
}


class Scale:
    """Seconds since the beginning of the picture, to pixels."""

    def __init__(self, begin: float, end: float) -> None:
        self.begin = begin
        self.seconds = max(end - begin, 0.001)

    def x(self, at: float) -> float:
        share = min(max((at - self.begin) / self.seconds, 0.0), 1.0)
        return round(_LABELS + share * (WIDTH - _LABELS - 10), 1)


def draw_timeline(members: Sequence[Mapping[str, Any]], begin: float, end: float, title: str) -> Markup:
    scale = Scale(begin, end)
    height = _AXIS + _LANE * len(members) + 6
    lanes = [_lane(member, number, scale) for number, member in enumerate(members)]
    return el(
        "svg",
        el("title", title),
        _axis(scale, height),
        *lanes,
        viewBox=f"0 0 {WIDTH} {height}",
        role="img",
        class_="timeline",
    )


def legend() -> Markup:
    return el(
        "ul",
        *(el("li", el("span", class_=f"key s-{state}"), word) for state, word in SHOWN_AS.items()),
        class_="legend",
    )


def _axis(scale: Scale, height: int) -> Markup:
    step = next((s for s in _STEPS_S if scale.seconds / s <= _TICKS), _STEPS_S[-1])
    marks = []
    for number in range(int(scale.seconds / step) + 1):
        x = scale.x(scale.begin + number * step)
        marks.append(el("line", x1=x, x2=x, y1=_AXIS - 6, y2=height, class_="tick"))
        marks.append(el("text", say_seconds(number * step), x=x, y=_AXIS - 12, class_="axis"))
    return el("g", *marks)


def _lane(member: Mapping[str, Any], number: int, scale: Scale) -> Markup:
    y = _AXIS + number * _LANE
    name = f"{member['name']}#{member['generation']}" if member["generation"] > 1 else member["name"]
    shown = name if len(name) <= 20 else f"{name[:19]}…"
    spans = [_span(span, y, scale) for span in member["spans"] if _is_drawn(span, scale)]
    marks = [
        _mark(mark, y, scale) for mark in member["marks"] if 0 <= mark["at"] - scale.begin <= scale.seconds
    ]
    return el(
        "g",
        el("text", el("title", name), shown, x=_LABELS - 10, y=y + _BAR - 3, class_="who"),
        *spans,
        *marks,
    )


def _is_drawn(span: Mapping[str, Any], scale: Scale) -> bool:
    return bool(span["to"] >= scale.begin and span["from"] <= scale.begin + scale.seconds)


def _span(span: Mapping[str, Any], y: float, scale: Scale) -> Markup:
    left, right = scale.x(span["from"]), scale.x(span["to"])
    width = max(round(right - left, 1), 1.5)  # however short, it happened
    word = SHOWN_AS.get(span["state"], span["state"])
    took = say_seconds(span["to"] - span["from"])
    title = el("title", f"{word}, {took}, from {say_seconds(span['from'] - scale.begin)} on")
    bar = el("rect", title, x=left, y=y, width=width, height=_BAR, rx=2, class_=f"s-{span['state']}")
    if width < len(word) * _LETTER + 8:
        return bar
    return el("g", bar, el("text", word, x=left + 5, y=y + _BAR - 4.5, class_=f"in t-{span['state']}"))


def _mark(mark: Mapping[str, Any], y: float, scale: Scale) -> Markup:
    title = el("title", f"{say_seconds(mark['at'] - scale.begin)}: {mark['what']}")
    return el(
        "circle", title, cx=scale.x(mark["at"]), cy=y + _BAR + 3, r=2.6, class_=f"mark m-{mark['kind']}"
    )


def say_seconds(seconds: float) -> str:
    """Return a duration for people: 0.4 s, 12 s, 3 min 20 s, 2 h 5 min."""
    if seconds < 0:
        return f"-{say_seconds(-seconds)}"
    if seconds < 60:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
