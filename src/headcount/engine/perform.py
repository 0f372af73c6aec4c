"""Performing an act: one function each, safe to repeat, in a worker thread.

A repeat after a crash must find what the first try did: starts go by the mark, salvage by the ref, stopping
looks at the tree before it signals it. Whatever fails here becomes an event; only a bug raises.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

from headcount.domain.findings import GoneProof, Workspace
from headcount.engine import closing, run_acts
from headcount.engine.job import PROCESS, Job, Outcome
from headcount.engine.nudging import nudge
from headcount.engine.readiness import wait_ready
from headcount.engine.writing import CAPTURED, utc_now
from headcount.errors import HeadcountError
from headcount.ports import SpawnSpec
from headcount.protocol import events as ev
from headcount.protocol.effects import ActKind, Note

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from headcount.domain.findings import Findings, Salvage
    from headcount.ports import Handle, Proof
    from headcount.protocol.member import Member


_KEEPER_FOLLOWS_S = 0.02


_ENDING = (ActKind.ASK_EXIT, ActKind.TERMINATE, ActKind.KILL)
_READING = (ActKind.INSPECT, ActKind.SALVAGE, ActKind.LAST_READ)


def perform(job: Job) -> Outcome:
    """Whoever ran and whose records are lost is ended by its mark: only a failed start left nobody."""
    mark = str(job.start.get("mark", ""))
    if job.handle is None and mark and job.act.kind in _ENDING and not _member(job).failure:
        job = replace(job, handle=job.runtime.adopt_by_mark(mark, job.process))
    if job.workspace is None and mark and job.act.kind in _READING:
        return _perform_in_what_was_made(job)
    return _PERFORM[job.act.kind](job)


def _perform_in_what_was_made(job: Job) -> Outcome:
    """A start that was cut short, by its limit and by a crash, may have made a workspace and not said so."""
    made = job.world.workspaces.find(*_whose_workspace(job), job.start)
    if made is None:
        return _PERFORM[job.act.kind](job)
    outcome = _PERFORM[job.act.kind](replace(job, workspace=made.as_dict()))
    return replace(outcome, facts={(job.act.about, "workspace"): made.as_dict(), **outcome.facts})


def failed(job: Job, error: Exception) -> Outcome:
    """A bug of ours, in the middle of an act: it has failed, or, without such an event, the limit decides."""
    act, why = job.act, repr(error)
    note = Note("act_failed", act.about, {"act": str(act.kind), "error": why})
    if act.kind in run_acts.FAILED:  # nothing of a run has a limit
        return replace(run_acts.FAILED[act.kind](job, why), notes=(note,))
    event: dict[ActKind, ev.Event] = {
        ActKind.INSPECT: ev.Inspected(act.about, act.epoch, False, False, (f"could not be read: {why}",)),
        ActKind.SALVAGE: ev.SalvageFailed(act.about, act.epoch, why),
        ActKind.LAST_READ: ev.LastRead(act.about, act.epoch, False, reason=why),
        ActKind.CLOSE_STEP: ev.StepEnded(str(act.data.get("step")), act.epoch, False, why),
    }
    return Outcome((event[act.kind],) if act.kind in event else (), notes=(note,))


# --- starting --------------------------------------------------------------------------------------------


def _start(job: Job) -> Outcome:
    """Workspace, process, registration. A failure undoes what came before, the empty workspace included."""
    key = job.act.about
    try:
        workspace = _make_workspace(job)
    except (HeadcountError, OSError) as error:
        return Outcome((ev.StartFailed(key, _undo_start(job, None, error)),))
    facts: dict[tuple[str, str], Mapping[str, Any]] = {(key, "workspace"): workspace.as_dict()}
    handle: Handle | None = None
    try:
        handle = job.runtime.start(_spec(job, workspace))
        wait_ready(job, handle)
    except (HeadcountError, OSError) as error:
        if not _is_ended(job, handle):  # not undone: the start's limit goes on with it
            return Outcome(facts=facts | _process(job, handle), handle=handle)
        kept = facts if job.start.get("workspace") else {}
        return Outcome((ev.StartFailed(key, _undo_start(job, workspace, error)),), kept)
    return Outcome((ev.Registered(key),), facts | _process(job, handle), handle=handle)


def _process(job: Job, handle: Handle | None) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Which processes it made, for the store: the files that say the same can be written by the member."""
    if handle is None:
        return {}
    made = handle.as_dict()
    seals = dict.fromkeys((*job.process.get("seals", ()), *made.get("seals", ())))
    return {(job.act.about, PROCESS): {**made, "seals": list(seals)}}


def _is_ended(job: Job, handle: Handle | None) -> bool:
    """Nothing of a start that failed runs, or ever will. Where that cannot be seen, it is not so."""
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
    limit = {"checkout_timeout_s": job.policy.checkout_timeout_s}
    return job.world.workspaces.create(*_whose_workspace(job), {**job.start, **limit})


