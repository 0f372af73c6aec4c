"""How each act is performed: one function each, safe to repeat, called by a worker of the executor.

A repeat after a crash must find what the first try did: a start by its mark, a salvage by its ref, and an act
that stops processes reads the tree before it signals it. A failure becomes an event; only a bug raises.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from headcount.domain.findings import Workspace
from headcount.engine import closing, held_environment, run_acts
from headcount.engine.hub_copies import FACT, Time, copy_work, try_copy
from headcount.engine.job import Job, Outcome
from headcount.engine.start_act import start, whose_workspace
from headcount.engine.writing import CAPTURED, NOTIFY_FAILED
from headcount.errors import HeadcountError
from headcount.protocol import events as ev
from headcount.protocol.effects import Act, ActKind, Note

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from headcount.domain.findings import Findings, Salvage
    from headcount.ports import Proof
    from headcount.protocol.member import Member

_KEEPER_FOLLOWS_S = 0.02
_LAST_WORDS_S = 1.0  # after a failure: its last line says why
_LAST_LINE = 200  # characters of the last line of a member that failed
# The waits after each try of a nudge, two minutes in all. A member that is busy for longer has its mail.
_TRY_AGAIN_S = (1, 2, 4, 8, 15, 30, 60)

_ENDING = (ActKind.ASK_EXIT, ActKind.TERMINATE, ActKind.KILL)
_READING = (ActKind.INSPECT, ActKind.SALVAGE, ActKind.LAST_READ)


def perform(job: Job) -> Outcome:
    """Perform one act. A member whose records are lost is ended by its mark, unless its start failed."""
    mark = str(job.start.get("mark", ""))
    if job.handle is None and mark and job.act.kind in _ENDING and not _member(job).failure:
        job = replace(job, handle=job.runtime.adopt_by_mark(mark, job.process))
    if job.workspace is None and mark and job.act.kind in _READING:
        return _perform_in_what_was_made(job)
    return _PERFORM[job.act.kind](job)


def _perform_in_what_was_made(job: Job) -> Outcome:
    """A start that its limit and a crash cut short may have made a workspace without reporting it."""
    made = job.world.workspaces.find(*whose_workspace(job), job.start)
    if made is None:
        return _PERFORM[job.act.kind](job)
    outcome = _PERFORM[job.act.kind](replace(job, workspace=made.as_dict()))
    return replace(outcome, facts={(job.act.about, "workspace"): made.as_dict(), **outcome.facts})


def failed(job: Job, error: Exception) -> Outcome:
    """The outcome after a bug of ours: the act failed or, where there is no such event, its limit decides."""
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


# --- inspecting and saving ----------------------------------------------------------------------------------


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
    at_hub, away = try_copy(job, job.policy.inspect_timeout_s / 2)
    facts = _facts(job, findings, None, at_hub)
    # Commits that the hub does not have are still to be saved: the salvage that follows pushes them.
    spotless = findings.spotless and not away
    if verdict is None:
        issues = tuple(findings.issues())
        inspected = ev.Inspected(key, epoch, spotless, None, issues, *_head(findings))
    else:
        spotless = verdict.clean and spotless
        inspected = ev.Inspected(key, epoch, spotless, verdict.clean, verdict.issues, *_head(findings))
    return Outcome((inspected,), facts)


def _head(findings: Findings | None) -> tuple[str, int]:
    """The commit that the workspace is at, and how many are its own."""
    return (findings.head or "", findings.commits_ahead or 0) if findings is not None else ("", 0)


def _salvage(job: Job) -> Outcome:
    """Save the workspace while its tree is frozen, so that all of it is of one moment; then thaw the tree."""
    key, epoch, limit = job.act.about, job.act.epoch, Time(job.policy.salvage_timeout_s)
    frozen = job.runtime.pause(job.handle).confirmed if job.handle is not None else True
    try:
        findings, saved = _save(job)
    except (HeadcountError, OSError) as error:
        return Outcome((ev.SalvageFailed(key, epoch, getattr(error, "why", "") or str(error)),))
    finally:
        if job.handle is not None:
            job.runtime.resume(job.handle)
    try:
        saved, at_hub = copy_work(job, saved, limit.left_s)
    except HeadcountError as error:
        return Outcome((ev.SalvageFailed(key, epoch, error.why or str(error), here=True),))
    facts = _facts(job, findings, saved, at_hub)
    notes = () if frozen else (Note("warning", key, {"text": "salvaged while not all of it stood still"}),)
    event = ev.Saved(key, epoch, saved.ref if saved else None, *_head(findings))
    return Outcome((event,), facts, notes)


def _last_read(job: Job) -> Outcome:
    """Save what changed after the last read: since the proof, no process of the member can write."""
    key, epoch, limit = job.act.about, job.act.epoch, Time(job.policy.salvage_timeout_s)
    try:
        findings, saved = _save(job)
        saved, at_hub = copy_work(job, saved, limit.left_s)
    except (HeadcountError, OSError) as error:
        return Outcome((ev.LastRead(key, epoch, False, reason=getattr(error, "why", "") or str(error)),))
    ref = saved.ref if saved is not None and saved.created else None
    facts = _facts(job, findings, saved, at_hub)
    return Outcome((ev.LastRead(key, epoch, True, ref, "", *_head(findings)),), facts)


def _save(job: Job) -> tuple[Findings | None, Salvage | None]:
    """Return the findings, and the salvage if something had to be saved."""
    if job.workspace is None:
        return None, None
    return job.world.workspaces.salvage(Workspace.from_dict(job.workspace), job.policy, job.start)


def _facts(
    job: Job, findings: Findings | None, saved: Salvage | None, at_hub: Mapping[str, Any] | None
) -> dict[tuple[str, str], Mapping[str, Any]]:
    """What to keep about a workspace that was read."""
    facts: dict[tuple[str, str], Mapping[str, Any]] = {}
    if findings is not None:
        facts[job.act.about, "findings"] = findings.as_dict()
    if saved is not None:
        facts[saved.ref, "salvage"] = saved.as_dict()
    if at_hub is not None:
        facts[job.act.about, FACT] = at_hub
    return facts


# --- ending ----------------------------------------------------------------------------------------------


def _ask_exit(job: Job) -> Outcome:
    if job.handle is None:
        return prove(job)
    # Within its limit: else SIGTERM and SIGKILL, which follow in this lane, would come close together.
    job.runtime.request_exit(job.handle, job.start.get("exit_text"), job.policy.exit_grace_s)
    return Outcome()


def _terminate(job: Job) -> Outcome:
    if job.handle is None or job.runtime.terminate(job.handle) == 0:
        return prove(job)
    if job.handle.keeper_fd is None and job.runtime.wait_empty(job.handle, job.policy.stop_grace_s):
        return prove(job)  # no keeper reports the end: this worker has to wait
    return Outcome()


def _kill(job: Job) -> Outcome:
    if job.handle is None:
        return prove(job)
    # Before the limit of the state, which would report "stuck" without the names.
    return _proved(job, job.runtime.kill(job.handle, job.policy.stop_grace_s / 2))


def ended(job: Job) -> Outcome:
    """The agent's own process ended. If nothing else is left, its keeper ends at once: report both."""
    if job.handle is None:
        return Outcome()
    status = job.runtime.exit_status(job.handle)
    code = getattr(status, "code", None)
    # A keeper that has ended has written all that the agent printed.
    empty = job.runtime.wait_empty(job.handle, _KEEPER_FOLLOWS_S if code == 0 else _LAST_WORDS_S)
    cause = "" if code == 0 else _with_last_line(str(status), job.runtime.capture(job.handle))
    exited = ev.Exited(job.act.about, str(status), code, cause)
    if not empty:
        return Outcome((exited,))
    proof = prove(job)
    return Outcome((exited, *proof.events), proof.facts)


