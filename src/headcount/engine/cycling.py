"""Who may be cycled, and who is cycled because of its age."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from headcount.engine.succession import store_handover
from headcount.protocol import events as ev
from headcount.protocol.member import Activity, State
from headcount.protocol.team import limited_by, why_not_stand_down

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headcount.ports import Tx
    from headcount.protocol.member import Member
    from headcount.protocol.task import Task
    from headcount.protocol.team import Team

REASON = "Cycling: your handover is stored"


def why_not_cycle(tx: Tx, team: Team, key: str) -> tuple[str, str] | None:
    """Code and reason why this incarnation cannot be cycled now, or None."""
    member = team.members[key]
    if not member.live:
        return "gone", f"{key} is gone, and nobody is left to cycle"
    if team.draining:
        return "draining", f"{team.name} is being stood down ({team.status}): nobody would follow"
    task = _task_of(team, member)
    if task is not None and not task.staffed:
        return "task-ends", f"task {task.id} is {task.state}, and wants nobody to follow"
    if task is None and tx.fact(team.id, key, "plan") is None:
        return "no-plan", "how it was planned is not known"
    return why_not_stand_down(team, (member.name,), cycling=True)


def _task_of(team: Team, member: Member) -> Task | None:
    """The task of a run that has a seat for it."""
    task = team.run.tasks.get(member.task or "") if team.run is not None else None
    return task if task is not None and task.seat(member.key) is not None else None


def cycling(request_id: str, name: str, by: str) -> ev.StandDown:
    return ev.StandDown(request_id, (name,), REASON, by=by, cycling=True)


def grown_old(tx: Tx, team: Team, keys: Iterable[str]) -> dict[str, ev.StandDown]:
    """By incarnation, requests for those who are to be cycled by their age: at work, not about to leave.

    Not while somebody waits for the end of a usage limit: nobody is started before that is over.
    """
    requests: dict[str, ev.StandDown] = {}
    for key in keys:
        member = team.members[key]
        at_work = member.state is State.RUNNING and member.request is None and member.activity not in _HELD
        if at_work and limited_by(team) is None and why_not_cycle(tx, team, key) is None:
            store_handover(tx, team, key)
            requests[key] = cycling(str(uuid.uuid4()), member.name, "witness")
    return requests


_HELD = (Activity.PAUSED, Activity.PARKED, Activity.LIMITED)  # by somebody, or by its client
