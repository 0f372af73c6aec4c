"""Wake a client that is idle in its terminal when it has mail.

Between two turns a client in a terminal reads no mailbox. So the host types one line at its prompt, once for
each message. It does so only where that is safe: the member is idle, the screen is at rest, no dialog is
shown, and the input line is empty. The line holds nothing of the mail: what a member wrote is never typed.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.agents.host import Reports, Terminal

WORDS = "You have new mail. Read it with the inbox tool of headcount, and act on it."
_LOOK_S = 2.0  # the engine types its own nudge at once, so the first look only notes what is there
_AGAIN_S = 10.0


class Waker:
    def __init__(
        self, reports: Reports, terminal: Terminal, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._reports = reports
        self._terminal = terminal
        self._now = now
        self._next_look = 0.0
        self._noted: set[str] = set()
        self._told: set[str] = set()

    def look(self) -> None:
        if self._now() < self._next_look:
            return
        self._next_look = self._now() + _LOOK_S
        waiting = set(self._reports.mail_while_idle()) - self._told
        due, self._noted = waiting & self._noted, waiting
        if not due:
            return
        if self._terminal.wake(WORDS):
            self._told |= waiting
        else:
            self._next_look = self._now() + _AGAIN_S
