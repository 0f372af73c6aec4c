"""Draw the screen of `status --watch`."""

from __future__ import annotations

import codecs
import os
import re
import select
import signal
import sys
import termios
import threading
import time
import tty
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.cli.status_commands import age_since, describe_doing, describe_refused
from headcount.cli.streams import write_orders
from headcount.cli.terminal_output import fit, plain, width_of
from headcount.domain.display import show_age, show_usd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headcount.app.page import View

    Paint = Callable[[str, str], str]

_ENTER = "\x1b[?1049h\x1b[?25l"
_LEAVE = "\x1b[?25h\x1b[?1049l"
_KEYS = {
    "\x1b[A": "up", "\x1bOA": "up", "\x1b[B": "down", "\x1bOB": "down", "\x1b[5~": "page up",
    "\x1b[6~": "page down", "\x1b[C": "right", "\x1bOC": "right", "\x1b[D": "left", "\x1bOD": "left",
    "\x1b[H": "home", "\x1b[1~": "home", "\x1b[F": "end", "\x1b[4~": "end", "\x1b": "escape",
    "\r": "enter", "\n": "enter", "\t": "tab", "\x7f": "backspace", "\b": "backspace", "\x15": "clear",
}  # fmt: skip
_PART = re.compile(r"\x1b(\[[0-9;]*|O)?\Z")  # of a key that arrives in two pieces
_REST_S = 0.05
GONE = "gone"  # the terminal is
_KEY = re.compile(r"\x1b\[[0-9;]*[ -/]*[@-~]|\x1bO.|.", re.DOTALL)


def split_keys(typed: str) -> list[str]:
    """Return the keys in what a terminal sent at once."""
    return [_KEYS.get(one, one) for one in _KEY.findall(typed)]


