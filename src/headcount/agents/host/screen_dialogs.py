"""Report dialogs on a client's screen to the team; the host answers none of them.

A client may wait for a person: for a permission, or in a list that a person left open. It records nothing
of that. So the host reads its screen when it has come to rest, and now and then while it moves, because
some dialogs blink. The host reports a dialog that stays once, with the command that attaches to the
terminal, and its end once. During a dialog the runtime types nothing there (`runtime/terminal.py`).
"""

from __future__ import annotations

import math
import re
import time

from headcount.agents.client import reset_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.agents.host import Reports, Terminal

_LOOK_S = 1.0
_REST_S = 2.0
_MOVING_S = 5.0  # between two looks at a screen that moves all the time
_STAYS_S = 4.0  # longer than a person needs who sits there and answers
_SHOWN_LINES = 15
_FRAME = " \t│┃║╎─━╌▔▁╭╮╰╯┌┐└┘▀"


class Dialogs:
    """`asks` is what a dialog looks like, as a regular expression."""

    def __init__(
        self, reports: Reports, asks: str, terminal: Terminal, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._reports = reports
        self._asks = re.compile(asks, re.MULTILINE)
        self._terminal = terminal
        self._now = now
        self._next_look = 0.0
        self._printed = self._looked_up_to = -1
        self._printed_at = self._looked_at = now()
        self._since: float | None = None
        self._told = ""

    def look(self) -> None:
        now = self._now()
        if now < self._next_look:
            return
        self._next_look = now + _LOOK_S
        printed = self._terminal.printed()
        if printed != self._printed:
            self._printed, self._printed_at = printed, now
        if self._is_due(now):
            self._look_closely(now)
            self._looked_at, self._looked_up_to = now, printed

    def _is_due(self, now: float) -> bool:
        """Return whether to read the screen: after new output, or to confirm a dialog."""
        if self._looked_up_to == self._printed:
            return not self._told and self._stays(now)
        rests = now - self._printed_at >= _REST_S
        return rests or self._since is not None or now - self._looked_at >= _MOVING_S

    def _stays(self, now: float) -> bool:
        return self._since is not None and now - self._since >= _STAYS_S

    def _look_closely(self, now: float) -> None:
        """Report consecutive dialogs as one wait, and show the current one."""
        shown = self._terminal.read()
        question = find_question(self._asks, shown)
        if not question:
            if self._told:
                self._reports.end_dialog()
            self._told, self._since = "", None
            return
        self._since = now if self._since is None else self._since
        if self._told not in ("", question):
            self._reports.update_dialog(question)
            self._told = question
        elif not self._told and self._stays(now):
            self._reports.report_dialog(question, _lines(shown)[-_SHOWN_LINES:])
            self._told = question


def find_question(asks: re.Pattern[str], shown: str) -> str:
    """Return the line above the first choice, or else the line on which the match ends."""
    found = asks.search(shown)
    if found is None:
        return ""
    start = shown.rfind("\n", 0, found.end()) + 1
    own = _lines(shown[start:])[:1]
    before = [line for line in _lines(shown[:start]) if not _CHOICE.match(line)]
    above = before[-1:] if own and _CHOICE.match(own[0]) else []
    return (above or own or [found[0]])[0][:200]


_CHOICE = re.compile(r"[❯›●△]? *\d+\. ")


def _lines(shown: str) -> list[str]:
    """Return the lines without frames and blank lines."""
    return list(filter(None, (line.strip(_FRAME) for line in shown.splitlines())))


# --- usage limits ----------------------------------------------------------------------------------------
#
# Some clients show their usage limit only as a dialog. The host reads the screen when something was
# printed or is due. It parks the member when the dialog appears. When the limit should be over, it
# presses Enter in the dialog, which means "try again". It lifts the limit once the dialog has stayed
# away. It types nothing else.


_LIFTED_S = 4.0  # without the dialog: the client has tried again, and was answered
_ENTER = "\r"


class Attendant:
    """`limit` is the dialog, as a regular expression."""

    def __init__(
        self, reports: Reports, limit: str, terminal: Terminal, now: Callable[[], float] = time.time
    ) -> None:
        self._reports = reports
        self._limit = limit
        self._terminal = terminal
        self._now = now
        self._next_look = 0.0
        self._printed = -1
        self._count = 0
        self._until: float | None = None
        self._away_since: float | None = None

    def look(self) -> None:
        if self._now() < self._next_look:
            return
        self._next_look = self._now() + _LOOK_S
        printed = self._terminal.printed()
        if printed != self._printed or self._now() > self._due():
            self._look_closely()
            self._printed = printed

    def _due(self) -> float:
        """Return when something is due although nothing is printed."""
        if self._until is None:
            return math.inf
        return self._until if self._away_since is None else self._away_since + _LIFTED_S

    def _look_closely(self) -> None:
        shown = self._terminal.read()
        dialog = re.search(self._limit, shown)
        if dialog is None:
            self._seems_over()
        elif self._until is None or self._away_since is not None:
            # Also when it was tried again too early, and the dialog is back.
            text = dialog[0]
            until = self._reports.limit_end(reset_time(text), self._count + 1)
            self._reports.park(text.partition("\n")[0].strip(" │"), until)
            self._count += 1
            self._until, self._away_since = until, None
        elif self._now() > self._until:
            self._terminal.press(_ENTER)

    def _seems_over(self) -> None:
        if self._until is None:
            return
        self._away_since = self._away_since or self._now()
        if self._now() - self._away_since > _LIFTED_S:
            self._reports.lift_limit()
            self._until = self._away_since = None
            self._count = 0
