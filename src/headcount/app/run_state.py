"""How far a run is, in one word; apart from `run`, because whoever only looks needs no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.protocol.phase import State
from headcount.protocol.run import moves_by_itself
from headcount.protocol.task import Presence
from headcount.protocol.task import State as TaskState

if TYPE_CHECKING:
    from headcount.protocol.phase import Phase
    from headcount.protocol.task import Task
    from headcount.protocol.team import Team

ESCALATED = "escalated"
OVER = (State.COMPLETE, State.BLOCKED, ESCALATED)  # nothing more happens without somebody doing something


def run_status(phase: Phase, team: Team) -> str:
    """The phase's own; `escalated` when all that is left to happen is somebody's decision."""
    waiting = any(e.state in ("open", "parked") for e in team.escalations.values())
    if phase.state is State.TASKS and waiting and not moves_by_itself(team):
        return ESCALATED
    return "running" if phase.state is State.TASKS else str(phase.state)


def awaited(task: Task) -> list[str]:
    """Those of its members whose work or word it waits for; not who has said its word, and waits itself."""
    if task.state is TaskState.WORKING:
        seats = task.seats[:1]
    elif task.state is TaskState.REVIEWING:
        seats = tuple(seat for seat in task.reviewers if seat.verdict is None)
    else:
        return []
    return [seat.key for seat in seats if seat.key and seat.presence is Presence.HERE]


def read_stalled(phase: Phase, team: Team) -> list[str]:
    """Who shows no sign of progress while a task waits for it: for ever, if nobody looks at it."""
    keys = [key for task in phase.tasks.values() for key in awaited(task)]
    return [key for key in keys if team.members[key].live and team.members[key].activity == "stalled"]


def read_run_state(team: Team) -> dict[str, Any] | None:
    """None for a team that runs no tasks."""
    if team.run is None:
        return None
    return {"status": run_status(team.run, team), "reason": team.run.reason}
