"""A run of tasks in the simulator: the real conductor, with faked merges, reviews and gates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.domain.settings import Gates
from headcount.engine.conduct import PHASE, ROSTER, Conductor
from headcount.engine.writing import write_effects
from headcount.ports import Task as BoardTask
from headcount.protocol import phase_events as pe
from headcount.protocol import task_events as te
from headcount.protocol.effects import Post
from headcount.protocol.phase import State, open_phase
from headcount.protocol.phase_codec import phase_as_json, phase_from_json
from headcount.protocol.task import Task
from tests.support.onlooker import Violation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headcount.protocol.effects import Act
    from headcount.protocol.member import Member
    from headcount.protocol.team import Team
    from tests.support.simulator import Run

REVIEWERS = (("spec-reviewer", "spec"), ("code-quality-reviewer", "quality"))
_NOON = "2026-01-01T12:00:00+00:00"


def make_start(team: Team, member: Member, plan: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"mark": f"{team.id}/{member.key}"}


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
        phase, effects = open_phase(
            "demo", [Task(i) for i in ids], Gates(verify="make"), _NOON, run.plan.policy
        )
        tx.put_fact(run.team.id, "", ROSTER, roster)
        tx.put_fact(run.team.id, "", PHASE, phase_as_json(phase))
        conductor = Conductor(tx, run.team, [], run.plan.policy, make_start)
        conductor.order(effects)
        conductor.conduct(())
        tx.save_team(run.team, conductor.team)
        write_effects(tx, conductor.team, conductor.effects)
    run.team = conductor.team


def merge(run: Run, act: Act, fails: bool) -> tuple[pe.PhaseEvent, ...]:
    commit = str(act.data["commit"])
    event: te.TaskEvent = te.Merged(act.epoch, commit)
    if fails:
        event = te.Conflicted(act.epoch, commit, ("a file",))
    return (pe.TaskHappened(_NOON, act.about, event),)


def ask_review(run: Run, act: Act, fails: bool) -> tuple[pe.PhaseEvent, ...]:
    key, commit = str(act.data["key"]), str(act.data["commit"])
    run.keep_fact(key, "reviewing", {"commit": commit})
    run.post(Post(key, "Review again", "", sender="lead"))
    return ()


def run_gate(run: Run, act: Act, fails: bool) -> tuple[pe.PhaseEvent, ...]:
    verdict = "failed" if fails else "passed"
    return (pe.GateEnded(_NOON, str(act.data["tag"]), act.epoch, verdict, "seen"),)


def check_phase(run: Run) -> None:
    """A run whose team is closed has ended, and says how."""
    with run.store.read() as tx:
        raw = tx.fact(run.team.id, "", PHASE)
    phase = phase_from_json(raw or {})
    if phase.state not in (State.COMPLETE, State.BLOCKED):
        raise Violation(f"the team is closed, and its run is still at {phase.state}")
    if phase.state is State.BLOCKED and not phase.reason:
        raise Violation("the run is blocked, and nobody says why")
