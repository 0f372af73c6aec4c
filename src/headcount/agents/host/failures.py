"""Say in one line why a client failed: the signal or the code, and the last line that it printed."""

from __future__ import annotations

import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headcount.agents.client import Seen

_MOST = 300
_TAIL_BYTES = 4096
_SHELL = 128  # a shell reports a signal as 128 and its number


def describe(code: int, seen: Seen, last_line: str = "") -> str:
    """Return why a turn failed, "" if it ended well or at a usage limit.

    Some clients exit with code 0 when the answer of the model breaks off before its first word.
    """
    if seen.limit or (not code and (seen.answered or (seen.tokens and not seen.error))):
        return ""
    if not (code or seen.error):
        return "ended without an answer of the model"
    if seen.login:
        return _short(f"not logged in: {seen.login}")
    if seen.overflow:
        return _short(f"its conversation no longer fits: {seen.overflow}")
    how = describe_code(code) if code else "reported an error"
    words = seen.error or last_line
    return _short(f"{how}: {words}" if words else how)


def describe_code(code: int) -> str:
    """Return an exit in words. `code` is as `subprocess` has it: negative for a signal."""
    if code < 0:
        return f"killed by {_signal_name(-code)}"
    if code > _SHELL and _signal_name(code - _SHELL):
        return f"exited with code {code} ({_signal_name(code - _SHELL)})"
    return f"exited with code {code}"


def exit_code(code: int) -> int:
    """Return the code with which the host itself exits."""
    return _SHELL - code if code < 0 else code or 1


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return ""


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST else line[: _MOST - 1] + "…"


class Tail:
    """The last words of a client. Its standard error is passed on to our own."""

    def __init__(self) -> None:
        self._bytes = b""
        self._printed = ""

    def pass_on(self, data: bytes) -> None:
        sys.stderr.buffer.write(data)
        sys.stderr.buffer.flush()
        self._bytes = (self._bytes + data)[-_TAIL_BYTES:]

    def note(self, line: str) -> None:
        """Remember a line of standard output that is not a report of the client."""
        if line.strip() and not line.startswith("{"):
            self._printed = line.strip()

    def last_line(self) -> str:
        """Return the last line of standard error, or else of standard output."""
        lines = self._bytes.decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), self._printed)
