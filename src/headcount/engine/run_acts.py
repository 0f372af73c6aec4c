"""The acts of a run: merging what was reviewed, showing a reviewer the next commit, and the two gates.

A gate passes by an exit status or a count that we saw ourselves. One that could not run has not passed (E3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from headcount.domain.checklist import VERIFICATION
from headcount.domain.findings import Workspace
from headcount.engine import hub_copies
from headcount.engine.complexity import measure
from headcount.engine.job import Outcome
from headcount.engine.writing import utc_now
from headcount.errors import HeadcountError
from headcount.protocol import phase_events as pe
from headcount.protocol import task_events as te
from headcount.protocol.effects import ActKind, Note, Post

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.engine.job import Job

_TAIL = 2000


def merge(job: Job) -> Outcome:
    """Merging what is merged already succeeds, so a repeat after a crash is harmless."""
    task, attempt = job.act.about, job.act.epoch
    commit, branch = str(job.act.data["commit"]), str(job.act.data["branch"])
    event: te.TaskEvent
    away = ""
    try:
        hub_copies.bring(job, branch, commit)
        conflicts = job.world.workspaces.merge(branch, commit, f"Merge task {task}", job.start)
        away = hub_copies.push_branch(job, branch)
        event = te.Conflicted(attempt, commit, conflicts) if conflicts else te.Merged(attempt, commit)
    except HeadcountError as error:
        event = te.MergeFailed(attempt, commit, _whole(error))
    except OSError as error:
        event = te.MergeFailed(attempt, commit, str(error))
    # Members' own branches are there, so no work depends on it; the next merge and the close push it again.
    notes = (Note("warning", "", {"text": away}),) if away else ()
    return Outcome((pe.TaskHappened(utc_now(), task, event),), notes=notes)


def _whole(error: HeadcountError) -> str:
    """With what it is about, and what to do: it stands alone in the report of a task."""
    said = ": ".join(filter(None, (error.what, error.why)))
    return f"{said}. {error.hints[0]}" if error.hints else said


def ask_review(job: Job) -> Outcome:
    """Show a reviewer the next commit: first in its workspace, then by mail.

    If the reviewer has changed files there, the workspace stays as it is. The mail names the commit that
    the verdict is for.
    """
    key, commit = str(job.act.data["key"]), str(job.act.data["commit"])
    where = job.everyone.get("workspace", {}).get(key)
    moved = False
    if where is not None:
        try:
            moved = job.world.workspaces.show_commit(
                Workspace.from_dict(where), commit, job.policy, job.start
            )
        except (HeadcountError, OSError):
            moved = False
    text = job.text
    if not moved:
        text += f"\nYour workspace could not be moved there: look at it with `git show {commit}`.\n"
    mail = Post(key, "Review again", text, priority="high", sender="lead")
    return Outcome(facts={(key, "reviewing"): {"commit": commit}}, mail=(mail,))


def run_gate(job: Job) -> Outcome:
    gate, attempt = str(job.act.data["tag"]), job.act.epoch
    try:
        hub_copies.bring(job, str(job.act.data["branch"]))
        with job.world.workspaces.checkout(str(job.act.data["branch"]), job.start) as place:
            verdict, evidence = (_verify if gate == VERIFICATION else _complexity)(job, place)
    except (HeadcountError, OSError) as error:
        verdict, evidence = "not_run", getattr(error, "why", "") or str(error)
    note = Note("gate", "", {"gate": gate, "verdict": verdict, "evidence": evidence})
    return Outcome((pe.GateEnded(utc_now(), gate, attempt, verdict, evidence),), notes=(note,))


def _merge_failed(job: Job, why: str) -> Outcome:
    event = te.MergeFailed(job.act.epoch, str(job.act.data["commit"]), why)
    return Outcome((pe.TaskHappened(utc_now(), job.act.about, event),))


def _gate_failed(job: Job, why: str) -> Outcome:
    gate = str(job.act.data["tag"])
    return Outcome((pe.GateEnded(utc_now(), gate, job.act.epoch, "not_run", why),))


FAILED: Final[dict[ActKind, Callable[[Job, str], Outcome]]] = {
    ActKind.MERGE: _merge_failed,
    ActKind.RUN_GATE: _gate_failed,
}


def _verify(job: Job, place: str) -> tuple[str, str]:
    """The command, in a checkout of the integration branch, with the environment of the run."""
    gates = _gates(job)
    command = str(gates["verify"])
    try:
        done = job.world.commands.run(
            command, cwd=place, timeout_s=job.policy.gate_timeout_s, env=job.environment, together=True,
            as_operator=bool(gates.get("as_operator")),
        )  # fmt: skip
    except TimeoutError:
        return "not_run", f"`{command}` took more than {job.policy.gate_timeout_s:g} s"
    last = done.stdout.strip()[-_TAIL:]
    if done.returncode in (126, 127):  # the shell's way to say that it found nothing to run
        return "not_run", f"`{command}`: {last}"
    verdict = "passed" if done.returncode == 0 else "failed"
    said = f": {last}" if last and done.returncode else ""
    return verdict, f"`{command}` ended with code {done.returncode}{said}"


def _complexity(job: Job, place: str) -> tuple[str, str]:
    gates = _gates(job)
    branch, base = str(job.act.data["branch"]), str(job.act.data["base"])
    added = job.world.workspaces.added_lines(base, branch)
    found = measure(place, added, gates)
    if found.problems:
        return "failed", "; ".join(found.problems)
    return "passed", f"{len(added)} files, {found.total} lines added, longest function {found.longest} lines"


def _gates(job: Job) -> Any:
    return job.act.data["gates"]