def _with_last_line(how: str, output: str) -> str:
    lines = [line.strip() for line in output.split("\n")]
    # An error of headcount's own ends with hints, which name no cause.
    last = next((line for line in reversed(lines) if line and not line.startswith("Hint: ")), "")
    return f"{how}: {last[:_LAST_LINE]}" if last else how


def prove(job: Job) -> Outcome:
    """Report the tree as empty if it is; report nothing otherwise."""
    if job.handle is None:
        # No start was recorded under this mark, and none can be any more.
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


# --- reaching --------------------------------------------------------------------------------------------


def _nudge(job: Job) -> Outcome:
    """Put text in front of the member, once; or report that it was not delivered (E10, E11).

    A member that has read the mail that goes with it is not disturbed, unless it is urgent.
    """
    text, urgent = str(job.act.data.get("text", "")), bool(job.act.data.get("urgent"))
    if job.mail_read and not urgent:
        return Outcome(notes=(_told("nudged", job.act, by="mail"),))
    if job.handle is not None and job.runtime.nudge(job.handle, text, urgent=urgent, tag=job.act.id):
        return Outcome(notes=(_told("nudged", job.act, by=str(job.start.get("runtime", "plain"))),))
    if job.handle is not None and job.tries < len(_TRY_AGAIN_S):
        return Outcome(again_s=_TRY_AGAIN_S[job.tries])
    return Outcome(notes=(_told("nudge_undelivered", job.act),))


