"""The start of a member: workspace, process, registration. A failure undoes what came before.

A client in a terminal has started when its screen says so, by patterns of its client's file: some clients
stop in a dialog that nobody answers. Without patterns a started process is a started member.
"""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

from headcount.domain.findings import GoneProof, Workspace
from headcount.engine.hub_copies import bring
from headcount.engine.job import PROCESS, Job, Outcome
from headcount.engine.workspace_setup import set_up, wants_setup
from headcount.engine.writing import utc_now
from headcount.errors import HeadcountError, ProcessError
from headcount.ports import SpawnSpec
from headcount.protocol import events as ev

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from headcount.ports import Handle
    from headcount.protocol.member import Member

_LOOK_S = 0.2
# A dialog that is gone at once was only drawn on the way to the prompt.
_STAYS_S = 2.0


def start(job: Job) -> Outcome:
    key = job.act.about
    try:
        workspace = _make_workspace(job)
    except (HeadcountError, OSError) as error:
        return Outcome((ev.StartFailed(key, _undo_start(job, None, error)),))
    deadline = time.monotonic() + job.policy.checkout_timeout_s  # others' checkouts may have come first
    facts: dict[tuple[str, str], Mapping[str, Any]] = {(key, "workspace"): workspace.as_dict()}
    kept = facts if job.start.get("workspace") else {}
    try:
        if job.workspace is None:
            set_up(job, workspace, deadline)
    except (HeadcountError, OSError) as error:
        return Outcome((ev.StartFailed(key, _undo_start(job, workspace, error)),), kept)
    handle: Handle | None = None
    try:
        handle = job.runtime.start(_spec(job, workspace))
        wait_ready(job, handle)
    except (HeadcountError, OSError) as error:
        if not _is_ended(job, handle):  # not undone: the start's limit goes on with it
            return Outcome(facts=facts | _process(job, handle), handle=handle)
        return Outcome((ev.StartFailed(key, _undo_start(job, workspace, error)),), kept)
    return Outcome((ev.Registered(key),), facts | _process(job, handle), handle=handle)


def _process(job: Job, handle: Handle | None) -> dict[tuple[str, str], Mapping[str, Any]]:
    """The processes that it made, for the store: the member can write to the files that list them."""
    if handle is None:
        return {}
    made = handle.as_dict()
    seals = dict.fromkeys((*job.process.get("seals", ()), *made.get("seals", ())))
    return {(job.act.about, PROCESS): {**made, "seals": list(seals)}}


def _is_ended(job: Job, handle: Handle | None) -> bool:
    """Whether nothing of a failed start runs or ever will; False if that could not be read."""
    try:
        left = handle or job.runtime.cancel(str(job.start["mark"]), job.process)
        if left is None:
            return True
        empty = job.runtime.kill(left, job.policy.stop_grace_s).empty
    except (HeadcountError, OSError):
        return False
    if empty or left is not handle:
        left.close()
    return empty


def _make_workspace(job: Job) -> Workspace:
    if job.workspace is not None:
        return Workspace.from_dict(job.workspace)
    bring(job, str(job.start.get("base") or ""))
    limit = {"checkout_timeout_s": job.policy.checkout_timeout_s}
    return job.world.workspaces.create(*whose_workspace(job), {**job.start, **limit})


def whose_workspace(job: Job) -> tuple[str, str, int]:
    """Team, name and generation of its workspace. A shared one has the team's generation."""
    member = _member_of(job)
    generation = job.team.generation if job.start.get("workspace") else member.generation
    return job.team.name, member.name, generation


_CEILING = "GIT_CEILING_DIRECTORIES"


def _spec(job: Job, workspace: Workspace) -> SpawnSpec:
    start, member = job.start, _member_of(job)
    prompt_file = str(start["prompt_file"])
    prompt = str(start.get("prompt", "")).encode(errors="surrogateescape")
    job.world.files.write(prompt_file, prompt, sync=False)
    given = start.get("env", {})
    env = {
        **given,
        "HEADCOUNT_HOME": job.world.home,
        "HEADCOUNT_TEAM": job.team.name,
        "HEADCOUNT_MEMBER": member.name,
        "HEADCOUNT_GENERATION": str(member.generation),
        "HEADCOUNT_TOKEN": job.token,
        "HEADCOUNT_PROMPT_FILE": prompt_file,
        # Some programs trust this rather than the kernel, and would work in the operator's checkout.
        "PWD": workspace.path,
        # A member that lost its `.git` file must not find the operator's repository above its workspace.
        _CEILING: os.pathsep.join(filter(None, (os.path.dirname(workspace.path), given.get(_CEILING)))),
        **({"HEADCOUNT_TASK": member.task} if member.task else {}),
    }
    return SpawnSpec(
        start["mark"], tuple(start["argv"]), workspace.path, env, stdin=bool(start.get("stdin")),
        hold=str(start.get("hold") or ""), seal=job.seal, seals=tuple(job.process.get("seals", ())),
        containment=job.policy.containment,
    )  # fmt: skip


def _undo_start(job: Job, workspace: Workspace | None, error: Exception) -> str:
    """Remove the workspace; the reason, and what was not undone. A shared one stays until the closing."""
    said = (getattr(error, "what", ""), getattr(error, "why", ""))
    reason = ": ".join(filter(None, said)) or str(error)
    if workspace is None or job.workspace is not None or job.start.get("workspace"):
        return reason
    member = _member_of(job)
    proof = GoneProof(job.team.name, member.name, member.generation, "never started", utc_now())
    try:
        if wants_setup(job):  # nobody has worked in it, but the gate does not know that
            _, saved = job.world.workspaces.salvage(workspace, job.policy, job.start)
            reason += f" (what it left is in {saved.ref})" if saved is not None else ""
        kept = job.world.workspaces.remove(workspace, proof, job.policy, job.start)
    except (HeadcountError, OSError) as failure:
        kept = getattr(failure, "what", "") or str(failure)
    if kept and job.world.files.exists(workspace.path):
        return f"{reason} (its workspace {workspace.path} was left: {kept})"
    return f"{reason} ({kept})" if kept else reason


def _member_of(job: Job) -> Member:
    assert job.member is not None
    return job.member


def wait_ready(job: Job, handle: Handle) -> None:
    """Return when its screen says that it is ready, and when it ended, which is noticed elsewhere.

    Raises for a dialog, or when half of the time for a start is over: the caller then ends it.
    """
    ready, dialog = str(job.start.get("ready") or ""), str(job.start.get("dialog") or "")
    if not ready:
        return
    deadline = time.monotonic() + job.policy.start_timeout_s / 2
    in_dialog: float | None = None
    while job.runtime.alive(handle):
        screen = job.runtime.capture(handle)
        asks = re.search(dialog, screen, re.MULTILINE) if dialog else None
        now = time.monotonic()
        if asks is None and re.search(ready, screen, re.MULTILINE):
            return
        in_dialog = None if asks is None else in_dialog or now
        if in_dialog is not None and now - in_dialog > _STAYS_S:
            raise _stuck(f"it waits in a dialog: {_line_of(screen, asks)!r}")
        if now > deadline:
            raise _stuck("its screen does not show that it is ready")
        time.sleep(_LOOK_S)


def _stuck(why: str) -> ProcessError:
    how = "start the client once by hand in this repository and answer it, or run it without a terminal"
    return ProcessError("Did not start it", f"{why}; {how}", code="client-stuck")


def _line_of(screen: str, found: re.Match[str] | None) -> str:
    assert found is not None
    start = screen.rfind("\n", 0, found.start()) + 1
    return screen[start:].partition("\n")[0].strip()[:120]
