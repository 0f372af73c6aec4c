"""Draw the screen of `status --watch`."""

from __future__ import annotations

import os
import re
import select
import signal
import sys
import termios
import threading
import tty
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.cli.status_commands import describe_doing, describe_refused
from headcount.cli.streams import write_orders
from headcount.cli.terminal_output import fit, plain, width_of
from headcount.domain.display import show_usd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headcount.app.page import View

    Paint = Callable[[str, str], str]

_ENTER = "\x1b[?1049h\x1b[?25l"
_LEAVE = "\x1b[?25h\x1b[?1049l"
_KEYS = {
    "\x1b[A": "up", "\x1bOA": "up", "\x1b[B": "down", "\x1bOB": "down", "\x1b[5~": "page up",
    "\x1b[6~": "page down", "\x1b": "escape", "\r": "enter", "\n": "enter",
}  # fmt: skip
_KEY = re.compile(r"\x1b\[[0-9;]*[ -/]*[@-~]|\x1bO.|.", re.DOTALL)


def split_keys(typed: str) -> list[str]:
    """Return the keys in what a terminal sent at once."""
    return [_KEYS.get(one, one) for one in _KEY.findall(typed)]


class Screen:
    """The terminal's screen while its block is open. A key, a new size or `wake` wakes it."""

    def __init__(self) -> None:
        self._in, self._out = sys.stdin.fileno(), sys.stdout.fileno()
        self._drawn: tuple[Any, ...] | None = None
        self._typed: deque[str] = deque()
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

    def wait(self, timeout_s: float) -> str | None:
        """Return the next key, or None after a wake-up or a timeout."""
        if self._typed:
            return self._typed.popleft()
        ready, _, _ = select.select([self._in, self._woken], [], [], timeout_s)
        if self._woken in ready:
            os.read(self._woken, 4096)
        if self._in not in ready:
            return None
        pressed = os.read(self._in, 4096)
        if not pressed:
            return "q"  # the terminal is gone
        self._typed.extend(split_keys(pressed.decode("utf-8", "replace")))
        return self._typed.popleft()

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


KEYS = "up/down choose  d stand down  e decide  p permit  a attach  c capture  q quit"
_COLOURS = {
    "working": "green", "escalated": "red", "stuck": "red", "killing": "red", "nudged": "yellow",
    "stalled": "yellow", "limited": "yellow", "waiting": "yellow", "asked": "yellow", "forced": "yellow",
    "salvaged": "yellow", "clean": "green",
}  # fmt: skip
# heading, columns that it gets, and from which width of the terminal on it is shown
_COLUMNS = (
    ("MEMBER", 18, 0), ("STATE", 12, 0), ("UNSAVED", 8, 60), ("COMMITS", 8, 72), ("UNREAD", 7, 88),
    ("TASK", 12, 110),
)  # fmt: skip


class Scene(NamedTuple):
    """What stands around the table: who is chosen, what is asked, what was just said."""

    chosen: str | None = None
    question: Sequence[str] = ()
    said: str = ""


def draw(view: View, scene: Scene, columns: int, lines: int, paint: Paint) -> list[str]:
    """Return as many lines as fit, each at most as wide as the terminal."""
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
    cost = view.about["cost_usd"]
    paid = f"  {show_usd(cost)}" if cost is not None else ""
    said = f"{view.about['team']}: {status}  {live} of {len(view.members)} members alive{paid}"
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
    counts = (str(row[name] or "-") for name in ("ahead", "unread"))
    cells = [name, state, _unsaved(row), *counts, row["task"] or "-"]
    columns = [columns for _, columns in _columns(width)]
    shown = [fit(fit(plain(cell), c - 1), c) for cell, c in zip(cells, columns, strict=False)]
    shown[1] = paint(shown[1], _COLOURS.get(state, "dim"))
    used = 2 + sum(columns)
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
    """Open escalations and permission requests, the first few: somebody must look at them."""
    waiting = [
        f"! {e['id']} {e['key']}: {'; '.join(e['issues'])}"
        for e in view.escalations
        if e["state"] in ("open", "parked")
    ]
    waiting += [f"? {one['id'] or 'terminal'} {one['member']}: {one['title']}" for one in view.asks]
    lines = [
        paint(fit(plain(text), width).rstrip(), "red" if text[0] == "!" else "yellow") for text in waiting[:3]
    ]
    more = len(waiting) - len(lines)
    return [*lines, paint(f"! {more} more wait for a decision", "red")] if more else lines


def _foot(scene: Scene, width: int, paint: Paint) -> list[str]:
    said = [fit(plain(scene.said), width).rstrip()] if scene.said else []
    if scene.question:
        return [*said, *(paint(fit(plain(line), width).rstrip(), "bold") for line in scene.question)]
    keys = KEYS if width_of(KEYS) <= width else "d down e decide p permit a attach c capture q quit"
    return [*said, paint(fit(keys, width).rstrip(), "dim")]