def _told(kind: str, act: Act, **how: object) -> Note:
    return Note(kind, act.about, {"text": act.data.get("text", ""), **how})


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


_CAUSES = {
    "escalation": "HEADCOUNT_ESCALATION",
    "ask": "HEADCOUNT_ASK",
    "failure": "HEADCOUNT_FAILURE",
    "question": "HEADCOUNT_QUESTION",
    "limit": "HEADCOUNT_LIMIT",
}


def _notify(job: Job) -> Outcome:
    """Notify in every way that is set. A way that fails changes nothing, and the journal has it once."""
    results = {}
    if job.policy.notify:
        results["command"] = _run_notify_command(job)
    results.update(_run_notifier(job))
    told = ", ".join(f"{way}: {result}" for way, result in results.items())
    failed = [
        Note(NOTIFY_FAILED, "", {"way": way, "why": why})
        for way, why in results.items()
        if why not in ("ok", "exit code 0")
    ]
    return Outcome(notes=(Note("notified", job.act.about, {"result": told}), *failed))


def _run_notifier(job: Job) -> dict[str, str]:
    """Run `app/notifier.py` with what is held for this team; it says one line for each way."""
    ways = held_environment.read_ways(job.held)
    if not any(ways.values()):
        return {}
    cause, about = next(
        ((name, str(job.act.data[name])) for name in _SENTENCES if name in job.act.data), ("", "")
    )
    who = f"{job.team.name}/{job.act.about}"
    given = {
        "ways": ways, "title": f"headcount: {who}", "text": _SENTENCES[cause].format(about),
        "about": {"team": job.team.name, "member": job.act.about, "kind": cause, "about": about},
    }  # fmt: skip
    command = [sys.executable, "-m", "headcount.app.notifier"]
    try:
        done = job.world.commands.run(
            command, cwd=os.path.dirname(job.world.home), timeout_s=job.policy.finalizer_timeout_s,
            given=json.dumps(given), env=job.environment,
        )  # fmt: skip
    except OSError as error:
        return {way: f"failed: {error}" for way, value in ways.items() if value}
    said = dict(line.partition(" ")[::2] for line in done.stdout.splitlines())
    return {way: str(said.get(way, "failed")) for way, value in ways.items() if value}


_SENTENCES = {
    "escalation": "needs your decision: headcount decide {0} …",
    "ask": "requests permission: headcount decide {0} allow|deny",
    "question": "asks: headcount read {0}",
    "failure": "failed: {0}",
    "limit": "is at its usage limit: {0}",
}


def _run_notify_command(job: Job) -> str:
    """Run the user's command where the settings are: a relative path in them starts there."""
    env = {
        **job.environment,
        "HEADCOUNT_TEAM": job.team.name,
        **{variable: str(job.act.data[name]) for name, variable in _CAUSES.items() if name in job.act.data},
        "HEADCOUNT_ABOUT": job.act.about,
    }
    try:
        place = os.path.dirname(job.world.home)
        limit = job.policy.finalizer_timeout_s
        # The user's own command in the user's checkout: it acts for the operator.
        done = job.world.commands.run(
            job.policy.notify, cwd=place, timeout_s=limit, env=env, as_operator=True
        )
        return f"exit code {done.returncode}"
    except OSError as error:
        return str(error)


def _member(job: Job) -> Member:
    assert job.member is not None
    return job.member


_PERFORM: dict[ActKind, Callable[[Job], Outcome]] = {
    ActKind.START: start,
    ActKind.NUDGE: _nudge,
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
