"""What `status --watch` shows, as lines: values in, text out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.cli.screen import fit, width_of
from headcount.cli.terminal import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headcount.app.page import View

    Paint = Callable[[str, str], str]

KEYS = "up/down choose  d stand down  e decide  a attach  c capture  q quit"
_COLOURS = {
    "working": "green", "escalated": "red", "stuck": "red", "killing": "red", "nudged": "yellow",
    "stalled": "yellow", "limited": "yellow", "waiting": "yellow", "asked": "yellow", "forced": "yellow",
    "salvaged": "yellow", "clean": "green",
}  # fmt: skip
# heading, columns that it gets, and from which width of the terminal on it is shown
_COLUMNS = (("MEMBER", 18, 0), ("STATE", 12, 0), ("UNSAVED", 8, 60), ("UNREAD", 7, 80), ("TASK", 12, 100))


class Scene(NamedTuple):
    """What stands around the table: who is chosen, what is asked, what was just said."""

    chosen: str | None = None
    question: Sequence[str] = ()
    said: str = ""


def draw(view: View, scene: Scene, columns: int, lines: int, paint: Paint) -> list[str]:
    """Exactly as many lines as fit, each at most as wide as the terminal."""
    width = max(20, columns - 1)
    top = [_title(view, width, paint), *_run(view, width), _header(width, paint)]
    bottom = [*_waiting(view, width, paint), *_foot(scene, width, paint)]
    room = max(1, lines - len(top) - len(bottom))
    rows = _window(list(view.members.values()), scene.chosen, room)
    body = [_row(row, row["key"] == scene.chosen, width, paint) for row in rows]
    return [*top, *body, *bottom][:lines]


def state_word(row: dict[str, Any]) -> str:
    if row["outcome"]:
        return "ended" if row["outcome"] == "already_gone" else str(row["outcome"])
    return str(row["activity"] if row["state"] == "running" else row["state"])


def _title(view: View, width: int, paint: Paint) -> str:
    live = sum(1 for row in view.members.values() if row["state"] != "gone")
    status = str(view.about["status"]).replace("_", " ")
    said = f"{view.about['team']}: {status}  {live} of {len(view.members)} members alive"
    return paint(fit(said, width).rstrip(), "bold")


def _run(view: View, width: int) -> list[str]:
    """How far its tasks are, and which of them are under way."""
    run = view.about["run"]
    if run is None:
        return []
    done = sum(task["state"] == "complete" for task in run["tasks"])
    others = [
        f"{task['id']} {task['state'].replace('_', ' ')}"
        for task in run["tasks"]
        if task["state"] not in ("complete", "waiting")
    ]
    said = f"run: {run['status'].replace('_', ' ')}, {done} of {len(run['tasks'])} tasks complete"
    return [fit("; ".join([said, *others]), width).rstrip()]


def _columns(width: int) -> list[tuple[str, int]]:
    """Those that are shown; in a very narrow terminal the name gives way, and the state does not."""
    shown = [(heading, columns) for heading, columns, least in _COLUMNS if width >= least]
    room = max(4, width - 2 - shown[1][1])
    return [(shown[0][0], min(shown[0][1], room)), *shown[1:]]


def _header(width: int, paint: Paint) -> str:
    words = "".join(fit(heading, columns) for heading, columns in _columns(width))
    return paint(fit(f"  {words}WHAT NOW", width).rstrip(), "dim")


def _row(row: dict[str, Any], chosen: bool, width: int, paint: Paint) -> str:
    name = row["key"] if row["generation"] > 1 else row["name"]
    state = state_word(row)
    cells = [name, state, str(row["dirty"] or "-"), str(row["unread"] or "-"), row["task"] or "-"]
    columns = [columns for _, columns in _columns(width)]
    shown = [fit(fit(plain(cell), c - 1), c) for cell, c in zip(cells, columns, strict=False)]
    shown[1] = paint(shown[1], _COLOURS.get(state, "dim"))
    used = 2 + sum(columns)
    rest = fit(plain(_what_now(row)), max(0, width - used)).rstrip()
    return f"{paint('>', 'bold') if chosen else ' '} {''.join(shown)}{rest}"


def _what_now(row: dict[str, Any]) -> str:
    if row["failure"]:
        return f"never started: {row['failure']}"
    if row["state"] == "gone":
        return f"saved to {row['salvage'][-1]}" if row["salvage"] else "proved gone"
    if row["asked"] or row["state"] == "stuck":
        within = f" (at most {row['limit']:g} s)" if row["limit"] else ""
        return f"{row['waits']}{within}"
    return "; ".join(row["issues"])


def _window(rows: list[dict[str, Any]], chosen: str | None, room: int) -> list[dict[str, Any]]:
    """As many as fit, with the chosen one among them."""
    at = next((i for i, row in enumerate(rows) if row["key"] == chosen), 0)
    first = max(0, min(at - room // 2, len(rows) - room))
    return rows[first : first + room]


def _waiting(view: View, width: int, paint: Paint) -> list[str]:
    """Open escalations, the first few: they are what somebody must look at."""
    waiting = [e for e in view.escalations if e["state"] in ("open", "parked")]
    lines = [
        paint(fit(plain(f"! {e['id']} {e['key']}: {'; '.join(e['issues'])}"), width).rstrip(), "red")
        for e in waiting[:3]
    ]
    more = len(waiting) - len(lines)
    return [*lines, paint(f"! {more} more wait for a decision", "red")] if more else lines


def _foot(scene: Scene, width: int, paint: Paint) -> list[str]:
    said = [fit(plain(scene.said), width).rstrip()] if scene.said else []
    if scene.question:
        return [*said, *(paint(fit(plain(line), width).rstrip(), "bold") for line in scene.question)]
    keys = KEYS if width_of(KEYS) <= width else "d down e decide a attach c capture q quit"
    return [*said, paint(fit(keys, width).rstrip(), "dim")]
