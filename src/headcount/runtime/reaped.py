"""Running one command below a reaper: its input, its output, and the end of everything that it started."""

from __future__ import annotations

import os
import selectors
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from headcount.runtime import reaper
from headcount.runtime.forkserver import ForkServer

_CHECK_S = 0.2  # how soon a command learns that the engine leaves
_END_S = 5.0  # for killing all of it; what the kernel does not release by then is not waited for
_CHUNK = 1 << 16


class Finished(NamedTuple):
    code: int
    output: bytes
    errors: bytes


def run_reaped(
    server: ForkServer,
    argv: Sequence[str | bytes],
    *,
    cwd: str,
    env: Mapping[str, str],
    files: int,
    timeout_s: float,
    given: bytes | None = None,
    together: bool = False,
    request: bytes = reaper.RUN,
    check: Callable[[], None] = lambda: None,
    name: str = reaper.COMMAND,
) -> Finished:
    """Run it to its end. `TimeoutError` after `timeout_s`, `OSError` when the program could not be run.
    `check` is called now and then, and whatever it raises ends the command. `name` is that of its reaper."""
    with ExitStack() as opened:
        pipes = _Pipes(given, together, opened)
        connection = opened.enter_context(server.connect(request, pipes.theirs))
        pipes.close_theirs()
        spec = {
            "argv": [os.fsdecode(word) for word in argv],
            "cwd": cwd,
            "env": dict(env),
            "files": files,
            "name": name,
        }
        try:
            reaper.send(connection, spec)
            report = pipes.exchange(connection, time.monotonic() + timeout_s, check)
        except BaseException:
            _end(connection)
            raise
    if not report:
        server.settle()  # somebody has killed its reaper: the server above ends what it left
        return Finished(-signal.SIGKILL, pipes.output, pipes.errors)
    how, value = report
    assert isinstance(value, int)
    if how == reaper.NOT_RUN:
        raise OSError(value, os.strerror(value), os.fsdecode(argv[0]))
    return Finished(os.waitstatus_to_exitcode(value), pipes.output, pipes.errors)


def _end(connection: socket.socket) -> None:
    """The reaper ends everything when we stop talking to it; wait until it has."""
    try:
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(_END_S)
        reaper.receive(connection)
    except OSError:
        pass


class _Pipes:
    """The three standard files of a command, and what came through them."""

    def __init__(self, given: bytes | None, together: bool, opened: ExitStack) -> None:
        self._opened = opened
        self._given = memoryview(given or b"")
        self._parts: dict[int, list[bytes]] = {}
        self._stdin = -1
        if given is None:
            stdin = os.open(os.devnull, os.O_RDONLY)
        else:
            stdin, self._stdin = os.pipe()
            os.set_blocking(self._stdin, False)
        self._out, out = os.pipe()
        self._err, err = (self._out, out) if together else os.pipe()
        self.theirs = [stdin, out, err]
        self._open = {fd for fd in (self._stdin, self._out, self._err) if fd >= 0}
        opened.callback(self._close_all)

    def _close_all(self) -> None:
        self.close_theirs()
        for fd in self._open:
            os.close(fd)

    def close_theirs(self) -> None:
        for fd in set(self.theirs):
            os.close(fd)
        self.theirs = []

    @property
    def output(self) -> bytes:
        return b"".join(self._parts.get(self._out, ()))

    @property
    def errors(self) -> bytes:
        return b"" if self._err == self._out else b"".join(self._parts.get(self._err, ()))

    def exchange(
        self, connection: socket.socket, deadline: float, check: Callable[[], None]
    ) -> tuple[object, ...]:
        """Until the reaper reports: then nothing is left that could write more."""
        with selectors.DefaultSelector() as waiting:
            waiting.register(connection, selectors.EVENT_READ)
            for fd in self._open:
                waiting.register(fd, selectors.EVENT_WRITE if fd == self._stdin else selectors.EVENT_READ)
            while True:
                left = deadline - time.monotonic()
                ready = {key.fd for key, _ in waiting.select(max(0.0, min(left, _CHECK_S)))}
                for fd in ready & self._open:
                    if not self._move(fd):
                        waiting.unregister(fd)
                        os.close(fd)
                        self._open.discard(fd)
                if connection.fileno() in ready:
                    break
                check()
                if left <= 0:
                    raise TimeoutError
        report = reaper.receive(connection)
        self._read_rest()
        return report

    def _move(self, fd: int) -> bool:
        """Some bytes in or out; False when there are no more."""
        if fd != self._stdin:
            chunk = os.read(fd, _CHUNK)
            self._parts.setdefault(fd, []).append(chunk)
            return bool(chunk)
        try:
            self._given = self._given[os.write(fd, self._given[:_CHUNK]) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            return False
        return bool(self._given)

    def _read_rest(self) -> None:
        """What is in the pipes already. Another process than the command may hold their other ends."""
        for fd in self._open - {self._stdin}:
            os.set_blocking(fd, False)
            try:
                while self._move(fd):
                    pass
            except BlockingIOError:
                continue
