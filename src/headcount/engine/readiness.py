"""Waiting until an agent in a terminal can be spoken to: some stop in a dialog that nobody answers.

By its screen, with patterns that its client's file knows. Without patterns a started process is a started
member.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from headcount.errors import ProcessError

if TYPE_CHECKING:
    from headcount.engine.job import Job
    from headcount.ports import Handle

_LOOK_S = 0.2
# A dialog that is gone at once was only drawn on the way to the prompt.
_STAYS_S = 2.0


def wait_ready(job: Job, handle: Handle) -> None:
    """Returns when its screen says so, and at its end, which is noticed elsewhere. Raises for a dialog, or
    when half of the time for a start is over; whoever asked ends it then."""
    ready, dialog = str(job.start.get("ready") or ""), str(job.start.get("dialog") or "")
    if not ready:
        return
    deadline = time.monotonic() + job.policy.start_timeout_s / 2
    in_dialog: float | None = None
    while job.runtime.alive(handle):
        screen = job.runtime.capture(handle)
        asks = re.search(dialog, screen, re.MULTILINE) if dialog else None
        now = time.monotonic()
        if asks is None and re.search(ready, screen, re.MULTILINE):
            return
        in_dialog = None if asks is None else in_dialog or now
        if in_dialog is not None and now - in_dialog > _STAYS_S:
            raise _stuck(f"it waits in a dialog: {_line_of(screen, asks)!r}")
        if now > deadline:
            raise _stuck("its screen does not show that it is ready")
        time.sleep(_LOOK_S)


def _stuck(why: str) -> ProcessError:
    how = "start the client once by hand in this repository and answer it, or run it without a terminal"
    return ProcessError("Did not start it", f"{why}; {how}", code="client-stuck")


def _line_of(screen: str, found: re.Match[str] | None) -> str:
    assert found is not None
    start = screen.rfind("\n", 0, found.start()) + 1
    return screen[start:].partition("\n")[0].strip()[:120]
