"""Run programs of a user, a member or a repository within a limit, and leave nothing of them.

A gate, a judge, a finalizer, `sync`, or a git that runs filters and merge drivers.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

from headcount.domain.environment import build_environment
from headcount.runtime import chaperone
from headcount.runtime.mark import CODE, VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LOOK_S = 0.2  # how soon a command hears that the engine leaves
_END_S = 5.0  # for killing all of it; what the kernel does not let go of by then is not waited for

# Imported, so that it is compiled once and not at every start.
_IMPORT = "import sys; sys.path.append(sys.argv[1]); import chaperone; chaperone.main(sys.argv[2:])"
_CHAPERONE = [sys.executable, "-I", "-S", "-c", _IMPORT, os.path.dirname(os.path.abspath(chaperone.__file__))]


class Commands:
    """The commands of one engine. `files`: as many as that each may have open (its soft limit): the engine
    itself takes more, and a program that uses select() breaks with those."""

    def __init__(self, files: int) -> None:
        self._files = files
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
        as_operator: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in text mode. A string goes to the shell, a list does not.

        `together` sends standard error where standard output goes. See `execute` for what is guaranteed.
        """
        argv = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
        stdin = given.encode(errors="replace") if given is not None else None
        try:
            done = self._run(argv, cwd, env, stdin, timeout_s, together, as_operator)
        except subprocess.TimeoutExpired:
            raise subprocess.TimeoutExpired(command, timeout_s) from None
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
    ) -> subprocess.CompletedProcess[bytes]:
        self._check_ending()
        given = build_environment(os.environ) if env is None else dict(env)
        name = chaperone.OPERATORS_NAME if as_operator else chaperone.NAME
        if not as_operator:
            given[VARIABLE] = CODE
        life, held = os.pipe()
        said, report = os.pipe()
        try:
            process = subprocess.Popen(
                [*_CHAPERONE, name, str(life), str(report), str(self._files), *argv],
                cwd=cwd, env=given, start_new_session=True,
                pass_fds=(life, report), stdout=subprocess.PIPE,
                stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
                stderr=subprocess.STDOUT if together else subprocess.PIPE,
            )  # fmt: skip
        except BaseException:
            os.close(held)
            os.close(said)
            raise
        finally:
            os.close(life)
            os.close(report)
        with process, open(said, "rb") as ended:
            try:
                out, err = self._communicate(process, stdin, time.monotonic() + timeout_s)
            except subprocess.TimeoutExpired:
                raise subprocess.TimeoutExpired(argv, timeout_s) from None
            finally:
                os.close(held)
                _wait_for_end(process)
            code = _exit_code(ended.read(), process, argv[0])
        return subprocess.CompletedProcess(argv, code, out, err or b"")

    def _check_ending(self) -> None:
        if self._ending.is_set():
            raise InterruptedError(errno.EINTR, "the engine leaves")

    def _communicate(
        self, process: subprocess.Popen[bytes], given: bytes | None, deadline: float
    ) -> tuple[bytes, bytes]:
        while True:
            left = deadline - time.monotonic()
            try:
                return process.communicate(given, timeout=min(left, _LOOK_S))
            except subprocess.TimeoutExpired:
                self._check_ending()
                if left <= _LOOK_S:
                    raise
            given = None  # it keeps what it has not written yet


def _text(output: bytes) -> str:
    """With the line ends that Python's own text mode gives."""
    return output.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")


def _wait_for_end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)


def _exit_code(said: bytes, chaperone_itself: subprocess.Popen[bytes], program: str | bytes) -> int:
    value = int.from_bytes(said[1:], "big")
    if said[:1] == chaperone.NOT_RUN:
        raise OSError(value, os.strerror(value), os.fsdecode(program))
    if said[:1] == chaperone.ENDED:
        return os.waitstatus_to_exitcode(value)
    return chaperone_itself.returncode  # somebody has killed it
