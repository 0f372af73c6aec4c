"""Members as plain processes: output to a log, nudges to standard input."""

from __future__ import annotations

import array
import fcntl
import os
import termios

from headcount.ports import SpawnSpec
from headcount.runtime.base import Handle, ProcessRuntime, wait_for
from headcount.runtime.forkserver import ForkServer
from headcount.runtime.keeper import STDIN
from headcount.runtime.log import plain_text

_TAKEN_S = 2.0


class PlainRuntime(ProcessRuntime):
    def __init__(self, state_directory: str) -> None:
        super().__init__(state_directory)
        self._forkserver = ForkServer()

    def launch(self, spec: SpawnSpec, home: str) -> None:
        self._forkserver.fork_keeper(home)

    def nudge(self, handle: Handle, text: str) -> bool:
        """Taken means read: the pipe is empty again. Without an open standard input, nobody reads."""
        if not self.alive(handle):
            return False
        try:
            fd = os.open(handle.directory.file(STDIN), os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return False
        try:
            line = plain_text(text.encode()).rstrip("\n").encode() + b"\n"
            if os.write(fd, line) < len(line):
                return False
            return wait_for(lambda: _unread(fd) == 0 or not self.alive(handle), _TAKEN_S) and _unread(fd) == 0
        except BlockingIOError:
            return False
        finally:
            os.close(fd)

    def close(self) -> None:
        self._forkserver.close()


def _unread(fd: int) -> int:
    count = array.array("i", [0])
    fcntl.ioctl(fd, termios.FIONREAD, count)
    return count[0]
