"""Typing into a terminal that a person may be using too, and seeing that it was taken.

    still? ─→ put aside what stands on the input line ─→ paste, see it ─→ Enter, see it go ─→ put back

A dialog takes any input as an answer. So we look for one before we put aside, paste or enter anything. While
a dialog is shown we send nothing, not even keys that would remove our own text.

Everything goes to the pane as pasted bytes, not as tmux keys: so a person who reads the scrollback in copy
mode is neither disturbed nor in the way. Whether a program has read what was typed is asked of its terminal,
whose input queue is empty then; a screen only shows what was echoed.
"""

from __future__ import annotations

import array
import fcntl
import itertools
import math
import os
import re
import termios
import time
from collections.abc import Callable
from typing import TypeVar

from headcount.errors import ProcessError
from headcount.runtime.process_runtime import TAKEN_S, wait_for
from headcount.runtime.screen_input import FOLDED, Screen, put_aside

_STILL_S = 0.6  # clients redraw their spinner several times a second
_QUIET_S = 0.1
_SHOWN_S = 2.0
_AFTER_PASTE_S = 0.3  # clients take an Enter that follows at once for a part of the paste
_ENTER_TRIES = 2
_FRAME = "│┃║| "
# To the end of the line, and kill it: for readline, the clients' editors and the terminal's own editing.
_KILL_LINE = "\x05\x15"
_ENTER = "\r"
_BUFFERS = itertools.count()  # tmux has one set of buffers for all panes, and many are typed into at once

Answer = TypeVar("Answer")


