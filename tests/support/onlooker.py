"""An onlooker: what can be seen of a step from outside, and what is remembered about each incarnation.

Drawn from events and from the team before and after, by its own reading of the rules; nothing here reads the
transition table. The invariants compare what was done with what the onlooker knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headcount.protocol import events as ev
from headcount.protocol.happened import EscalationDecided
from headcount.protocol.member import Answer, Member, State
from headcount.protocol.team import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headcount.protocol.effects import Ready
    from headcount.protocol.team import Team

LAST = ("lead", "witness")
_AT_WORK = (State.STARTING, State.RUNNING)  # whose start was in flight may have its turn at once
SENT_BACK = (State.RUNNING, State.INSPECTING, State.VERIFIED, State.NUDGED)


class Violation(AssertionError):
    """An invariant does not hold; says which, and about whom."""


class Found(BaseException):
    """A violation inside the engine's own code, which must not take it for a bug about one team."""

    def __init__(self, violation: Violation) -> None:
        super().__init__(str(violation))
        self.violation = violation


class Step:
    """One step as an onlooker sees it, with what every checker asks for laid out once."""

    __slots__ = ("acts", "after", "before", "event", "moved", "posts", "ready")

    def __init__(self, before: Team, event: ev.Event, after: Team, ready: Ready) -> None:
        self.before = before
        self.event = event
        self.after = after
        self.ready = ready
        self.acts = ready.acts
        self.posts = ready.mail
        # Everyone that is not as it was: before (None: new) and after.
        self.moved: list[tuple[Member | None, Member]] = [
            (before.members.get(key), member)
            for key, member in after.members.items()
            if before.members.get(key) is not member
        ]

    def decided(self) -> list[EscalationDecided]:
        return [event for event in self.ready.happened if isinstance(event, EscalationDecided)]


class Seen(NamedTuple):
    """What an onlooker remembers about one incarnation."""

    leave: bool = False  # it answered, was timed out, stood idle, exited, or somebody decided
    safe: bool = False  # a spotless finding, or a salvage that was read back
    proved: bool = False  # the runtime proved that nothing of it lives
    # Only which outcome it will have depends on these; the explorer leaves them out.
    early: bool = False  # it died before anyone asked it or looked at it
    overruled: bool = False  # force, or a decision, went against what it wanted
    saved: bool = False  # something of it had to be saved
    gave_up: bool = False  # it was once left escalated or stuck, and its task's slot was given to another
    came_back: bool = False  # and somebody decided that it goes on: its task has a slot of its own since


def remember(seen: Mapping[str, Seen], step: Step) -> dict[str, Seen]:
    """The onlooker's memory after a step."""
    now = {key: seen.get(key, Seen()) for key in step.after.members}
    key = getattr(step.event, "key", None)
    member = step.before.members.get(key or "")
    if member is not None and _in_time(step, member):
        now[member.key] = _heard(now[member.key], step.event, member)
    if isinstance(step.event, ev.Decided) and step.event.decision in ("force-kill", "reassign"):
        escalation = step.before.escalations.get(step.event.escalation_id)
        if escalation is not None and step.decided():
            now[escalation.key] = now[escalation.key]._replace(leave=True, overruled=True)
    for before, after in step.moved:
        if before is not None and before.state in _AT_WORK and _not_asked(step, before, after):
            now[after.key] = now[after.key]._replace(leave=True)
        if (
            after.answer is Answer.UNANSWERED
            and before is not None
            and is_not_waited_for(step, before, after)
        ):
            now[after.key] = now[after.key]._replace(leave=True)
        if after.ended and not after.settled:
            now[after.key] = now[after.key]._replace(gave_up=True)
        if before is not None and before.state is State.ESCALATED and after.state in SENT_BACK:
            now[after.key] = now[after.key]._replace(came_back=True)
        if before is not None and before.state is State.ASKED and after.state is State.RUNNING:
            now[after.key] = now[after.key]._replace(leave=False)
        forced = before is not None and _overruled(step, before, after)
        if forced or _decided_by_policy(step, after):
            now[after.key] = now[after.key]._replace(leave=True, overruled=True)
    return now


def _overruled(step: Step, before: Member, after: Member) -> bool:
    """By force (its refusal did not count, or its dirt went straight to salvage), or by policy."""
    if before.state is State.ASKED and after.answer == "rejected" and after.state is State.INSPECTING:
        return True
    straight = (
        before.state in (State.INSPECTING, State.NUDGED, State.ESCALATED) and after.state is State.SALVAGING
    )
    dirty = isinstance(step.event, ev.Inspected | ev.Judged) and not step.event.clean
    return straight and (dirty or isinstance(step.event, ev.StandDown | ev.TimedOut))


def _decided_by_policy(step: Step, member: Member) -> bool:
    return any(event.key == member.key and event.by == "policy" for event in step.decided())


def _in_time(step: Step, member: Member) -> bool:
    epoch = getattr(step.event, "epoch", None)
    return step.before.status is not Status.SHUTDOWN and (epoch is None or epoch == member.epoch)


def _heard(seen: Seen, event: ev.Event, member: Member) -> Seen:
    state = member.state
    asked = state is State.ASKED and member.answer is None
    match event:
        case ev.Answered() if asked and event.request_id in (member.ask, member.request):
            return seen._replace(leave=True)
        case ev.TimedOut() if asked or state is State.STARTING:
            return seen._replace(leave=True)
        case ev.DoneSignalled() if asked or state is State.NUDGED:
            return seen._replace(leave=True)
        case ev.DoneSignalled() if state is State.RUNNING and member.role not in LAST:
            return seen._replace(leave=True)
        case ev.Exited():
            early = member.request is None and member.attempts == 0 and not member.exited
            return seen._replace(leave=True, early=seen.early or early)
        case ev.TaskClaimed() | ev.WorkResumed() if state is State.RUNNING:
            return seen._replace(leave=False)
        case ev.ChangesRequested() if state in SENT_BACK and member.request is None:
            return seen._replace(leave=False)
        case ev.Inspected(spotless=True, clean=True) if state is State.INSPECTING:
            return seen._replace(safe=True)
        case ev.Saved() if state is State.SALVAGING:
            return seen._replace(safe=True, saved=seen.saved or event.ref is not None)
        case ev.LastRead(ok=True) if state is State.GONE and not member.settled:
            return seen._replace(saved=seen.saved or event.ref is not None)
        case ev.TreeEmpty() if state in (State.STOPPING, State.KILLING):
            return seen._replace(proved=True)
        case ev.StartFailed() if state is State.STARTING:
            return seen._replace(proved=True)
    return seen


def _not_asked(step: Step, before: Member, after: Member) -> bool:
    """It stands idle, is mute at a usage limit under force, or is a lead or a witness whose turn has come."""
    if before.role not in LAST:
        return before.activity == "idle" or is_mute(step, before, after)
    others = (m for m in step.after.members.values() if m.request == after.request)
    return all(m.settled for m in others if _rank(m) < _rank(after))


def is_mute(step: Step, before: Member, after: Member) -> bool:
    """At a usage limit nobody can answer, and force does not wait for it."""
    request = step.after.requests.get(after.request or "")
    return before.activity == "limited" and request is not None and request.forces(after.key)


def is_not_waited_for(step: Step, before: Member, after: Member) -> bool:
    """An operator does not wait for its answer."""
    return getattr(step.event, "now", False) or is_mute(step, before, after)


def _rank(member: Member) -> int:
    return LAST.index(member.role) + 1 if member.role in LAST else 0
