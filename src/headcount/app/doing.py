"""Write and read what each member is doing: one line, replaced as the member's client works.

The host of a client writes it to a file of its incarnation in `teams/<team>/doing/`. It is not part of the
journal and no rule depends on it: after a crash the line is old or absent, and nothing is lost.
"""

from __future__ import annotations

import os
import time

from headcount.domain.display import utc, visible
from headcount.domain.jsontext import dumps, quote_ascii

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, TypedDict

    class Doing(TypedDict):
        text: str
        at: str

    FindStart = Callable[[str], Mapping[str, Any] | None]


_EVERY_S = 0.25  # a client may print thousands of lines in a second
_LONGEST = 200
_MOST_BYTES = 4 * 1024
_SAME_TICK_NS = 100_000_000  # two writes within one tick of the file system's clock have the same time


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


# --- reading ---------------------------------------------------------------------------------------------
#
# A page of 300 members reads twice a second. Each write replaces a file of one directory, so the time of that
# directory tells whether any of them is new.


class DoingReader:
    """Reads the lines of one team again and again, and opens only the files that changed."""

    def __init__(self, home: str, team: str) -> None:
        self._home = home
        self._directory = doing_directory(home, team)
        self._read_at: tuple[int, int] = (0, 0)
        self._lines: dict[str, tuple[tuple[int, int], Doing]] = {}
        self._logs: dict[str, str] = {}
        self._last: dict[str, tuple[int, Doing | None]] = {}

    def read(self, keys: Iterable[str], find_start: FindStart) -> dict[str, Doing]:
        """Return the line of each of these incarnations; of a plain command its last line of output.

        `find_start` returns how an incarnation was started. It is called at most once for each.
        """
        self._read_directory()
        found = {}
        for key in keys:
            known = self._lines.get(key)
            doing = known[1] if known else self._read_log(key, find_start)
            if doing is not None:
                found[key] = doing
        return found

    def _read_directory(self) -> None:
        try:
            about = os.stat(self._directory)
            if (about.st_ino, about.st_mtime_ns) == self._read_at:
                return
            is_settled = time.time_ns() - about.st_mtime_ns > _SAME_TICK_NS
            self._read_at = (about.st_ino, about.st_mtime_ns) if is_settled else (0, 0)
            with os.scandir(self._directory) as entries:
                files = {entry.name: entry.stat(follow_symlinks=False) for entry in entries}
        except OSError:
            return
        for name, file in files.items():
            member, dash, generation = name.removesuffix(".json").rpartition("-")
            key, version = f"{member}#{generation}", (file.st_ino, file.st_mtime_ns)
            if not dash or not name.endswith(".json") or self._lines.get(key, ((),))[0] == version:
                continue
            doing = _read_line(f"{self._directory}/{name}")
            if doing is not None:
                self._lines[key] = version, doing

    def _read_log(self, key: str, find_start: FindStart) -> Doing | None:
        """Return the last line that a plain command printed. The output of other agents is not for people."""
        if key not in self._logs:
            start = find_start(key) or {}
            is_plain = start.get("agent") == "command" and start.get("mark")
            self._logs[key] = f"{self._home}/run/{start['mark']}" if is_plain else ""
        directory = self._logs[key]
        if not directory:
            return None
        from headcount.runtime.log import end_of_log, last_written, plain_text, read_tail

        try:
            end = end_of_log(directory)
            if self._last.get(key, (0, None))[0] != end:
                printed = plain_text(read_tail(directory, _MOST_BYTES)).split("\n")
                text = next((line for line in map(one_line, reversed(printed)) if line), "")
                doing: Doing | None = {"text": text, "at": utc(last_written(directory))} if text else None
                self._last[key] = end, doing
        except OSError:
            return None
        return self._last.get(key, (0, None))[1]


def _read_line(path: str) -> Doing | None:
    """Read one file, which a member can replace by anything: never wait for it, and check what it says."""
    import json
    import stat

    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            data = os.read(fd, _MOST_BYTES) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
        finally:
            os.close(fd)
        said = json.loads(data)
        text, at = one_line(said["text"]), utc(float(said["at"]))
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    return {"text": text, "at": at} if text else None
