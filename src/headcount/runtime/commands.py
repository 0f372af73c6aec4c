"""Run programs of a user, a member or a repository below a reaper, within a limit, and leave nothing of
them.

Such a program is a gate, a judge, a finalizer, `sync`, or a git that runs filters and merge drivers.
"""

from __future__ import annotations

import errno
import os
import selectors
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from headcount.domain.environment import build_environment
from headcount.runtime import reaper
from headcount.runtime.mark import CODE, VARIABLE
from headcount.runtime.reaper import COMMAND, OPERATORS_COMMAND
from headcount.runtime.reaper_client import COMMANDS, ForkServer

_CHECK_S = 0.2  # how soon a command learns that the engine leaves
_END_S = 5.0  # for killing all of it; what the kernel does not release by then is not waited for
_CHUNK = 1 << 16
_TAIL = 1 << 16  # bytes of output that stay in memory if it goes elsewhere


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
    tell: Callable[[bytes], object] | None = None,
    request: bytes = reaper.RUN,
    check: Callable[[], None] = lambda: None,
    name: str = reaper.COMMAND,
) -> Finished:
    """Run it to its end. `TimeoutError` after `timeout_s`, `OSError` when the program could not be run.
    `check` is called now and then, and whatever it raises ends the command. `name` is that of its reaper.
    `tell` gets the output as it comes, and then only the end of it is returned."""
    with ExitStack() as opened:
        pipes = _Pipes(given, together, tell, opened)
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

    def __init__(
        self,
        given: bytes | None,
        together: bool,
        tell: Callable[[bytes], object] | None,
        opened: ExitStack,
    ) -> None:
        self._opened = opened
        self._tell = tell
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
            parts = self._parts.setdefault(fd, [])
            parts.append(chunk)
            if self._tell is not None and fd == self._out and chunk:
                self._tell(chunk)
                parts[:] = [b"".join(parts)[-_TAIL:]]
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


# --- the port: `ports.Commands` ----------------------------------------------------------------------


class Commands:
    """The commands of one engine. `files`: as many as that each may have open (its soft limit): the engine
    itself takes more, and a program that uses select() breaks with those."""

    def __init__(self, files: int) -> None:
        self._files = files
        self._server = ForkServer(COMMANDS)
        self._ending = threading.Event()

    def end(self) -> None:
        """The engine leaves: what runs is ended, and nothing is begun. The next engine runs it again."""
        self._ending.set()

    def run(
        self,
        command: str | Sequence[str],
        *,
        cwd: str,
        timeout_s: float,
        given: str | None = None,
        env: Mapping[str, str] | None = None,
        together: bool = False,
        tell: Callable[[bytes], object] | None = None,
        as_operator: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in text mode. A string goes to the shell, a list does not.

        `together` sends standard error where standard output goes. `tell` gets the output as it comes, and
        only the end of it is returned. See `execute` for what is guaranteed.
        """
        argv = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
        stdin = given.encode(errors="replace") if given is not None else None
        try:
            done = self._run(argv, cwd, env, stdin, timeout_s, together, as_operator, tell)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"it took more than {timeout_s:g} s") from None
        return subprocess.CompletedProcess(argv, done.returncode, _text(done.stdout), _text(done.stderr))

    def execute(
        self,
        argv: Sequence[str | bytes],
        *,
        cwd: str | None,
        env: Mapping[str, str] | None,
        stdin: bytes | None,
        timeout_s: float,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a program below a reaper: whatever it has started ends with it, at its limit, and with us.

        It carries a mark for which a caller of headcount is nobody. `run` with `as_operator` leaves that out.
        """
        return self._run(argv, cwd, env, stdin, timeout_s, together=False, as_operator=False)

    def _run(
        self,
        argv: Sequence[str | bytes],
        cwd: str | None,
        env: Mapping[str, str] | None,
        stdin: bytes | None,
        timeout_s: float,
        together: bool,
        as_operator: bool,
        tell: Callable[[bytes], object] | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        self._check_ending()
        given = build_environment(os.environ) if env is None else dict(env)
        if not as_operator:
            given[VARIABLE] = CODE
        try:
            done = run_reaped(
                self._server, argv, cwd=cwd or os.getcwd(), env=given, files=self._files, timeout_s=timeout_s,
                given=stdin, together=together, tell=tell, check=self._check_ending,
                name=OPERATORS_COMMAND if as_operator else COMMAND,
            )  # fmt: skip
        except TimeoutError:
            raise subprocess.TimeoutExpired(argv, timeout_s) from None
        return subprocess.CompletedProcess(argv, done.code, done.output, done.errors)

    def _check_ending(self) -> None:
        if self._ending.is_set():
            raise InterruptedError(errno.EINTR, "the engine leaves")


def _text(output: bytes) -> str:
    """With the line ends that Python's own text mode gives."""
    return output.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")
