"""A run of tasks in the simulator: how it is opened, and what must hold when its team is closed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.domain.settings import Gates
from headcount.engine.apply import apply
from headcount.engine.ordered_starts import ROSTER
from headcount.ports import Task as BoardTask
from headcount.protocol import phase_events as pe
from headcount.protocol.phase import Crew, State
from headcount.protocol.task import Task
from tests.support.onlooker import Violation

if TYPE_CHECKING:
    from tests.support.simulator import Run

REVIEWERS = (("spec-reviewer", "spec"), ("code-quality-reviewer", "quality"))
_NOON = "2026-01-01T12:00:00+00:00"


def open_run(run: Run) -> None:
    """As `headcount run` opens one: the board, the roster, the phase, and whoever can start at once."""
    workers = [c.name for c in run.plan.cast if c.role == "worker"]
    reviewers = [[role, name] for role, name in REVIEWERS] if run.plan.reviewed else []
    ids = [str(n + 1) for n in range(run.plan.tasks)]
    roster = {
        "workers": workers,
        "reviewers": reviewers,
        "plans": {name: {"prompt": ""} for name in [*workers, *(name for _, name in reviewers)]},
        "tasks": {i: {"subject": f"task {i}", "prompt": "", "model": None, "metadata": {}} for i in ids},
        "integration": "integration",
        "base": "c0",
        "require_merged": True,
    }
    with run.store.write() as tx:
        for i in ids:
            tx.add_task(BoardTask(i, run.team.id, f"task {i}"))
        tx.put_fact(run.team.id, "", ROSTER, roster)
        crew = Crew(tuple(workers), tuple((role, name) for role, name in reviewers), "integration", "c0")
        tasks = tuple(Task(i) for i in ids)
        opened = pe.RunOpened(_NOON, tasks, Gates(verify="true"), crew)
        run.team = apply(tx, run.team, [opened], run.plan.policy, run.make_start).team


def check_phase(run: Run) -> None:
    """A run whose team is closed has ended, and says how."""
    phase = run.team.run
    assert phase is not None
    if phase.state not in (State.COMPLETE, State.BLOCKED):
        raise Violation(f"the team is closed, and its run is still at {phase.state}")
    if phase.state is State.BLOCKED and not phase.reason:
        raise Violation("the run is blocked, and nobody says why")
