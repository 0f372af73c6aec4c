"""Members as plain processes: output to a log, nudges to standard input."""

from __future__ import annotations

import array
import fcntl
import os
import socket
import termios

from headcount.ports import SpawnSpec
from headcount.runtime.process_runtime import TAKEN_S, Handle, ProcessRuntime, wait_for
from headcount.runtime.reaper import KEEP, STDIN


class PlainRuntime(ProcessRuntime):
    def connect(self, spec: SpawnSpec, home: str, timeout_s: float) -> socket.socket:
        return self.shared.server.connect(KEEP)

    def put_in_front(self, handle: Handle, text: str, urgent: bool) -> bool:
        """Into the pipe that is its standard input: a queue that it reads at its next pause."""
        fd = _open_stdin(handle)
        if fd is None:
            return False
        line = text.encode() + b"\n"
        try:
            return _room(fd) >= len(line) and os.write(fd, line) == len(line)
        except OSError:
            return False  # it is full, or something else was put in its place
        finally:
            os.close(fd)

    def was_taken(self, handle: Handle, text: str, limit_s: float = TAKEN_S) -> bool:
        """Taken means read: the pipe is empty again."""
        fd = _open_stdin(handle)
        if fd is None:
            return False
        try:
            return wait_for(lambda: _unread(fd) == 0 or not self.alive(handle), limit_s) and _unread(fd) == 0
        finally:
            os.close(fd)


def _open_stdin(handle: Handle) -> int | None:
    """None without an open standard input: nobody reads there."""
    try:
        return os.open(handle.directory.file(STDIN), os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return None


def _room(fd: int) -> int:
    """All of a line or nothing: half of one would be read as a whole."""
    return fcntl.fcntl(fd, fcntl.F_GETPIPE_SZ) - _unread(fd)


def _unread(fd: int) -> int:
    count = array.array("i", [0])
    fcntl.ioctl(fd, termios.FIONREAD, count)
    return count[0]
