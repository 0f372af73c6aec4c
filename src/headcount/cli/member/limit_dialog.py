"""Watch the screen of a client that shows a usage limit only as a dialog.

The process that follows the client reads the screen when something was printed or is due. The dialog
parks the member. When the limit should be over, headcount presses Enter, which means "try again". The
limit ends when the dialog has stayed away. headcount types nothing else.
"""

from __future__ import annotations

import math
import re
import time

from headcount.agents.client import reset_time
from headcount.cli.member import client_reports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.cli.member.call import Call
    from headcount.cli.member.own_terminal import Terminal

_LOOK_S = 1.0
_LIFTED_S = 4.0  # without the dialog: the client has tried again, and was answered
_ENTER = "\r"


class Attendant:
    """`limit` is the dialog, as a regular expression."""

    def __init__(
        self, call: Call, limit: str, terminal: Terminal, now: Callable[[], float] = time.time
    ) -> None:
        self._call = call
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
            self._reached(dialog[0])
        elif self._now() > self._until:
            self._terminal.press(_ENTER)

    def _reached(self, text: str) -> None:
        """Report a limit, also if a retry was too early and the dialog is back."""
        until = client_reports.limit_end(self._call, reset_time(text), self._count + 1)
        client_reports.park(self._call, text.partition("\n")[0].strip(" │"), until)
        self._count += 1
        self._until, self._away_since = until, None

    def _seems_over(self) -> None:
        if self._until is None:
            return
        self._away_since = self._away_since or self._now()
        if self._now() - self._away_since > _LIFTED_S:
            client_reports.lift_limit(self._call)
            self._until = self._away_since = None
            self._count = 0
