"""Run programs of a user, a member or a repository within a limit, and leave nothing of them.

A gate, a judge, a finalizer, `sync`, or a git that runs filters and merge drivers.
"""

from __future__ import annotations

import errno
import os
import subprocess
import threading
from typing import TYPE_CHECKING

from headcount.domain.environment import build_environment
from headcount.runtime.forkserver import COMMANDS, ForkServer
from headcount.runtime.mark import CODE, VARIABLE
from headcount.runtime.reaped import run_reaped
from headcount.runtime.reaper import COMMAND, OPERATORS_COMMAND

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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
    ) -> subprocess.CompletedProcess[bytes]:
        self._check_ending()
        given = build_environment(os.environ) if env is None else dict(env)
        if not as_operator:
            given[VARIABLE] = CODE
        try:
            done = run_reaped(
                self._server, argv, cwd=cwd or os.getcwd(), env=given, files=self._files, timeout_s=timeout_s,
                given=stdin, together=together, check=self._check_ending,
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