class Terminal:
    """One pane; `tmux` calls tmux on our socket, and raises `ProcessError`.

    After `limit_s` it waits for nothing any more: then what was not seen is taken as not happened. `hold` is
    what a dialog looks like, as a regular expression.
    """

    def __init__(
        self, pane: str, tmux: Callable[..., str], limit_s: float = math.inf, hold: str = ""
    ) -> None:
        self._deadline = time.monotonic() + limit_s
        self._hold = re.compile(hold, re.MULTILINE) if hold else None
        self._pane = pane
        self._tmux = tmux
        self._tty = tmux("display-message", "-p", "-t", pane, "#{pane_tty}").strip()

    def screen(self) -> Screen:
        """Cursor and rows in one call, so that they belong together."""
        cursor = "display-message", "-p", "-t", self._pane, "#{cursor_x} #{cursor_y}"
        place, *rows = self._tmux(*cursor, ";", "capture-pane", "-p", "-t", self._pane).split("\n")
        x, y = map(int, place.split())
        return Screen(tuple(rows), x, y)

    def is_still(self) -> bool:
        """It waits: all that was typed is read, and the screen does not change for a moment."""
        before = self.screen()
        still_s = self._at_most(_STILL_S)
        return self.unread() == 0 and not wait_for(lambda: self.screen() != before, still_s, step_s=0.1)

    def in_dialog(self) -> bool:
        return self._shows_dialog(self.screen())

    def _shows_dialog(self, screen: Screen) -> bool:
        return self._hold is not None and self._hold.search(screen.text) is not None

    def _at_most(self, seconds: float) -> float:
        return max(0.0, min(seconds, self._deadline - time.monotonic()))

    def type_last_line(self, text: str) -> bool:
        """As `type_line`, for a line that ends the program. Text on its input line is lost in any case."""
        if self.in_dialog():
            return False
        self.send(_KILL_LINE)
        return self._paste_and_enter(text)

    def type_line(self, text: str, *, only_empty: bool = False) -> bool:
        """Text and Enter. False when it did not get there, and then the input line is as it was.

        With `only_empty` it types nothing where a person has begun a line.
        """
        modes = self.modes()
        aside = None if self.in_dialog() else put_aside(self)
        if aside is None:
            return False
        try:
            return not (aside and only_empty) and self._paste_and_enter(text)
        finally:
            if aside:
                self._put_back(aside, modes)

    def _put_back(self, aside: str, modes: int) -> None:
        """When the program is back at its line: what comes in between is taken for something else."""
        wait_for(lambda: self.modes() == modes and self._is_quiet(), self._at_most(_SHOWN_S), step_s=0.03)
        if not self.in_dialog():
            self._paste(aside)

    def _is_quiet(self) -> bool:
        before = self.screen()
        time.sleep(_QUIET_S)
        return self.unread() == 0 and self.screen() == before

    def _paste_and_enter(self, text: str) -> bool:
        before = self.screen()
        if self._shows_dialog(before):
            return False
        self._paste(text)
        shown_s = self._at_most(_SHOWN_S)
        if not wait_for(lambda: _shows(self.screen().text, before.text, text), shown_s, step_s=0.03):
            return self._take_away()
        for _ in range(_ENTER_TRIES):
            time.sleep(_AFTER_PASTE_S)
            pasted = self.screen()
            if self._shows_dialog(pasted):
                return False
            self.send(_ENTER)
            taken_s = self._at_most(_SHOWN_S)
            if wait_for(lambda: self._is_submitted(text, pasted), taken_s, step_s=0.03):  # noqa: B023
                return True
            if self._at_most(_SHOWN_S) == 0.0:
                break
        return self._take_away()

    def _take_away(self) -> bool:
        """What was pasted and not taken; for whoever says so with the answer."""
        if not self.in_dialog():
            self.send(_KILL_LINE)
        return False

    def _is_submitted(self, text: str, pasted: Screen) -> bool:
        """The terminal's own editing submits on Enter; of a client we must see that its line is empty."""
        now = self.screen()
        if now == pasted:
            return False
        return bool(self.modes() & termios.ICANON) or not _stands_at_cursor(now, _squash(text))

    def press(self, keys: str) -> None:
        """For a dialog: keys as they are, and no look at what becomes of them."""
        self.send(keys)

    def was_read(self) -> bool:
        return wait_for(lambda: self.unread() == 0, self._at_most(TAKEN_S))

    # --- the pane and its terminal

    def width(self) -> int:
        """Of a pane that is gone tmux says nothing, and does not call that an error."""
        said = self._tmux("display-message", "-p", "-t", self._pane, "#{pane_width}").strip()
        if not said:
            raise _gone(f"there is no pane {self._pane}")
        return int(said)

    def is_wrapped(self, y: int) -> bool:
        """Return whether the line on this row continues below only because the row was full."""
        both = self._tmux("capture-pane", "-p", "-J", "-S", str(y), "-E", str(y + 1), "-t", self._pane)
        return both.count("\n") == 1

    def _paste(self, text: str) -> None:
        self.send(text, "-p")

    def send(self, text: str, *how: str) -> None:
        if not text:
            return
        buffer = f"nudge-{os.getpid()}-{next(_BUFFERS)}"
        self._tmux("load-buffer", "-b", buffer, "-", stdin=text)
        self._tmux("paste-buffer", *how, "-d", "-b", buffer, "-t", self._pane)

    def unread(self) -> int:
        """Bytes that were typed and that nobody has read."""
        count = array.array("i", [0])
        return self._ask_tty(lambda fd: (fcntl.ioctl(fd, termios.FIONREAD, count), count[0])[1])

    def modes(self) -> int:
        """The local flags of its terminal: whether it edits lines, and shows what is typed."""
        return self._ask_tty(lambda fd: int(termios.tcgetattr(fd)[3]))

    def special(self, which: int) -> str:
        """The character that stands for this in the terminal's own editing; empty when none does."""
        return self._ask_tty(lambda fd: bytes(termios.tcgetattr(fd)[6][which])).strip(b"\0").decode("latin-1")

    def _ask_tty(self, question: Callable[[int], Answer]) -> Answer:
        try:
            fd = os.open(self._tty, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
            try:
                return question(fd)
            finally:
                os.close(fd)
        except (OSError, termios.error) as error:
            raise _gone(str(error)) from error


def _gone(why: str) -> ProcessError:
    return ProcessError("The terminal is gone", why, code="terminal-gone")


def _shows(now: str, before: str, text: str) -> bool:
    """The end of the text is there once more than before, however a client has wrapped and framed it."""
    end = _squash(text)[-30:]
    if _squash(now).count(end) > _squash(before).count(end):
        return True
    return len(FOLDED.findall(now)) > len(FOLDED.findall(before))


def _stands_at_cursor(screen: Screen, text: str) -> bool:
    """Its end is left of the cursor, or, where Enter only made a new line of it, one row above."""
    row = screen.before_cursor
    if not row.strip(_FRAME) and 0 < screen.y <= len(screen.rows):
        row = screen.rows[screen.y - 1]
    left = _squash(row)
    return bool(left) and text.endswith(left)


def _squash(text: str) -> str:
    return "".join(char for char in text if char.isalnum())
