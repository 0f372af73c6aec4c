"""Running commands that the user has defined (a gate, a judge): within a limit, and leaving nothing."""

from __future__ import annotations

import errno
import os
import subprocess
import threading
from typing import TYPE_CHECKING

from headcount.runtime.forkserver import COMMANDS, ForkServer
from headcount.runtime.reaped import run_reaped

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
    ) -> subprocess.CompletedProcess[str]:
        """A text is for the shell, a list is not. `together`: standard error goes where standard output goes.

        Whatever it has started ends with it, when its time is over, and with the engine.
        """
        argv = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
        self._check_ending()
        try:
            done = run_reaped(
                self._server, argv, cwd=cwd, env=os.environ if env is None else env, files=self._files,
                timeout_s=timeout_s, given=None if given is None else given.encode(), together=together,
                check=self._check_ending,
            )  # fmt: skip
        except TimeoutError:
            raise subprocess.TimeoutExpired(command, timeout_s) from None
        return subprocess.CompletedProcess(argv, done.code, _text(done.output), _text(done.errors))

    def _check_ending(self) -> None:
        if self._ending.is_set():
            raise InterruptedError(errno.EINTR, "the engine leaves")


def _text(data: bytes) -> str:
    return data.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")