def _whose_workspace(job: Job) -> tuple[str, str, int]:
    """A shared one is the team's: whoever joins later, or starts anew, works in the same."""
    member = _member(job)
    generation = job.team.generation if job.start.get("workspace") else member.generation
    return job.team.name, member.name, generation


_CEILING = "GIT_CEILING_DIRECTORIES"


def _spec(job: Job, workspace: Workspace) -> SpawnSpec:
    start, member = job.start, _member(job)
    prompt_file = str(start["prompt_file"])
    os.makedirs(os.path.dirname(prompt_file), mode=0o700, exist_ok=True)
    with open(prompt_file, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(str(start.get("prompt", "")))
    given = start.get("env", {})
    env = {
        **given,
        "HEADCOUNT_HOME": job.world.home,
        "HEADCOUNT_TEAM": job.team.name,
        "HEADCOUNT_MEMBER": member.name,
        "HEADCOUNT_GENERATION": str(member.generation),
        "HEADCOUNT_TOKEN": job.token,
        "HEADCOUNT_PROMPT_FILE": prompt_file,
        # Some programs believe this rather than the kernel, and would work in the operator's checkout.
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
    """The reason, and what could not be undone. Others may work in a shared workspace: closing ends that."""
    said = (getattr(error, "what", ""), getattr(error, "why", ""))
    reason = ": ".join(filter(None, said)) or str(error)
    if workspace is None or job.workspace is not None or job.start.get("workspace"):
        return reason
    member = _member(job)
    proof = GoneProof(job.team.name, member.name, member.generation, "never started", utc_now())
    try:
        kept = job.world.workspaces.remove(workspace, proof, job.start)
    except (HeadcountError, OSError) as failure:
        kept = getattr(failure, "what", "") or str(failure)
    if kept and os.path.lexists(workspace.path):
        return f"{reason} (its workspace {workspace.path} was left: {kept})"
    return f"{reason} ({kept})" if kept else reason


# --- looking and saving ----------------------------------------------------------------------------------


def _inspect(job: Job) -> Outcome:
    key, epoch = job.act.about, job.act.epoch
    if job.workspace is None:
        return Outcome((ev.Inspected(key, epoch, True, True),))
    try:
        workspace = Workspace.from_dict(job.workspace)
        findings = job.world.workspaces.read(workspace, job.policy, job.start)
        verdict = job.world.judge(job.team, _member(job), findings, job.policy)
    except (HeadcountError, OSError) as error:
        issue = f"the workspace could not be read: {getattr(error, 'why', '') or error}"
        return Outcome((ev.Inspected(key, epoch, False, False, (issue,)),))
    facts = {(key, "findings"): findings.as_dict()}
    if verdict is None:
        issues = tuple(findings.issues())
        inspected = ev.Inspected(key, epoch, findings.spotless, None, issues, *_head(findings))
    else:
        spotless = verdict.clean and findings.spotless
        inspected = ev.Inspected(key, epoch, spotless, verdict.clean, verdict.issues, *_head(findings))
    return Outcome((inspected,), facts)


def _head(findings: Findings | None) -> tuple[str, int]:
    """The commit that the workspace is at, and how many are its own."""
    return (findings.head or "", findings.commits_ahead or 0) if findings is not None else ("", 0)


def _salvage(job: Job) -> Outcome:
    """Frozen while it is read, so that what is saved is one moment; thawed whatever happens."""
    key, epoch = job.act.about, job.act.epoch
    frozen = job.runtime.pause(job.handle).confirmed if job.handle is not None else True
    try:
        findings, saved, facts = _save(job)
    except (HeadcountError, OSError) as error:
        return Outcome((ev.SalvageFailed(key, epoch, getattr(error, "why", "") or str(error)),))
    finally:
        if job.handle is not None:
            job.runtime.resume(job.handle)
    notes = () if frozen else (Note("warning", key, {"text": "salvaged while not all of it stood still"}),)
    event = ev.Saved(key, epoch, saved.ref if saved else None, *_head(findings))
    return Outcome((event,), facts, notes)


def _last_read(job: Job) -> Outcome:
    """After the proof nobody writes any more: what changed since the last look is saved now."""
    key, epoch = job.act.about, job.act.epoch
    try:
        findings, saved, facts = _save(job)
    except (HeadcountError, OSError) as error:
        return Outcome((ev.LastRead(key, epoch, False, reason=getattr(error, "why", "") or str(error)),))
    ref = saved.ref if saved is not None and saved.created else None
    return Outcome((ev.LastRead(key, epoch, True, ref, "", *_head(findings)),), facts)


def _save(
    job: Job,
) -> tuple[Findings | None, Salvage | None, dict[tuple[str, str], Mapping[str, Any]]]:
    """What was found, what was saved, if anything had to be, and what is known now."""
    if job.workspace is None:
        return None, None, {}
    findings, saved = job.world.workspaces.salvage(Workspace.from_dict(job.workspace), job.policy, job.start)
    facts: dict[tuple[str, str], Mapping[str, Any]] = {(job.act.about, "findings"): findings.as_dict()}
    if saved is not None:
        facts[saved.ref, "salvage"] = saved.as_dict()
    return findings, saved, facts


# --- ending ----------------------------------------------------------------------------------------------


def _ask_exit(job: Job) -> Outcome:
    if job.handle is None:
        return prove(job)
    # Not beyond its limit: SIGTERM and SIGKILL, which follow in this lane, would come close together.
    job.runtime.request_exit(job.handle, job.start.get("exit_text"), job.policy.exit_grace_s)
    return Outcome()


def _terminate(job: Job) -> Outcome:
    if job.handle is None or job.runtime.terminate(job.handle) == 0:
        return prove(job)
    if job.handle.keeper_fd is None and job.runtime.wait_empty(job.handle, job.policy.stop_grace_s):
        return prove(job)  # no keeper tells us: this thread has to wait
    return Outcome()


def _kill(job: Job) -> Outcome:
    if job.handle is None:
        return prove(job)
    # Sooner than the limit of the state: that one would say "stuck" without a name.
    return _proved(job, job.runtime.kill(job.handle, job.policy.stop_grace_s / 2))


def ended(job: Job) -> Outcome:
    """The agent's own process ended. If nothing else is left its keeper follows at once: both are known."""
    if job.handle is None:
        return Outcome()
    status = job.runtime.exit_status(job.handle)
    exited = ev.Exited(job.act.about, str(status), getattr(status, "code", None))
    if not job.runtime.wait_empty(job.handle, _KEEPER_FOLLOWS_S):
        return Outcome((exited,))
    proof = prove(job)
    return Outcome((exited, *proof.events), proof.facts)


def prove(job: Job) -> Outcome:
    """Look whether the tree is empty; say nothing when it is not (yet)."""
    if job.handle is None:
        # No start was ever recorded under this mark, and none can be any more.
        return Outcome((ev.TreeEmpty(job.act.about, "never started"),))
    proof = job.runtime.prove_gone(job.handle)
    return _proved(job, proof) if proof.empty else Outcome()


def _proved(job: Job, proof: Proof) -> Outcome:
    seen = proof.as_dict()
    facts = {(job.act.about, "proof"): seen}
    if proof.empty:
        return Outcome((ev.TreeEmpty(job.act.about, proof.method),), facts)
    alive = tuple(f"{p['name']} ({p['pid']})" for p in seen["alive"])
    return Outcome((ev.NotEmpty(job.act.about, job.act.epoch, alive),), facts)


# --- speaking --------------------------------------------------------------------------------------------


def _capture(job: Job) -> Outcome:
    screen = job.runtime.capture(job.handle) if job.handle is not None else ""
    shown: dict[str, object] = {"screen": screen[-4000:]}
    return Outcome(facts={(job.act.about, CAPTURED): shown}, notes=(Note("captured", job.act.about, shown),))


def _hold(job: Job) -> Outcome:
    """Pause or resume, confirmed process by process (E2)."""
    if job.handle is None:
        return Outcome()
    pausing = job.act.kind is ActKind.PAUSE
    held = job.runtime.pause(job.handle) if pausing else job.runtime.resume(job.handle)
    kind = "processes_paused" if pausing else "processes_resumed"
    return Outcome(notes=(Note(kind, job.act.about, {"confirmed": held.confirmed}),))


def _notify(job: Job) -> Outcome:
    """Run where the settings are: a relative path in them is meant from there."""
    env = {
        **job.environment,
        "HEADCOUNT_TEAM": job.team.name,
        "HEADCOUNT_ESCALATION": str(job.act.data.get("escalation")),
        "HEADCOUNT_ABOUT": job.act.about,
    }
    try:
        place = os.path.dirname(job.world.home)
        limit = job.policy.finalizer_timeout_s
        # The user's own command, in the user's checkout: it acts for the operator.
        done = job.world.commands.run(
            job.policy.notify, cwd=place, timeout_s=limit, env=env, as_operator=True
        )
        result = f"exit code {done.returncode}"
    except (OSError, subprocess.TimeoutExpired) as error:
        result = str(error)
    return Outcome(notes=(Note("notified", job.act.about, {"result": result}),))


def _member(job: Job) -> Member:
    assert job.member is not None
    return job.member


_PERFORM: dict[ActKind, Callable[[Job], Outcome]] = {
    ActKind.START: _start,
    ActKind.NUDGE: nudge,
    ActKind.INSPECT: _inspect,
    ActKind.CAPTURE: _capture,
    ActKind.SALVAGE: _salvage,
    ActKind.ASK_EXIT: _ask_exit,
    ActKind.TERMINATE: _terminate,
    ActKind.KILL: _kill,
    ActKind.PAUSE: _hold,
    ActKind.RESUME: _hold,
    ActKind.LAST_READ: _last_read,
    ActKind.CLOSE_STEP: closing.perform_step,
    ActKind.NOTIFY: _notify,
    ActKind.MERGE: run_acts.merge,
    ActKind.ASK_REVIEW: run_acts.ask_review,
    ActKind.RUN_GATE: run_acts.run_gate,
}
