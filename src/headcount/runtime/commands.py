"""Running commands that the user has defined (a gate, a judge): within a limit, and leaving nothing."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

from headcount.runtime import chaperone

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
    ) -> subprocess.CompletedProcess[str]:
        """A text is for the shell, a list is not. `together`: standard error goes where standard output goes.

        Whatever it has started ends with it, when its time is over, and with the engine.
        """
        argv = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
        self._check_ending()
        life, held = os.pipe()
        said, report = os.pipe()
        try:
            process = subprocess.Popen(
                [*_CHAPERONE, str(life), str(report), str(self._files), *argv],
                cwd=cwd, env=env, text=True, errors="replace", start_new_session=True,
                pass_fds=(life, report), stdout=subprocess.PIPE,
                stdin=subprocess.PIPE if given is not None else subprocess.DEVNULL,
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
                out, err = self._communicate(process, given, time.monotonic() + timeout_s)
            except subprocess.TimeoutExpired:
                raise subprocess.TimeoutExpired(command, timeout_s) from None
            finally:
                os.close(held)
                _wait_for_end(process)
            code = _exit_code(ended.read(), process, argv[0])
        return subprocess.CompletedProcess(argv, code, out, err or "")

    def _check_ending(self) -> None:
        if self._ending.is_set():
            raise InterruptedError(errno.EINTR, "the engine leaves")

    def _communicate(
        self, process: subprocess.Popen[str], given: str | None, deadline: float
    ) -> tuple[str, str]:
        while True:
            left = deadline - time.monotonic()
            try:
                return process.communicate(given, timeout=min(left, _LOOK_S))
            except subprocess.TimeoutExpired:
                self._check_ending()
                if left <= _LOOK_S:
                    raise
            given = None  # it keeps what it has not written yet


def _wait_for_end(process: subprocess.Popen[str]) -> None:
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)


def _exit_code(said: bytes, chaperone_itself: subprocess.Popen[str], program: str) -> int:
    value = int.from_bytes(said[1:], "big")
    if said[:1] == chaperone.NOT_RUN:
        raise OSError(value, os.strerror(value), program)
    if said[:1] == chaperone.ENDED:
        return os.waitstatus_to_exitcode(value)
    return chaperone_itself.returncode  # somebody has killed it
