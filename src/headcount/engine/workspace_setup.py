"""Set a new workspace up before its member starts: copies, submodules, and the user's command.

The commands run below a reaper, as the team's code does. Their output is the beginning of the member's log,
and is there as it comes. All of it must end within as much time as its checkout had (`checkout_timeout_s`).
"""

from __future__ import annotations

import shlex
import time
from functools import partial
from typing import TYPE_CHECKING

from headcount.errors import ProcessError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headcount.domain.findings import Workspace
    from headcount.engine.job import Job

_WANTS = ("copy", "submodules", "setup")


def wants_setup(job: Job) -> bool:
    return any(job.start.get(name) for name in _WANTS)


def set_up(job: Job, workspace: Workspace, deadline: float) -> None:
    """Safe to repeat: what was done once is not done again. Raises when it failed."""
    if wants_setup(job):
        run = partial(_run, job, workspace, deadline)
        job.world.workspaces.set_up(workspace, job.start, run, partial(_log, job))


def _run(job: Job, workspace: Workspace, deadline: float, command: str | Sequence[str]) -> None:
    words = command if isinstance(command, str) else shlex.join(command)
    env = {
        **job.environment,
        "HEADCOUNT_TEAM": job.team.name,
        "HEADCOUNT_ABOUT": job.act.about,
        "PWD": workspace.path,
    }
    limit_s = max(deadline - time.monotonic(), 1.0)
    _log(job, f"$ {words}")
    try:
        done = job.world.commands.run(
            command, cwd=workspace.path, timeout_s=limit_s, env=env, together=True, tell=partial(_write, job)
        )
    except TimeoutError:
        hint = f"Give new workspaces more time than checkout_timeout_s = {job.policy.checkout_timeout_s:g}"
        raise _failed(f"`{words}` did not end in time", hint) from None
    if done.stdout and not done.stdout.endswith("\n"):
        _write(job, b"\n")
    if done.returncode:
        last = done.stdout.rstrip().rpartition("\n")[2]
        name = job.act.about.partition("#")[0]
        hint = f"See its output with `headcount logs {name} --team {job.team.name}`"
        raise _failed(f"`{words}` ended with code {done.returncode}" + (f": {last}" if last else ""), hint)


def _failed(why: str, hint: str) -> ProcessError:
    return ProcessError("Did not set its workspace up", why, (hint,), code="setup-failed")


def _log(job: Job, text: str) -> None:
    _write(job, f"{text}\n".encode(errors="replace"))


def _write(job: Job, data: bytes) -> None:
    job.runtime.log_before_start(str(job.start["mark"]), data)
