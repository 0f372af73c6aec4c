"""Reading what a member printed: segments named by offset, as `reaper.Log` writes them."""

from __future__ import annotations

import os
import re
import shutil
import stat
from typing import NamedTuple

from headcount.runtime.reaper import LOG_PREFIX

# CSI, then OSC/DCS/PM/APC/SOS strings with their terminator, then two-byte escapes.
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)|\x1b[ -/]*[0-~]", re.DOTALL)


class Chunk(NamedTuple):
    data: bytes
    offset: int
    """Of the first byte, counted from the first byte that the member ever printed."""
    end: int
    """Where to go on reading."""


def read_log(home: str, offset: int = 0, limit: int = 65536) -> Chunk:
    """Up to `limit` bytes from `offset`, or from the first byte after it that was kept."""
    for start, size in _segments(home):
        if size and start + size > offset:
            begin = max(offset, start)
            try:
                data = _read(f"{home}/{LOG_PREFIX}{start}", begin - start, limit)
            except FileNotFoundError:
                continue  # dropped just now: that is the gap
            return Chunk(data, begin, begin + len(data))
    return Chunk(b"", offset, offset)


def _read(path: str, begin: int, limit: int) -> bytes:
    """Nothing of what is no file: a member may put a pipe there, and nobody waits for it."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return os.pread(fd, limit, begin) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    finally:
        os.close(fd)


def read_tail(home: str, limit: int) -> bytes:
    """The last `limit` bytes that were printed, or what is kept of them."""
    data, offset = b"", max(0, end_of_log(home) - limit)
    while (chunk := read_log(home, offset)).data:
        data, offset = data + chunk.data, chunk.end
    return data


def end_of_log(home: str) -> int:
    """How many bytes were printed, kept or not."""
    return max((start + size for start, size in _segments(home)), default=0)


def last_written(home: str) -> float:
    """When it last printed something, by the wall clock; 0 when it never did."""
    times = [0.0]
    for start, _ in _segments(home):
        try:
            times.append(os.stat(f"{home}/{LOG_PREFIX}{start}").st_mtime)
        except FileNotFoundError:
            continue
    return max(times)


def _segments(home: str) -> list[tuple[int, int]]:
    """(start, size), in order. A segment that is dropped while we look is left out."""
    found = []
    for name in os.listdir(home):
        number = name.removeprefix(LOG_PREFIX)
        if number != name and number.isdecimal():
            try:
                about = os.lstat(f"{home}/{name}")
            except FileNotFoundError:
                continue
            if stat.S_ISREG(about.st_mode):
                found.append((int(number), about.st_size))
    return sorted(found)


def plain_text(data: bytes) -> str:
    """Fit for a terminal or a mail: no escape sequences, no control characters but newline and tab.

    Python calls no blank printable but the plain one; the one that does not break and the wide one are text.
    """
    text = _ESCAPES.sub("", data.decode(errors="replace")).replace("\r\n", "\n").replace("\r", "\n")
    return "".join(char for char in text if char.isprintable() or char in "\n\t\u00a0\u3000")


def move_log(home: str, to: str) -> None:
    """Move what was printed to another directory, made for it, on the same disk or another one."""
    segments = _segments(home)
    if not segments:
        return
    os.makedirs(to, mode=0o700, exist_ok=True)
    for start, _ in segments:
        shutil.move(f"{home}/{LOG_PREFIX}{start}", f"{to}/{LOG_PREFIX}{start}")
