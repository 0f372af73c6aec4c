"""One member closer, in `status --watch`: its activity, transcript, diff and log as lines that scroll."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from headcount.app.file_diffs import read_files
from headcount.app.page import read_member
from headcount.app.review import find_made
from headcount.app.transcripts import read_transcript
from headcount.cli.status_commands import describe_doing, describe_refused, describe_work
from headcount.cli.terminal_output import fit, plain
from headcount.cli.watch_screen import age_of, state_word
from headcount.domain.display import show_age, show_usd
from headcount.errors import HeadcountError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headcount.app.app import App
    from headcount.app.page import View
    from headcount.cli.watch_screen import Paint

PAGES = ("activity", "transcript", "diff", "log")
_STEPS = {
    "up": -1, "k": -1, "down": 1, "j": 1, "page up": -20, "page down": 20, " ": 20, "home": -10**9,
    "g": -10**9, "end": 10**9, "G": 10**9,
}  # fmt: skip
_SIDEWAYS = {"left": -20, "right": 20}
_COLOURS = {"+": "green", "-": "red", "@": "dim"}
_MOST_LINES = 20_000
_LONGEST = 4_000
KEYS = "1-4 tab page  arrows scroll  m message  P pause  M merge  d stand down  q back"


class Detail:
    """The pages of one member. `wake` is called when a page has new lines."""

    def __init__(self, app: App, team: str, key: str, wake: Callable[[], None]) -> None:
        self._app = app
        self._team = team
        self.key = key
        self._wake = wake
        self._page = PAGES[0]
        self._top: int | None = 0  # None: at the end, as it grows
        self._left = 0
        self._lines: Iterable[str] = ()
        self._head = ""
        self._over = threading.Event()
        self._read: dict[str, Any] = {}

    def close(self) -> None:
        self._over.set()

    def press(self, key: str, room: int) -> bool:
        """Return whether the key turned a page or scrolled."""
        if key in ("1", "2", "3", "4"):
            self.turn(PAGES[int(key) - 1])
        elif key == "tab":
            self.turn(PAGES[(PAGES.index(self._page) + 1) % len(PAGES)])
        elif key in _STEPS:
            last = max(0, len(list(self._lines)) - room)
            at = last if self._top is None else min(self._top, last)
            at = max(0, min(last, at + _STEPS[key]))
            self._top = None if self._page == "transcript" and at == last else at
        elif key in _SIDEWAYS:
            self._left = max(0, self._left + _SIDEWAYS[key])
        else:
            return False
        return True

    def turn(self, page: str) -> None:
        self._over.set()
        self._over = threading.Event()
        self._page, self._left = page, 0
        self._top = None if page == "transcript" else 0
        self._lines, self._head = ("Reading…",), ""
        reads = {"transcript": self._follow, "diff": self._read_diff}.get(page)
        if reads is not None:
            threading.Thread(target=reads, args=(self._over,), name=page, daemon=True).start()

    def draw(self, view: View, columns: int, lines: int, paint: Paint) -> list[str]:
        """Return as many lines as fit, without control characters of what a member wrote."""
        width, row = max(20, columns - 1), view.members.get(self.key)
        if row is None:
            return [f"{self.key} is not in this team any more (q goes back)"]
        if self._page == "activity":
            self._lines = self._describe(view, row)
        elif self._page == "log":
            self._lines = [f"{_clock(line['at'])} {line['what']}" for line in self._member()["log"]]
        tabs = "  ".join(
            f"[{n} {page}]" if page == self._page else f" {n} {page} " for n, page in enumerate(PAGES, 1)
        )
        head = f"{self.key} ({row['role']}) {state_word(row)}  {time.strftime('%H:%M:%S')}"
        top = [paint(fit(head, width).rstrip(), "bold"), fit(tabs, width).rstrip()]
        if self._head:
            top.append(fit(plain(self._head), width).rstrip())
        room = max(1, lines - len(top) - 2)
        every = list(self._lines)
        last = max(0, len(every) - room)
        at = last if self._top is None else min(self._top, last)
        shown = [self._line(text, width, paint) for text in every[at : at + room]]
        more = f"  lines {at + 1}-{at + len(shown)} of {len(every)}" if len(every) > room else ""
        return [*top, *shown, paint(fit(f"{KEYS}{more}", width).rstrip(), "dim")]

    def _line(self, text: str, width: int, paint: Paint) -> str:
        shown = fit(plain(text.expandtabs(4))[self._left :], width).rstrip()
        colour = _COLOURS.get(text[:1]) if self._page == "diff" else None
        return paint(shown, colour) if colour and shown else shown

    def _member(self) -> dict[str, Any]:
        if not self._read:
            self._read = read_member(self._app, self._team, self.key)
        return self._read

    def _describe(self, view: View, row: dict[str, Any]) -> list[str]:
        found = self._member()
        place = found["workspace"] or {}
        doing = describe_doing(row["doing"]) if row["doing"] else ""
        cost = show_usd(row["cost_usd"]) if row["cost_usd"] is not None else ""
        facts = {
            "state": state_word(row), "age": show_age(age_of(row)), "activity": doing, "task": row["task"],
            "work": describe_work(row["ahead"], row["dirty"]), "cost": cost, "branch": place.get("branch"),
            "workspace": place.get("path"), "refused": describe_refused(row["refused"]),
        }  # fmt: skip
        needs = [f"! {need['kind']}: {need['text']}" for need in view.needs if need["member"] == self.key]
        points = found["checkpoints"]
        lines = [f"{name:<10} {value}" for name, value in facts.items() if value]
        if points:
            lines.append(f"{'checkpoints':<10} {len(points)}, the last {points[-1]['id']}")
        prompt = ["", "prompt", *(f"  {line}" for line in found["prompt"].splitlines())]
        last = [f"  {_clock(line['at'])} {line['what']}" for line in found["log"][-8:]]
        return [*needs, *lines, *(prompt if found["prompt"] else []), "", "happened last", *last]

    # --- threads of their own: a page that takes long does not hold up keys

    def _follow(self, over: threading.Event) -> None:
        lines: deque[str] = deque(("",), maxlen=_MOST_LINES)
        self._lines = lines
        try:
            for text in read_transcript(self._app, self.key, self._team, follow=True):
                if over.is_set():
                    return
                first, *rest = text.split("\n")
                lines[-1] = (lines[-1] + first)[:_LONGEST]
                lines.extend(line[:_LONGEST] for line in rest)
                if text:
                    self._wake()
        except HeadcountError as error:
            lines.append(error.what)
        self._wake()

    def _read_diff(self, over: threading.Event) -> None:
        try:
            about = read_files(self._app, self.key, self._team)
            patch = find_made(self._app, self.key, self._team).diff("--patch").split("\n", _MOST_LINES)
        except HeadcountError as error:
            about, patch = None, [f"{error.what}: {error.why}"]
        if over.is_set():
            return
        self._lines = [line[:_LONGEST] for line in patch]
        if about is not None:
            added, deleted = (sum(file[n] or 0 for file in about["files"]) for n in ("added", "deleted"))
            tests = f"; tests: {about['tests'][-1]}" if about["tests"] else ""
            work = describe_work(len(about["commits"]), len(about["files"])) or "nothing changed"
            self._head = f"{work}, +{added} -{deleted}{tests}"
        self._wake()


def _clock(at: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at))
