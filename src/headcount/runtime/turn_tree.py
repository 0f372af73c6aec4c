"""The processes of one turn of a client, ended before the next turn begins.

The host of a client becomes a subreaper, so everything that a turn leaves becomes its child: a client that
re-executed itself, or a shell command in a session of its own. Each turn has a number in its environment.
A process with the number of an earlier turn is left alone, because that turn ended well: it may be a server
that the member needs (docs/decisions/0138). A process without a number belongs to the turn that ended.

The host signals only processes below itself, so they are the member's own.
"""

from __future__ import annotations

import os
import signal
import time

from headcount.errors import ProcessError
from headcount.runtime.processes import Process, read_below, read_variable, send_signal, wait_until_gone
from headcount.runtime.reaper import become_subreaper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headcount.runtime.start_record import Identity

VARIABLE = "HEADCOUNT_TURN"
_GRACE_S = 2.0  # a git command removes its lock files at SIGTERM
_LIMIT_S = 10.0
_ROUND_S = 0.2


class TurnTree:
    def __init__(self) -> None:
        become_subreaper()
        self._number = 0

    def begin(self) -> dict[str, str]:
        """Return what a new turn adds to the environment of its client."""
        self._number += 1
        return {VARIABLE: str(self._number)}

    def end_rest(self) -> list[str]:
        """End everything that the turn left, and return what it was. Raise if something stays alive.

        Call it only when the client itself has ended and was waited for.
        """
        ended: dict[Identity, str] = {}
        begun = time.monotonic()
        while rest := self._find():
            waited_s = time.monotonic() - begun
            if waited_s > _LIMIT_S:
                raise ProcessError(
                    "Did not begin the next turn",
                    f"of the last one {', '.join(f'{one.name} ({one.pid})' for one in rest)} is alive",
                    code="turn-still-alive",
                )
            for one in rest:
                known = one.identity in ended
                ended.setdefault(one.identity, f"{one.name} ({one.pid})")
                if waited_s >= _GRACE_S or not known:
                    send_signal(one.identity, signal.SIGKILL if waited_s >= _GRACE_S else signal.SIGTERM)
            wait_until_gone([one.identity for one in rest], _ROUND_S)
            self.reap()
        self.reap()
        return list(ended.values())

    def _find(self) -> list[Process]:
        return [one for one in read_below(os.getpid()).values() if not self._is_earlier(one.pid)]

    def _is_earlier(self, pid: int) -> bool:
        number = read_variable(pid, VARIABLE)
        return number.isdecimal() and int(number) < self._number

    def reap(self, client: int = 0) -> None:
        """Wait for the orphans that have ended, but not for the client, whose own waiter needs its status."""
        try:
            while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
                if ended.si_pid == client:
                    return
                os.waitpid(ended.si_pid, os.WNOHANG)
        except ChildProcessError:
            return
