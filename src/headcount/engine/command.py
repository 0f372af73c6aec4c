"""Running commands that the user has defined (a gate, a judge): within a limit, and leaving nothing."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import subprocess
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LOOK_S = 0.2  # how soon a command hears that the engine leaves


class Commands:
    """The commands of one engine. `files`: as many as that each may have open (its soft limit).

    The engine itself takes more, and a program that uses select() breaks with those. A limit is inherited;
    for a child alone it can be changed between fork and exec, where no Python may run beside threads. So a
    shell does it, and becomes the command.
    """

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

        In a session of its own: when the time is over, all that it has started is ended with it.
        """
        argv = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
        self._check_ending()
        with subprocess.Popen(
            self._with_limit(argv, cwd, env), cwd=cwd, env=env, text=True, errors="replace",
            stdin=subprocess.PIPE if given is not None else subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if together else subprocess.PIPE, start_new_session=True,
        ) as process:  # fmt: skip
            try:
                out, err = self._communicate(process, given, time.monotonic() + timeout_s)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(command, timeout_s) from None
            except InterruptedError:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        return subprocess.CompletedProcess(argv, process.returncode, out, err or "")

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

    def _with_limit(self, argv: list[str], cwd: str, env: Mapping[str, str] | None) -> list[str]:
        if resource.getrlimit(resource.RLIMIT_NOFILE)[0] == self._files:
            return argv
        _check_program(argv[0], cwd, env)
        return ["/bin/sh", "-c", 'ulimit -S -n "$0" && exec "$@"', str(self._files), *argv]


def _check_program(program: str, cwd: str, env: Mapping[str, str] | None) -> None:
    """What cannot be run is an error of ours to tell, as without the shell, and no exit code of its own."""
    path = os.pathsep.join(os.get_exec_path(env))
    found = shutil.which(os.path.join(cwd, program) if os.sep in program else program, path=path)
    if found is None:
        there = os.sep in program and os.path.exists(os.path.join(cwd, program))
        code = errno.EACCES if there else errno.ENOENT
        raise OSError(code, os.strerror(code), program)
