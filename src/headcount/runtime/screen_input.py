"""Read the screen of a terminal, and take what a person has typed on its input line and not sent.

headcount reads the line first, and only then takes it away. There are two kinds of input lines, and the
terminal tells which it is.

- The terminal edits the line itself, for programs that read whole lines. It prints what was typed once more
  when asked to (the REPRINT character), on a row of its own, so nothing has to be guessed.
- The program edits it (readline, the clients of agents). Then its cursor is sent to the end and the beginning
  of the line, which shows what stands between, and changes nothing.

A line that cannot be read is left as it is, and the nudge waits: several lines, a line that the program
itself has broken into rows, a paste that it shows folded, a line that is not echoed, a screen that moves.
Tabs are read as the blanks that they show, and the cursor ends behind the text.
"""

from __future__ import annotations

import re
import termios
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

from headcount.runtime.process_runtime import wait_for

if TYPE_CHECKING:
    from headcount.runtime.terminal import Terminal


class Screen(NamedTuple):
    rows: tuple[str, ...]
    x: int
    y: int

    @property
    def text(self) -> str:
        return "\n".join(self.rows)

    @property
    def cursor(self) -> tuple[int, int]:
        return self.x, self.y

    @property
    def before_cursor(self) -> str:
        """Return the text left of the cursor on its row."""
        return cut(self.row(self.y), 0, self.x)

    def row(self, y: int) -> str:
        return self.rows[y] if 0 <= y < len(self.rows) else ""


def columns(text: str) -> int:
    return sum(map(_columns, text))


def cut(row: str, begin: int, end: int) -> str:
    """Return the text in these columns, with blanks where the row has none."""
    kept, at = "", 0
    for char in row:
        if begin <= at < end or (kept and at == end and not _columns(char)):
            kept += char
        at += _columns(char)
    return kept + " " * (end - max(begin, at))


def _columns(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


# --- typed and not sent ------------------------------------------------------------------------------


_HOME, _END, _LEFT, _RIGHT, _BACKSPACE, _KILL = "\x01", "\x05", "\x1b[D", "\x1b[C", "\x7f", "\x15"
_MOVES_S = 3.0
_STAYS_S = 0.25
_REST_S = 0.04
# What clients show in place of a long paste, or of a picture: what stands behind it cannot be read.
FOLDED = re.compile(r"\[(?:pasted|image)\b", re.IGNORECASE)


def put_aside(terminal: Terminal) -> str | None:
    """Empty the input line, and return its text. None: it could not be read, and stays."""
    modes = terminal.modes()
    if modes & termios.ICANON:
        return _take_from_terminal(terminal, modes)
    typed = _read(terminal)
    if not typed:
        terminal.send(_BACKSPACE if typed == "" else "")
        return typed
    terminal.send(_KILL)
    left = _read(terminal)
    terminal.send(_BACKSPACE if left is not None else "")
    if left == "":
        return typed
    terminal.send(typed.removeprefix(left or ""))  # rather twice than lost
    return None


# --- lines that the terminal edits -----------------------------------------------------------------------


def _take_from_terminal(terminal: Terminal, modes: int) -> str | None:
    again, kill = terminal.special(termios.VREPRINT), terminal.special(termios.VKILL)
    if not modes & termios.ECHO or not modes & termios.IEXTEN or not again or not kill:
        return None
    before = terminal.screen()
    if before.x == 0:
        return ""
    terminal.send(again)
    if not wait_for(lambda: terminal.screen() != before, _MOVES_S, step_s=0.03):
        return None
    typed = _reprinted(terminal)
    if typed is not None:
        terminal.send(kill)
    return typed


def _reprinted(terminal: Terminal) -> str | None:
    """It stands from the first column to the cursor now; tmux knows which rows are one line."""
    now = terminal.screen()
    if wait_for(lambda: terminal.screen() != now, _STAYS_S, step_s=0.05):
        return None
    top = now.y
    while top > 0 and terminal.is_wrapped(top - 1):
        top -= 1
    if not now.row(top - 1).rstrip().endswith("^R"):
        return None
    return _join(now, 0, top, terminal.width())


# --- lines that the program edits ------------------------------------------------------------------------
#
# Whatever is asked of the program ends with a key that moves its cursor, so that its answer is waited for and
# not guessed from silence: a client that is busy may take its time.


def _read(terminal: Terminal) -> str | None:
    """What stands on the line, and a blank of ours behind it then: so no line is empty, and all keys move.

    None when that is not the whole input, or cannot be read; then the blank is gone again.
    """
    end = _press(terminal, _END + " ")
    if end is None:
        terminal.send(_BACKSPACE if terminal.unread() == 0 else "")
        return None
    if _goes_on(terminal, _RIGHT, end):
        terminal.send(_LEFT + _BACKSPACE)
        return None
    home = _press(terminal, _HOME)
    if home is None or _goes_on(terminal, _LEFT, home):
        terminal.send((_RIGHT + _END if home else "") + _BACKSPACE)
        return None
    _press(terminal, _END)
    typed = _between(terminal, home, end)
    if not typed or FOLDED.search(typed):
        terminal.send(_BACKSPACE)
        return None
    return typed[:-1]


def _goes_on(terminal: Terminal, step: str, here: Screen) -> bool:
    """Whether there is another line beyond this one, where the cursor is then; a blank shows where."""
    _press(terminal, step + " ")
    _press(terminal, _BACKSPACE)
    return terminal.screen().cursor != here.cursor


def _between(terminal: Terminal, home: Screen, end: Screen) -> str | None:
    """None where the program itself has broken rows: whether at a blank, it alone knows."""
    ours = slice(home.y, end.y + 1)
    if home.rows[ours] != end.rows[ours] or not all(map(terminal.is_wrapped, range(home.y, end.y))):
        return None
    return _join(end, home.x, home.y, terminal.width())


def _press(terminal: Terminal, keys: str) -> Screen | None:
    """The screen when the cursor has moved and rests; None when it did not."""
    seen = [terminal.screen()]

    def rests() -> bool:
        seen.append(terminal.screen())
        still = seen[-1].cursor == seen[-2].cursor != seen[0].cursor
        return still and terminal.unread() == 0

    terminal.send(keys)
    return seen[-1] if wait_for(rests, _MOVES_S, step_s=_REST_S) else None


# --- rows --------------------------------------------------------------------------------------------------


def _join(screen: Screen, x: int, y: int, width: int) -> str:
    """From this place to the cursor, over rows of which each is full."""
    rows = [_full_row(screen.row(n), screen.row(n + 1), width) for n in range(y, screen.y)]
    text = "".join(rows) + cut(screen.row(screen.y), 0, screen.x)
    return text[len(cut(text, 0, x)) :]


def _full_row(row: str, below: str, width: int) -> str:
    """A wide character that did not fit is on the next row, and no blank was typed in its place."""
    blanks = width - columns(row)
    return row if blanks == 1 and columns(below[:1]) == 2 else row + " " * blanks
