"""Running a command that the user has defined (a gate, a judge): within a limit, and leaving nothing."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def run_command(
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
    with subprocess.Popen(
        command, shell=isinstance(command, str), cwd=cwd, env=env, text=True, errors="replace",
        stdin=subprocess.PIPE if given is not None else subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if together else subprocess.PIPE, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            out, err = process.communicate(given, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err or "")