class Screen:
    """The terminal's screen while its block is open. A key, a new size or `wake` wakes it."""

    def __init__(self) -> None:
        self._in, self._out = sys.stdin.fileno(), sys.stdout.fileno()
        self._drawn: tuple[Any, ...] | None = None
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._woken, self._waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    @contextmanager
    def open(self) -> Iterator[Screen]:
        before = termios.tcgetattr(self._in)
        handlers = {
            signal.SIGWINCH: signal.signal(signal.SIGWINCH, lambda *_: self.wake()),
            # Stopped in the middle, the shell would be left on our screen.
            signal.SIGTSTP: signal.signal(signal.SIGTSTP, signal.SIG_IGN),
            signal.SIGTERM: signal.signal(signal.SIGTERM, lambda *_: sys.exit(143)),
        }
        try:
            self._take()
            yield self
        finally:
            self._give_back(before)
            for number, handler in handlers.items():
                signal.signal(number, handler)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Lend the terminal to another program."""
        now = termios.tcgetattr(self._in)
        now[3] |= termios.ICANON | termios.ECHO
        self._give_back(now)
        try:
            yield
        finally:
            self._take()

    def size(self) -> tuple[int, int]:
        """Return columns and lines."""
        try:
            found = os.get_terminal_size(self._out)
        except OSError:
            return 80, 24
        return found.columns, found.lines

    def draw(self, lines: Sequence[str]) -> None:
        """Draw lines from the top. Unchanged lines are not sent again."""
        shown = (*lines, self.size())
        if shown == self._drawn:
            return
        self._drawn = shown
        self._write("\x1b[H" + "\r\n".join(f"{line}\x1b[K" for line in lines) + "\x1b[J")

    def wake(self) -> None:
        try:
            os.write(self._waker, b".")
        except BlockingIOError:
            pass  # it is full of wake-ups already

    def wait(self, timeout_s: float) -> list[str]:
        """Return the keys that were pressed, all of them; none after a wake-up or a timeout."""
        ready, _, _ = select.select([self._in, self._woken], [], [], timeout_s)
        if self._woken in ready:
            os.read(self._woken, 4096)
        if self._in not in ready:
            return []
        typed = ""
        while True:
            pressed = os.read(self._in, 4096)
            if not pressed:
                return [*split_keys(typed), GONE]
            typed += self._decode(pressed)
            if not _PART.search(typed) or not select.select([self._in], [], [], _REST_S)[0]:
                return split_keys(typed)

    def _take(self) -> None:
        tty.setcbreak(self._in)
        self._drawn = None
        self._write(_ENTER)

    def _give_back(self, settings: Any) -> None:
        self._write(_LEAVE)
        termios.tcsetattr(self._in, termios.TCSADRAIN, settings)

    def _write(self, text: str) -> None:
        write_orders(sys.stdout, text)
        sys.stdout.flush()


@contextmanager
def waking(screen: Screen, wait: Callable[[float], object]) -> Iterator[None]:
    """Wake the screen whenever `wait` returns, while the block lasts."""
    over = threading.Event()

    def listen() -> None:
        while not over.is_set():
            wait(0.5)
            screen.wake()

    thread = threading.Thread(target=listen, name="bell", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


# --- watch_lines -----------------------------------------------------------------------------------------
#
# What `status --watch` shows, as lines: values in, text out.


KEYS = (
    "up/down choose  Enter detail  / filter  s sort  m message  r reply  p permit  e decide  d stand down  "
    "? keys  q quit"
)
_FEW_KEYS = "Enter / s m r p e d ? q quit"
HELP = (
    ("up down j k", "choose a member; PageUp, PageDown, Home and End too"),
    ("Enter", "its activity, transcript, diff and log: 1 to 4, q or Escape back"),
    ("/", "filter by name, task, state or activity; Escape shows all again"),
    ("s", "sort: needs me, name, state, last active, youngest, cost"),
    ("m", "send it a message"),
    ("r", "reply to a question, of the chosen member or the newest"),
    ("p", "answer a permission request: y allow, n deny, A allow always"),
    ("e", "decide an escalation; E all with the same cause"),
    ("P", "pause it, or continue it"),
    ("M", "merge its commits into the branch that is checked out here"),
    ("d", "stand down: t the team, m only this member, f by force, n without waiting for answers"),
    ("a c", "attach to its terminal; capture its screen"),
    ("? q", "these keys; quit, and the team continues"),
)
_COLOURS = {
    "working": "green", "escalated": "red", "stuck": "red", "killing": "red", "nudged": "yellow",
    "stalled": "yellow", "limited": "yellow", "waiting": "yellow", "asked": "yellow", "forced": "yellow",
    "salvaged": "yellow", "clean": "green",
}  # fmt: skip
_NEEDS = 3
# heading, columns that it gets, and from which width of the terminal on it is shown
_COLUMNS = (
    ("MEMBER", 18, 0), ("STATE", 12, 0), ("AGE", 8, 66), ("UNSAVED", 8, 60), ("COMMITS", 8, 76),
    ("UNREAD", 7, 88), ("TASK", 12, 110), ("COST", 9, 140),
)  # fmt: skip


class Scene(NamedTuple):
    """What stands around the table: who is chosen, what is asked, what was just said, what is typed."""

    chosen: str | None = None
    question: Sequence[str] = ()
    said: str = ""
    wanted: str = ""
    sort: str = "needs me"
    typing: str | None = None


_SORTS: dict[str, Callable[[dict[str, Any], set[str]], Any]] = {
    "needs me": lambda row, needy: 0 if row["key"] in needy else 2 if row["state"] == "gone" else 1,
    "name": lambda row, _: row["key"],
    "state": lambda row, _: state_word(row),
    "last active": lambda row, _: age_since(row["doing"]["at"]) if row["doing"] else float("inf"),
    "youngest": lambda row, _: age_of(row),
    "cost": lambda row, _: -(row["cost_usd"] or 0),
}
SORTS = tuple(_SORTS)


def arrange(view: View, scene: Scene) -> list[dict[str, Any]]:
    """Return the rows that the filter leaves, sorted; equal ones in the order in which they were started."""
    wanted = scene.wanted.lower()
    rows = [row for row in view.members.values() if wanted in _words(row).lower()]
    needy = {need["member"] for need in view.needs}
    return sorted(rows, key=lambda row: _SORTS[scene.sort](row, needy))


def _words(row: dict[str, Any]) -> str:
    doing = row["doing"]["text"] if row["doing"] else ""
    return f"{row['key']} {row['task'] or ''} {row['role']} {state_word(row)} {doing}"


def age_of(row: dict[str, Any]) -> float:
    """Return the seconds since it was started, or how long it lived."""
    if not row["lane"]:
        return 0.0
    state, since = row["lane"][-1]
    return float((since if state == "gone" else time.time()) - row["lane"][0][1])


def draw(view: View, scene: Scene, columns: int, lines: int, paint: Paint) -> list[str]:
    """Return as many lines as fit, each at most as wide as the terminal."""
    width = max(20, columns - 1)
    top = [_title(view, scene, width, paint), *_run(view, width), _header(width, paint)]
    bottom = [*_waiting(view, width, paint), *draw_foot(scene, width, paint), *_keys(scene, width, paint)]
    room = max(1, lines - len(top) - len(bottom))
    rows = _window(arrange(view, scene), scene.chosen, room)
    body = [_row(row, row["key"] == scene.chosen, width, paint) for row in rows]
    return [*top, *body, *bottom][:lines]


def state_word(row: dict[str, Any]) -> str:
    if row["outcome"]:
        if row["cause"]:
            return "failed"
        return "ended" if row["outcome"] == "already_gone" else str(row["outcome"])
    return str(row["activity"] if row["state"] == "running" else row["state"])


def draw_help(columns: int, lines: int, paint: Paint) -> list[str]:
    width = max(20, columns - 1)
    shown = [fit(f"  {key:<12} {what}", width).rstrip() for key, what in HELP]
    return [paint("Keys (any key goes back)", "bold"), *shown][:lines]


def _title(view: View, scene: Scene, width: int, paint: Paint) -> str:
    live = sum(1 for row in view.members.values() if row["state"] != "gone")
    status = str(view.about["status"]).replace("_", " ")
    cost = view.about["cost_usd"]
    paid = f"  {show_usd(cost)}" if cost is not None else ""
    said = f"{view.about['team']}: {status}  {live} of {len(view.members)} members alive{paid}"
    said += f"  {time.strftime('%H:%M:%S')}"
    said += f"  filter: {plain(scene.wanted)}" if scene.wanted else ""
    said += f"  sort: {scene.sort}" if scene.sort != SORTS[0] else ""
    return paint(fit(said, width).rstrip(), "bold")


def _run(view: View, width: int) -> list[str]:
    """Return lines about the run: progress, and tasks in progress."""
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
    """Return the columns to show. In a narrow terminal the name is cut, not the state."""
    shown = [(heading, columns) for heading, columns, least in _COLUMNS if width >= least]
    room = max(4, width - 2 - shown[1][1])
    return [(shown[0][0], min(shown[0][1], room)), *shown[1:]]


def _header(width: int, paint: Paint) -> str:
    words = "".join(fit(heading, columns) for heading, columns in _columns(width))
    return paint(fit(f"  {words}WHAT NOW", width).rstrip(), "dim")


def _row(row: dict[str, Any], chosen: bool, width: int, paint: Paint) -> str:
    name = row["key"] if row["generation"] > 1 else row["name"]
    state = state_word(row)
    cells = {
        "MEMBER": name, "STATE": state, "AGE": show_age(age_of(row)) if row["lane"] else "",
        "UNSAVED": _unsaved(row), "COMMITS": str(row["ahead"] or "-"), "UNREAD": str(row["unread"] or "-"),
        "TASK": row["task"] or "-", "COST": "" if row["cost_usd"] is None else show_usd(row["cost_usd"]),
    }  # fmt: skip
    columns = _columns(width)
    shown = [fit(fit(plain(cells[heading]), c - 1), c) for heading, c in columns]
    shown[1] = paint(shown[1], _COLOURS.get(state, "dim"))
    used = 2 + sum(c for _, c in columns)
    rest = fit(plain(_what_now(row)), max(0, width - used)).rstrip()
    return f"{paint('>', 'bold') if chosen else ' '} {''.join(shown)}{rest}"


def _unsaved(row: dict[str, Any]) -> str:
    """Return how much is unsaved: `-` for nothing, `?` while its workspace was not read yet."""
    if row["dirty"] is None:
        return "?" if row["state"] not in ("gone", "starting") else ""
    return str(row["dirty"] or "-")


def _what_now(row: dict[str, Any]) -> str:
    if row["failure"]:
        return f"never started: {row['failure']}"
    if row["cause"]:
        return str(row["cause"])
    if row["state"] == "gone":
        return f"saved to {row['salvage'][-1]}" if row["salvage"] else "proved gone"
    if row["asked"] or row["state"] == "stuck":
        within = f" (at most {row['limit']:g} s)" if row["limit"] else ""
        return f"{row['waits']}{within}"
    doing = describe_doing(row["doing"]) if row["doing"] else ""
    return "; ".join(filter(None, (*row["issues"], doing, describe_refused(row["refused"]))))


def _window(rows: list[dict[str, Any]], chosen: str | None, room: int) -> list[dict[str, Any]]:
    """Return the rows that fit, including the chosen one."""
    at = next((i for i, row in enumerate(rows) if row["key"] == chosen), 0)
    first = max(0, min(at - room // 2, len(rows) - room))
    return rows[first : first + room]


def _waiting(view: View, width: int, paint: Paint) -> list[str]:
    """Return what needs a person, the newest few, each with its age."""
    lines = []
    for need in view.needs[:_NEEDS]:
        is_urgent = need["kind"] in ("escalation", "failure")
        what = "" if need["kind"] in ("escalation", "ask") else f"{need['kind']}: "
        age = f"  {show_age(age_since(need['at']))}" if need["at"] else ""
        sign, number = "!" if is_urgent else "?", need["id"] or "terminal"
        said = plain(f"{sign} {number} {need['member']}: {what}{need['text']}")
        line = fit(said, min(width_of(said), max(1, width - len(age)))) + age
        lines.append(paint(line, "red" if is_urgent else "yellow"))
    more = len(view.needs) - len(lines)
    return [*lines, paint(f"! {more} more need you: see `headcount todo`", "red")] if more else lines


def _fit_end(text: str, width: int) -> str:
    """Return the end of a text that is being typed."""
    while width_of(text) > width:
        text = text[1:]
    return text


def draw_foot(scene: Scene, width: int, paint: Paint) -> list[str]:
    """Return the last result, the open question, and the line that the user types."""
    lines = [fit(plain(scene.said), width).rstrip()] if scene.said else []
    lines += [paint(fit(plain(line), width).rstrip(), "bold") for line in scene.question]
    if scene.typing is not None:
        lines.append(paint(f"{_fit_end(plain(scene.typing), width - 1)}_", "bold"))
    return lines


def _keys(scene: Scene, width: int, paint: Paint) -> list[str]:
    if scene.question or scene.typing is not None:
        return []
    return [paint(fit(KEYS if width_of(KEYS) <= width else _FEW_KEYS, width).rstrip(), "dim")]
