"""Write and read what each member is doing: one line, replaced as the member's client works.

The host of a client writes it to a file of its incarnation in `teams/<team>/doing/`. It is not part of the
journal and no rule depends on it: after a crash the line is old or absent, and nothing is lost.
"""

from __future__ import annotations

import os
import time

from headcount.domain.display import visible
from headcount.domain.jsontext import dumps, quote_ascii

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading

_EVERY_S = 0.25  # a client may print thousands of lines in a second
_LONGEST = 200


def doing_directory(home: str, team: str) -> str:
    return f"{home}/teams/{team}/doing"


def one_line(text: str) -> str:
    """Return a client's words as one line without control or invisible characters, cut to a fixed length."""
    words = "".join(char if char.isprintable() else " " for char in visible(text[: 4 * _LONGEST])).split()
    line = " ".join(words)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


class DoingFile:
    """The line of one incarnation. `report` returns at once: it never waits and never fails."""

    def __init__(self, home: str, team: str, key: str) -> None:
        self._directory = doing_directory(home, team)
        self._path = f"{self._directory}/{key.replace('#', '-')}.json"
        self._written = 0.0
        self._latest: tuple[str, float] = ("", 0.0)
        self._timer: threading.Timer | None = None

    def report(self, text: str) -> None:
        """Write the line now, or a moment later if the last one is younger than a quarter of a second."""
        self._latest = one_line(text), time.time()
        if self._timer is not None and self._timer.is_alive():
            return  # it writes the latest
        wait_s = self._written + _EVERY_S - time.monotonic()
        if wait_s <= 0:
            self._write()
            return
        import threading

        self._timer = threading.Timer(wait_s, self._write)
        self._timer.daemon = True
        self._timer.start()

    def _write(self) -> None:
        """Replace the file as a whole. On a full disk the old line stays."""
        self._written = time.monotonic()
        text, at = self._latest
        try:
            if not os.path.isdir(self._directory):
                os.mkdir(self._directory, 0o700)  # not its parents: they are gone once the team is closed
            fd = os.open(f"{self._path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(fd, "w", encoding="ascii") as file:
                file.write(dumps({"text": text, "at": at}, quote_ascii))
            os.replace(f"{self._path}.new", self._path)
        except OSError:
            pass
