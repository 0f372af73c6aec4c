"""What may happen next to a team: every event that the world, its members and people can bring about.

`possible` lists those that make sense now; `strange` those that do not and must change nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headcount.protocol import events as ev
from headcount.protocol.member import Activity, Member, State, limit_s
from headcount.protocol.team import DECISIONS, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headcount.domain.policy import Policy
    from headcount.protocol.team import Team


@dataclass(frozen=True, slots=True)
class Choices:
    """What people and members do in a variant; the world always does its worst."""

    named: bool = True  # single members are stood down too
    force: bool = True
    size: int = 3  # members are started until there are so many
    reviews: bool = False  # as in a run: reviews, and refusals that are escalated
    pause: bool = False
    idle: bool = True
    witness_judges: bool = False
    limits: bool = False  # usage limits of clients, and budgets
    hub: bool = False  # a salvage may be on its host only
    sets: bool = False  # the policy decides escalations from some moment on
    cycle: bool = False  # a lead is followed by its next generation


def possible(team: Team, policy: Policy, choices: Choices) -> Iterator[ev.Event]:
    yield from possible_for_team(team, choices)
    for member in team.members.values():
        yield from possible_for(member, team, policy, choices)


def possible_for_team(team: Team, choices: Choices) -> Iterator[ev.Event]:
    if team.status is Status.SHUTDOWN:
        return
    yield from _people(team, choices)
    if team.close_step is not None:
        yield ev.TimedOut(None, team.close_epoch)
        yield ev.StepEnded(team.close_step, team.close_epoch, True)
        yield ev.StepEnded(team.close_step, team.close_epoch, False, "busy")


def possible_for(member: Member, team: Team, policy: Policy, choices: Choices) -> Iterator[ev.Event]:
    """About one member; which ones depends on nobody else."""
    if team.status is Status.SHUTDOWN:
        return
    yield from _member(member, choices)
    if member.live and not member.exited:
        yield ev.Exited(member.key)
    if limit_s(member, policy) is not None:
        yield ev.TimedOut(member.key, member.epoch)
    escalation = team.escalations.get(member.escalation or "")
    if escalation is not None and escalation.state in ("open", "parked"):
        yield from (ev.Decided(escalation.id, decision) for decision in DECISIONS)


def _people(team: Team, choices: Choices) -> Iterator[ev.Event]:
    open_one = team.team_request()
    if open_one is None or any(m.stuck for m in team.members.values()):
        yield ev.StandDown("r-team")
    if choices.force and (open_one is None or not open_one.force or team.status is Status.ESCALATED):
        yield ev.StandDown("r-force", force=True)
        yield ev.StandDown("r-now", force=True, now=True)
    if choices.named and open_one is None:
        yield from (_named(m, force=False) for m in team.members.values() if not m.settled)
        if choices.force:
            yield from (_named(m, force=True) for m in team.members.values() if not m.settled)
    if choices.cycle and open_one is None:
        leads = (m for m in team.members.values() if m.role == "lead" and not m.settled)
        yield from (ev.StandDown("r-cycle", (m.name,), cycling=True) for m in leads)
    if choices.sets:
        yield ev.PolicyChanged((("on_escalation", "ask", "force-kill"),))
    if len(team.members) < choices.size:
        yield ev.Spawn("abcdef"[len(team.members)], awaits_review=choices.reviews)


def _named(member: Member, force: bool) -> ev.Event:
    return ev.StandDown("r-named", (member.name,), force=force)


def _member(member: Member, choices: Choices) -> Iterator[ev.Event]:
    key, epoch = member.key, member.epoch
    match member.state:
        case State.STARTING:
            yield ev.Registered(key)
            yield ev.StartFailed(key, "no such command")
        case State.RUNNING:
            yield ev.DoneSignalled(key)
            yield from _at_work(member, choices)
        case State.ASKED if member.answer is None:
            yield ev.Answered(key, str(member.ask), True)
            yield ev.Answered(key, str(member.ask), False, "busy")
            yield ev.DoneSignalled(key)
        case State.INSPECTING:
            yield ev.Inspected(key, epoch, True, True)
            yield ev.Inspected(key, epoch, False, True)
            yield ev.Inspected(key, epoch, False, False, ("1 file is changed",))
            yield from _judging(member, choices)
        case State.NUDGED:
            yield ev.DoneSignalled(key)
        case State.SALVAGING:
            yield ev.Saved(key, epoch, "ref")
            yield ev.SalvageFailed(key, epoch, "disk full")
            if choices.hub:
                yield ev.SalvageFailed(key, epoch, "no answer", here=True)
        case State.STOPPING:
            yield ev.TreeEmpty(key)
        case State.KILLING:
            yield ev.TreeEmpty(key)
            yield ev.NotEmpty(key, epoch, ("pid 7",))
        case State.GONE if not member.settled:
            yield ev.LastRead(key, epoch, True)
            yield ev.LastRead(key, epoch, False, reason="disk full")
    if choices.reviews and member.state in (State.RUNNING, State.INSPECTING):
        yield ev.RefusedForGood(key, "busy")
    if choices.reviews and member.live:
        yield ev.Released(key)
        yield ev.ChangesRequested(key, "name it well")
    if choices.limits and member.live:
        yield from _costs(member)


def _costs(member: Member) -> Iterator[ev.Event]:
    """Its client may say so at any time, whatever is being done about the member."""
    yield (
        ev.Limited(member.key, "usage limit")
        if member.activity is not Activity.LIMITED
        else ev.WorkResumed(member.key)
    )
    if member.state is State.RUNNING:
        yield ev.Spent(member.key, tokens=1)


def _at_work(member: Member, choices: Choices) -> Iterator[ev.Event]:
    if choices.idle:
        yield ev.IdleReported(member.key)
        yield ev.TaskClaimed(member.key, "t1")
        yield ev.WorkResumed(member.key)
    if choices.pause:
        yield ev.Paused(member.key)
        yield ev.Resumed(member.key)


def _judging(member: Member, choices: Choices) -> Iterator[ev.Event]:
    if choices.witness_judges:
        yield ev.Inspected(member.key, member.epoch, False, None, ("a build directory",))
        yield ev.Judged(member.key, True)
        yield ev.Judged(member.key, False)


def strange(team: Team) -> Iterator[ev.Event]:
    """Late, doubled, about nobody, or in a state that knows nothing of it."""
    yield from strange_to_team(team)
    for member in team.members.values():
        yield from strange_to(member)


def strange_to_team(team: Team) -> Iterator[ev.Event]:
    yield ev.Decided("e-unknown", "force-kill")
    yield ev.Decided("e-unknown", "explode")
    yield ev.StepEnded("no step", team.close_epoch, True)
    yield ev.StepEnded(team.close_step or "tombstone", team.close_epoch - 1, True)
    yield ev.TimedOut(None, team.close_epoch - 1)
    yield from _late("nobody#1", 1)
    yield from (ev.Answered("nobody#1", r, True) for r in ("", *team.requests))


def strange_to(member: Member) -> Iterator[ev.Event]:
    """What these do depends on the member and its own request alone."""
    key = member.key
    yield from _late(key, member.epoch - 1)
    yield from _out_of_place(member)
    yield ev.Answered(key, "an old request", True)
    yield ev.Answered(key, "an old request", False)
    yield ev.Reviewed(key, "t1", "pass")  # for the record; the rules of its task hear it
    yield ev.Spent(key)  # nothing yet
    if member.exited:
        yield ev.Exited(key)
    if not member.live:
        yield from _words_of_the_dead(key)
    if member.state is not State.STARTING:
        yield ev.Registered(key)
        yield ev.StartFailed(key, "late")
    if not member.judging:
        yield ev.Judged(key, True)


def _words_of_the_dead(key: str) -> Iterator[ev.Event]:
    yield from (said(key) for said in (ev.DoneSignalled, ev.IdleReported, ev.WorkResumed, ev.Limited))
    yield from (asked(key) for asked in (ev.Paused, ev.Resumed, ev.Released))
    yield ev.ChangesRequested(key, "too late")
    yield ev.RefusedForGood(key, "too late")
    yield ev.TaskClaimed(key, "t2")
    yield ev.Spent(key, 9, 9)
    yield ev.ClientFailed(key, "too late")


def _late(key: str, epoch: int) -> Iterator[ev.Event]:
    yield ev.TimedOut(key, epoch)
    yield ev.Inspected(key, epoch, True, True)
    yield ev.Saved(key, epoch, "ref")
    yield ev.SalvageFailed(key, epoch, "disk full")
    yield ev.NotEmpty(key, epoch)
    yield ev.LastRead(key, epoch, True)


def _out_of_place(member: Member) -> Iterator[ev.Event]:
    """Results in time, of something that this state does not wait for."""
    key, epoch = member.key, member.epoch
    if member.state is not State.INSPECTING:
        yield ev.Inspected(key, epoch, True, True)
        yield ev.Inspected(key, epoch, False, None)
    if member.state is not State.SALVAGING:
        yield ev.Saved(key, epoch, "ref")
        yield ev.SalvageFailed(key, epoch, "disk full")
    if member.state not in (State.STOPPING, State.KILLING):
        yield ev.TreeEmpty(key)
    if member.state is not State.KILLING or member.stuck:
        yield ev.NotEmpty(key, epoch)
    if member.state is not State.GONE or member.settled:
        yield ev.LastRead(key, epoch, True)
