"""Compute the evidence of a run: the six-item completion checklist, and `status.json`."""

# An item is done only with evidence, and shows it. Whether a member is alive is read from the members
# themselves, not from the seats of the tasks: a seat records what a task was told, a member what the
# runtime has proved.

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from headcount.domain.checklist import COMPLEXITY, VERIFICATION, Item, PhaseStatus
from headcount.errors import Bug
from headcount.protocol.phase import Phase, State
from headcount.protocol.task import WORKER
from headcount.protocol.task import State as TaskState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headcount.protocol.member import Member

REVIEWERS: Final = ("spec-reviewer", "code-quality-reviewer")


def checklist(phase: Phase, members: Iterable[Member]) -> tuple[Item, ...]:
    """Return the checklist. `members` are all incarnations that the run ever had."""
    seen = tuple(members)
    return (
        _tasks_item(phase),
        _members_item("No active workers", [m for m in seen if m.role == WORKER]),
        _members_item("No active reviewers", [m for m in seen if m.role in REVIEWERS]),
        _gate_item("Verification gate passed", phase, VERIFICATION),
        _gate_item("Complexity gate passed", phase, COMPLEXITY),
        _cleanup_item(phase),
    )


def status_json(phase: Phase) -> dict[str, object]:
    """Return the content of `status.json`. A status that violates its schema is never written (E4)."""
    complete, blocked = phase.state is State.COMPLETE, phase.state is State.BLOCKED
    try:
        status = PhaseStatus(
            status="complete" if complete else "blocked" if blocked else "running",
            attempt=phase.attempt,
            started_at=phase.started_at,
            completed_at=phase.ended_at if complete else None,
            blocked_at=phase.ended_at if blocked else None,
            reason=phase.reason,
            gate=phase.gate,
            notes=phase.notes + _remarks(phase),
        )
    except ValueError as error:
        raise Bug(f"The status of {phase.team} cannot be written", str(error), code="bad-status") from error
    return status.as_dict()


def _remarks(phase: Phase) -> tuple[str, ...]:
    merged = [task for task in phase.tasks.values() if task.state is not TaskState.BLOCKED]
    unreviewed = [task.id for task in merged if task.unreviewed]
    remarks = [f"merged without reviews, because no reviewers are defined: {', '.join(unreviewed)}"]
    gates = [result.evidence for result in phase.results.values() if result.verdict == "undefined"]
    return tuple((remarks if unreviewed else []) + gates)


def _tasks_item(phase: Phase) -> Item:
    tasks = phase.tasks.values()
    complete = sum(task.state is TaskState.COMPLETE for task in tasks)
    evidence = f"{complete} of {len(tasks)} complete"
    others = [f"{task.id} is {task.state}" for task in tasks if task.state is not TaskState.COMPLETE]
    return Item("All tasks complete", not others, "; ".join([evidence, *others]))


def _members_item(title: str, members: list[Member]) -> Item:
    left = [f"{m.key} is {'stuck' if m.stuck else m.state}" for m in members if not m.settled]
    gone = Counter(m.outcome or "not started" for m in members if m.settled)
    outcomes = ", ".join(f"{count} {outcome.replace('_', ' ')}" for outcome, count in sorted(gone.items()))
    if not members:
        return Item(title, True, "none was started")
    evidence = f"{gone.total()} of {len(members)} proved gone"
    return Item(title, not left, "; ".join([f"{evidence} ({outcomes})" if outcomes else evidence, *left]))


def _gate_item(title: str, phase: Phase, gate: str) -> Item:
    result = phase.results.get(gate)
    if result is None:
        return Item(title, False, "not run yet")
    words = {"not_run": "could not run: ", "failed": "failed: "}.get(result.verdict, "")
    if result.verdict == "undefined":
        return Item(title.removesuffix(" passed"), True, result.evidence, skipped=True)
    return Item(title, result.verdict == "passed", words + result.evidence)


def _cleanup_item(phase: Phase) -> Item:
    title, failures = "Team cleanup completed", phase.cleanups
    if phase.state is State.COMPLETE and phase.clean:
        return Item(title, True, f"done at try {len(failures) + 1}, at {phase.ended_at}")
    if failures:
        return Item(title, False, f"failed {len(failures)} times: {failures[-1]}")
    return Item(title, False, "not done yet")
