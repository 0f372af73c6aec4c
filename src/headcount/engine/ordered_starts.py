"""What the engine needs to start a member that the rules ordered by themselves: its plan, prompt and first
mail.

A run starts workers and reviewers from the definition's plan for their name, with the task in it. A cycled
member outside a run is followed by its next generation with its own plan, in the same workspace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.domain import task_prompts
from headcount.engine.cycling import open_handover, seat_desk, take_workspace, with_handover
from headcount.engine.writing import first_mail, post_mail

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from headcount.ports import Tx
    from headcount.protocol.effects import PrepareStart
    from headcount.protocol.member import Member
    from headcount.protocol.task import Task
    from headcount.protocol.team import Team

    # (team, member, how it is to be started) -> its `start` fact; chosen in `app`
    MakeStart: TypeAlias = Callable[[Team, Member, Mapping[str, Any]], Mapping[str, Any]]

ROSTER = (
    "roster"  # of a team that runs tasks: the definition's plans and tasks, so that the file is not needed
)


def prepare_start(tx: Tx, team: Team, start: PrepareStart, make_start: MakeStart) -> None:
    member = team.members[start.key]
    if start.task is None:
        plan = _successors_plan(tx, team, member, start.follows)
    else:
        plan = _plan_for_task(tx, team, member, start.task)
    if start.follows:
        take_workspace(tx, team, start.follows, member)
    tx.put_fact(team.id, member.key, "start", make_start(team, member, plan))
    post_mail(tx, team, first_mail(member, str(plan["prompt"])))


def _successors_plan(tx: Tx, team: Team, member: Member, follows: str) -> dict[str, Any]:
    plan = dict(tx.fact(team.id, follows, "plan") or {})
    tx.put_fact(team.id, member.key, "plan", plan)
    note = open_handover(tx, team.id, member.name)
    return {**plan, "prompt": with_handover(str(plan.get("prompt", "")), note)}


def _plan_for_task(tx: Tx, team: Team, member: Member, task: Task) -> dict[str, Any]:
    roster = tx.fact(team.id, "", ROSTER) or {}
    about = roster["tasks"][task.id]
    plan = dict(roster["plans"][_plan_name(roster, member)])
    plan["model"] = plan.get("model") or about.get("model")
    seat = next(seat for seat in task.seats if seat.name == member.name)
    if member.role == "worker":
        # What the last worker of the task left; else what has been merged so far.
        base = task.base or roster["integration"]
        plan.update(base=base, prompt=task_prompts.for_worker(plan["prompt"], task, about))
    else:
        prompt = task_prompts.for_reviewer(plan["prompt"], task, about, seat)
        plan.update(base=task.commit, detached=True, prompt=prompt)
        tx.put_fact(team.id, member.key, "reviewing", {"commit": task.commit})
    note = open_handover(tx, team.id, seat_desk(task.id, seat.role, seat.name))
    plan["prompt"] = with_handover(plan["prompt"], note)
    return plan


def _plan_name(roster: Mapping[str, Any], member: Member) -> str:
    """A reviewer that stands in for another (`spec-2`) is started like the one that it stands in for."""
    plans = roster["plans"]
    if member.name in plans:
        return member.name
    return str(next(name for role, name in roster["reviewers"] if role == member.role))
