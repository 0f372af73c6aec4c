"""The screen of a client that tells of its usage limit in no other way than by a dialog on it.

Looked at now and then by whoever follows the client. The member is parked when the dialog appears; when the
limit should be over, Enter is pressed in it, which means to try again; and the limit is lifted once the
dialog has stayed away. Nothing else is typed.
"""

from __future__ import annotations

import os
import re
import time

from headcount.agents.client import reset_time
from headcount.cli.member import pauses

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.cli.member.call import Call

_LOOK_S = 1.0
_LIFTED_S = 4.0  # without the dialog: the client has tried again, and was answered
_ENTER = "\r"


class Terminal:
    """The member's own, as the runtime knows it."""

    def __init__(self, home: str, mark: str) -> None:
        from headcount.runtime.tmux import TmuxRuntime

        self._runtime = TmuxRuntime(home)
        self._handle = self._runtime.adopt(mark)

    def read(self) -> str:
        return "" if self._handle is None else self._runtime.capture(self._handle)

    def press(self, keys: str) -> None:
        if self._handle is not None:
            self._runtime.press(self._handle, keys)


class Attendant:
    """`limit` is the dialog, as a regular expression."""

    def __init__(
        self, call: Call, limit: str, terminal: Terminal | None = None, now: Callable[[], float] = time.time
    ) -> None:
        self._call = call
        self._limit = limit
        self._terminal = terminal or Terminal(os.environ["HEADCOUNT_HOME"], os.environ["HEADCOUNT_MARK"])
        self._now = now
        self._next_look = 0.0
        self._count = 0
        self._until: float | None = None
        self._away_since: float | None = None

    def look(self) -> None:
        if self._now() < self._next_look:
            return
        self._next_look = self._now() + _LOOK_S
        shown = self._terminal.read()
        dialog = re.search(self._limit, shown)
        if dialog is None:
            self._seems_over()
        elif self._until is None or self._away_since is not None:
            self._reached(dialog[0])
        elif self._now() > self._until:
            self._terminal.press(_ENTER)

    def _reached(self, text: str) -> None:
        """Also when it was tried again too early, and the dialog is back."""
        self._count += 1
        self._until = pauses.limit_end(self._call, reset_time(text), self._count)
        self._away_since = None
        pauses.park(self._call, text.partition("\n")[0].strip(" │"), self._until)

    def _seems_over(self) -> None:
        if self._until is None:
            return
        self._away_since = self._away_since or self._now()
        if self._now() - self._away_since > _LIFTED_S:
            self._until = self._away_since = None
            self._count = 0
            pauses.lift_limit(self._call)
