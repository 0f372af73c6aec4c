"""I8: with faults off, everything ends, within the bound that the policy gives.

From any state the team is run on by itself, nobody asking or deciding anything more, in several tempers: the
world and the members do what they are asked, or nothing at all comes and every limit passes, or every deed
fails. Each must come to rest in time: active, shut down, escalated or stuck.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.protocol import events as ev
from headcount.protocol.bound import bound_s, close_step_s
from headcount.protocol.member import Member, State, limit_s
from headcount.protocol.step import step
from headcount.protocol.team import Status
from tests.support.onlooker import Violation

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.domain.policy import Policy
    from headcount.protocol.team import Team

AT_REST = frozenset((Status.ACTIVE, Status.SHUTDOWN, Status.ESCALATED, Status.STUCK))


def I8_it_ends_in_time(team: Team, policy: Policy, temper: Callable[[Member], ev.Event | None]) -> float:
    """Run to rest, and say how long it took; raises when that is longer than the bound."""
    spent, bound = 0.0, bound_s(policy, len(team.members))
    due = {key: limit for key, m in team.members.items() if (limit := waits_s(m, policy)) is not None}
    closing = close_step_s(policy, len(team.members))
    while True:
        event = next_answer(team, temper)
        if event is None:
            waiting: dict[str | None, float] = dict(due.items())
            if team.close_step is not None:
                waiting[None] = closing
            if not waiting:
                break
            who = min(waiting, key=lambda key: (waiting[key], key or ""))
            passed = waiting[who]
            spent, closing = spent + passed, closing - passed
            due = {key: left - passed for key, left in due.items()}
            event = ev.TimedOut(who, team.members[who].epoch if who else team.close_epoch)
        before, (team, _) = team, step(team, event, policy)
        if team == before:
            raise Violation(f"I8: {event} changed nothing, and nothing else will come")
        due, closing = _rearm(before, team, due, policy), _rearm_closing(before, team, closing, policy)
        if spent > bound:
            raise Violation(f"I8: not at rest after {spent:.0f} s, the bound is {bound:.0f} s")
    if team.status not in AT_REST:
        raise Violation(f"I8: nothing will come any more, and the team is {team.status}")
    return spent


def waits_s(member: Member, policy: Policy) -> float | None:
    """A running member that stalls is shown as such: nothing of a stand-down waits for it."""
    return None if member.state is State.RUNNING else limit_s(member, policy)


def _rearm(before: Team, after: Team, due: dict[str, float], policy: Policy) -> dict[str, float]:
    """The clock's rule: a limit runs anew in a new epoch, and only then."""
    now: dict[str, float] = {}
    for key, member in after.members.items():
        limit = waits_s(member, policy)
        if limit is not None:
            same = key in due and before.members[key].epoch == member.epoch
            now[key] = due[key] if same else limit
    return now


def _rearm_closing(before: Team, after: Team, left: float, policy: Policy) -> float:
    return left if before.close_epoch == after.close_epoch else close_step_s(policy, len(after.members))


def next_answer(team: Team, temper: Callable[[Member], ev.Event | None]) -> ev.Event | None:
    for member in team.members.values():
        event = temper(member)
        if event is not None:
            return event
    if team.close_step is not None and temper is not silent:
        went_well = temper is obliging
        return ev.StepEnded(team.close_step, team.close_epoch, went_well, "" if went_well else "busy")
    return None


def silent(member: Member) -> ev.Event | None:
    """Nothing is ever said or done; only limits pass."""
    return None


def obliging(member: Member) -> ev.Event | None:
    key, epoch = member.key, member.epoch
    match member.state:
        case State.STARTING:
            return ev.Registered(key)
        case State.ASKED if member.answer is None:
            return ev.Answered(key, str(member.ask), True)
        case State.INSPECTING:
            return ev.Inspected(key, epoch, True, True)
        case State.NUDGED:
            return ev.DoneSignalled(key)
        case State.SALVAGING:
            return ev.Saved(key, epoch, "ref")
        case State.STOPPING | State.KILLING if not member.stuck:
            return ev.TreeEmpty(key)
        case State.GONE if not member.settled:
            return ev.LastRead(key, epoch, True)
    return None


def failing(member: Member) -> ev.Event | None:
    """Everybody answers, and everything that can fail does."""
    key, epoch = member.key, member.epoch
    match member.state:
        case State.STARTING:
            return ev.Registered(key)
        case State.ASKED if member.answer is None:
            return ev.DoneSignalled(key)
        case State.INSPECTING:
            return ev.Inspected(key, epoch, False, False, ("1 file is changed",))
        case State.NUDGED:
            return ev.DoneSignalled(key)
        case State.SALVAGING:
            return ev.SalvageFailed(key, epoch, "disk full")
        case State.KILLING if not member.stuck:
            return ev.NotEmpty(key, epoch, ("pid 7",))
        case State.GONE if not member.settled:
            return ev.LastRead(key, epoch, False, reason="disk full")
    return None


TEMPERS: tuple[Callable[[Member], ev.Event | None], ...] = (obliging, silent, failing)
