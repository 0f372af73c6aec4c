"""Typing into a terminal that a person may be using too, and seeing that it was taken.

    still? ─→ put aside what stands on the input line ─→ paste, see it ─→ Enter, see it go ─→ put back

Everything goes to the pane as pasted bytes, not as tmux keys: so a person who reads the scrollback in copy
mode is neither disturbed nor in the way. Whether a program has read what was typed is asked of its terminal,
whose input queue is empty then; a screen only shows what was echoed.
"""

from __future__ import annotations

import array
import fcntl
import os
import re
import termios
import time
from collections.abc import Callable
from typing import NamedTuple

from headcount.errors import ProcessError
from headcount.runtime.base import wait_for
from headcount.runtime.log import plain_text

_STILL_S = 0.6  # clients redraw their spinner several times a second
_SETTLE_S = 0.15
_SHOWN_S = 2.0
_TAKEN_S = 2.0
_AFTER_PASTE_S = 0.3  # clients take an Enter that follows at once for a part of the paste
_ENTER_TRIES = 2
_FRAME = "│┃║| "
# To the end of the line, and kill it: for readline, the clients' editors and the terminal's own editing.
_KILL_LINE = "\x05\x15"
_ENTER = "\r"
# What clients show in place of a long paste.
_FOLDED = re.compile(r"\[pasted", re.IGNORECASE)


class Screen(NamedTuple):
    rows: tuple[str, ...]
    x: int
    y: int

    @property
    def text(self) -> str:
        return "\n".join(self.rows)

    @property
    def before_cursor(self) -> str:
        """What stands left of the cursor on its row."""
        return self.rows[self.y][: self.x] if self.y < len(self.rows) else ""


class Terminal:
    """One pane; `tmux` calls tmux on our socket, and raises `ProcessError`."""

    def __init__(self, pane: str, tmux: Callable[..., str]) -> None:
        self._pane = pane
        self._tmux = tmux
        self._tty = tmux("display-message", "-p", "-t", pane, "#{pane_tty}").strip()

    def screen(self) -> Screen:
        place = self._tmux("display-message", "-p", "-t", self._pane, "#{cursor_x} #{cursor_y}").split()
        rows = self._tmux("capture-pane", "-p", "-t", self._pane).split("\n")
        return Screen(tuple(plain_text(row.encode()) for row in rows), int(place[0]), int(place[1]))

    def is_still(self) -> bool:
        """It waits: all that was typed is read, and the screen does not change for a moment."""
        before = self.screen()
        return self.unread() == 0 and not wait_for(lambda: self.screen() != before, _STILL_S, step_s=0.1)

    def type_line(self, text: str) -> bool:
        """Text and Enter. False when it did not get there, and then the input line is as it was."""
        aside = self._put_aside()
        try:
            return self._paste_and_enter(text)
        finally:
            if aside:
                self._paste(aside)

    def _paste_and_enter(self, text: str) -> bool:
        before = self.screen().text
        self._paste(text)
        if not wait_for(lambda: _shows(self.screen().text, before, text), _SHOWN_S, step_s=0.03):
            self._send(_KILL_LINE)
            return False
        for _ in range(_ENTER_TRIES):
            time.sleep(_AFTER_PASTE_S)
            pasted = self.screen()
            self._send(_ENTER)
            if wait_for(lambda: self._is_submitted(text, pasted), _SHOWN_S, step_s=0.03):  # noqa: B023
                return True
        self._send(_KILL_LINE)
        return False

    def _is_submitted(self, text: str, pasted: Screen) -> bool:
        """The terminal's own editing submits on Enter; of a client we must see that its line is empty."""
        now = self.screen()
        if now == pasted:
            return False
        return self._edits_lines() or not _stands_at_cursor(now, _squash(text))

    def press(self, keys: str) -> None:
        """For a dialog: keys as they are, and no look at what becomes of them."""
        self._send(keys)

    def was_read(self) -> bool:
        return wait_for(lambda: self.unread() == 0, _TAKEN_S)

    # --- what a person has typed

    def _put_aside(self) -> str:
        """Kill the input line; what vanished from the screen is what stood there."""
        before = self.screen()
        self._send(_KILL_LINE)
        wait_for(lambda: self.screen() != before, _SETTLE_S, step_s=0.03)
        after = self.screen()
        return "\n".join(filter(None, (_removed(*pair) for pair in _changed(before, after))))

    # --- the pane and its terminal

    def _paste(self, text: str) -> None:
        self._send(text, "-p")

    def _send(self, text: str, *how: str) -> None:
        buffer = f"nudge-{os.getpid()}-{id(text)}"
        self._tmux("load-buffer", "-b", buffer, "-", stdin=text)
        self._tmux("paste-buffer", *how, "-d", "-b", buffer, "-t", self._pane)

    def unread(self) -> int:
        """Bytes that were typed and that nobody has read."""
        count = array.array("i", [0])
        return self._ask_tty(lambda fd: (fcntl.ioctl(fd, termios.FIONREAD, count), count[0])[1])

    def _edits_lines(self) -> bool:
        return bool(self._ask_tty(lambda fd: termios.tcgetattr(fd)[3] & termios.ICANON))

    def _ask_tty(self, question: Callable[[int], int]) -> int:
        try:
            fd = os.open(self._tty, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
        except OSError as error:
            raise ProcessError("The terminal is gone", str(error), code="no-terminal") from error
        try:
            return question(fd)
        finally:
            os.close(fd)


def _shows(now: str, before: str, text: str) -> bool:
    """The end of the text is there once more than before, however a client has wrapped and framed it."""
    end = _squash(text)[-30:]
    if _squash(now).count(end) > _squash(before).count(end):
        return True
    return len(_FOLDED.findall(now)) > len(_FOLDED.findall(before))


def _stands_at_cursor(screen: Screen, text: str) -> bool:
    """Its end is left of the cursor, or, where Enter only made a new line of it, one row above."""
    row = screen.before_cursor
    if not row.strip(_FRAME) and 0 < screen.y <= len(screen.rows):
        row = screen.rows[screen.y - 1]
    left = _squash(row)
    return bool(left) and text.endswith(left)


def _squash(text: str) -> str:
    return "".join(char for char in text if char.isalnum())


def _changed(before: Screen, after: Screen) -> list[tuple[str, str]]:
    """The rows that differ, from the cursor's own up and down; what changes elsewhere is no input line."""
    pairs = list(zip(before.rows, after.rows, strict=False))
    top = bottom = before.y
    while top >= 0 and top < len(pairs) and pairs[top][0] != pairs[top][1]:
        top -= 1
    while bottom < len(pairs) and pairs[bottom][0] != pairs[bottom][1]:
        bottom += 1
    return pairs[top + 1 : bottom]


def _removed(before: str, after: str) -> str:
    """What of a row is not there any more: between what both begin and both end with."""
    before = before.rstrip()
    after = after.ljust(len(before))  # the screen is blank where nothing stands
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    return before[start : len(before) - end].rstrip()


def _common(one: str, other: str) -> int:
    """How many characters both begin with."""
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
