"""The invariants, as checkers that stand apart from the code they check.

An onlooker sees every step: the team before, the event, the team after and the effects. It remembers a few
facts about each incarnation (`Seen`), drawn from events alone and by its own reading of the rules, and each
checker compares what was done with what the onlooker knows. Nothing here reads the transition table.

I2, I3, I7 and I10 are also claims about the world; `world.py` checks those over simulated workspaces,
processes and mailboxes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from headcount.domain import templates
from headcount.protocol import events as ev
from headcount.protocol.effects import Act, ActKind, Note, Post, Seal
from headcount.protocol.member import Member, State
from headcount.protocol.team import DRAINING, Status

if TYPE_CHECKING:
    from headcount.protocol.effects import Effect
    from headcount.protocol.team import Team

STOPS = frozenset((ActKind.ASK_EXIT, ActKind.TERMINATE, ActKind.KILL))
_LAST = ("lead", "witness")
_PAST_LOOKING = (State.SALVAGING, State.STOPPING, State.KILLING, State.GONE)
_SENT_BACK = (State.RUNNING, State.INSPECTING, State.VERIFIED, State.NUDGED)


class Violation(AssertionError):
    """An invariant does not hold; says which, and about whom."""


class Step:
    """One step as an onlooker sees it, with what every checker asks for laid out once."""

    __slots__ = ("acts", "after", "before", "effects", "event", "moved", "posts")

    def __init__(self, before: Team, event: ev.Event, after: Team, effects: tuple[Effect, ...]) -> None:
        self.before = before
        self.event = event
        self.after = after
        self.effects = effects
        self.acts = [e for e in effects if isinstance(e, Act)]
        self.posts = [e for e in effects if isinstance(e, Post)]
        # Everyone that is not as it was: before (None: new) and after.
        self.moved: list[tuple[Member | None, Member]] = [
            (before.members.get(key), member)
            for key, member in after.members.items()
            if before.members.get(key) is not member
        ]

    def notes(self, kind: str) -> list[Note]:
        return [e for e in self.effects if isinstance(e, Note) and e.kind == kind]


class Seen(NamedTuple):
    """What an onlooker remembers about one incarnation."""

    leave: bool = False  # it answered, was timed out, stood idle, exited, or somebody decided
    safe: bool = False  # a spotless finding, or a salvage that was read back
    proved: bool = False  # the runtime proved that nothing of it lives
    # Only which outcome it will have depends on these; the explorer leaves them out.
    early: bool = False  # it died before anyone asked it or looked at it
    overruled: bool = False  # force, or a decision, went against what it wanted
    saved: bool = False  # something of it had to be saved


Check = Callable[[Step, Mapping[str, Seen]], Iterable[str]]


def remember(seen: Mapping[str, Seen], step: Step) -> dict[str, Seen]:
    """The onlooker's memory after a step."""
    now = {key: seen.get(key, Seen()) for key in step.after.members}
    key = getattr(step.event, "key", None)
    member = step.before.members.get(key or "")
    if member is not None and _in_time(step, member):
        now[member.key] = _heard(now[member.key], step.event, member)
    if isinstance(step.event, ev.Decided) and step.event.decision in ("force-kill", "reassign"):
        escalation = step.before.escalations.get(step.event.escalation_id)
        if escalation is not None and step.notes("decided"):
            now[escalation.key] = now[escalation.key]._replace(leave=True, overruled=True)
    for before, after in step.moved:
        if before is not None and before.state is State.RUNNING and _not_asked(step, before, after):
            now[after.key] = now[after.key]._replace(leave=True)
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
    return any(n.about == member.key and n.data["by"] == "policy" for n in step.notes("decided"))


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
        case ev.DoneSignalled() if state is State.RUNNING and member.role not in _LAST:
            return seen._replace(leave=True)
        case ev.Exited():
            early = member.request is None and member.attempts == 0 and not member.exited
            return seen._replace(leave=True, early=seen.early or early)
        case ev.TaskClaimed() if state is State.RUNNING:
            return seen._replace(leave=False)
        case ev.ChangesRequested() if state in _SENT_BACK and member.request is None:
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
    """It stands idle, or it is a lead or a witness whose turn has come."""
    if before.role not in _LAST:
        return before.activity == "idle"
    others = (m for m in step.after.members.values() if m.request == after.request)
    return all(m.settled for m in others if _rank(m) < _rank(after))


def _rank(member: Member) -> int:
    return _LAST.index(member.role) + 1 if member.role in _LAST else 0


# --- the invariants ---------------------------------------------------------------------------------------


def I1_nobody_is_stopped_unheard_or_unsaved(step: Step, seen: Mapping[str, Seen]) -> Iterator[str]:
    """Nobody is told or made to exit before it answered, was timed out, stood idle, exited or was decided
    about, and never before its workspace was found spotless or a salvage of it was read back."""
    for act in step.acts:
        if act.kind in STOPS and not seen[act.about].leave:
            yield f"{act.kind} for {act.about}, which nobody heard"
        if act.kind in STOPS and not seen[act.about].safe:
            yield f"{act.kind} for {act.about}, whose work is neither clean nor saved"


def I2_workspaces_go_after_the_last_look(step: Step, seen: Mapping[str, Seen]) -> Iterator[str]:
    """No workspace is removed before its processes are proved gone and it was read for the last time."""
    for act in step.acts:
        if act.kind is ActKind.CLOSE_STEP and act.data["step"] == "workspaces":
            yield from (f"{m.key} is not settled" for m in step.after.members.values() if not m.settled)
            yield from (f"{key} is not proved gone" for key, facts in seen.items() if not facts.proved)
        if act.kind is ActKind.LAST_READ and not seen[act.about].proved:
            yield f"the last look at {act.about} comes before the proof that it is gone"


def I3_no_team_closes_over_a_living_member(step: Step, seen: Mapping[str, Seen]) -> Iterator[str]:
    """No team is closing or closed while one of its incarnations is not proved gone."""
    if step.after.status in (Status.CLOSING, Status.SHUTDOWN):
        yield from (f"{key} is not proved gone" for key, facts in seen.items() if not facts.proved)
    for before, after in step.moved:
        if after.state is State.GONE and not seen[after.key].proved and (before is None or before.live):
            yield f"{after.key} is called gone without proof"


def I4_a_name_is_started_again_only_when_it_is_gone(step: Step, seen: Mapping[str, Seen]) -> Iterator[str]:
    """Nobody starts while the last generation of its name is there, nor while the team drains."""
    for act in step.acts:
        if act.kind is not ActKind.START:
            continue
        if step.before.status in DRAINING or step.before.status is Status.SHUTDOWN:
            yield f"{act.about} starts while the team is {step.before.status}"
        name, _, generation = act.about.rpartition("#")
        earlier = [m for m in step.before.members.values() if m.name == name]
        yield from (f"{act.about} starts before {m.key} is settled" for m in earlier if not m.settled)
        if any(m.generation >= int(generation) for m in earlier):
            yield f"{act.about} does not count on"


def I5_a_member_answers_only_for_itself(step: Step, seen: Mapping[str, Seen]) -> Iterator[str]:
    """What one member says becomes nobody else's answer, and a lead is never stood down without its team."""
    speaker = getattr(step.event, "key", None)
    for before, after in step.moved:
        if before is not None and after.answer not in (None, before.answer) and after.key != speaker:
            yield f"{after.key} is said to have {after.answer} by an event about {speaker}"
    for request in step.after.requests.values():
        if not request.whole_team:
            yield from (f"{k} leads" for k in request.targets if step.after.members[k].role == "lead")


def I6_the_first_answer_and_the_last_outcome_stand(step: Step, seen: Mapping[str, Seen]) -> Iterator[str]:
    """An answer to a request is given once, an outcome is final, and what is late changes nothing."""
    for before, after in step.moved:
        if before is None:
            continue
        if before.settled:
            yield f"{after.key} changed after its end"
        if before.answer and after.answer != before.answer and after.ask == before.ask:
            yield f"{after.key} answered {before.answer}, and now {after.answer}"
        if after.settled and not after.failure and after.outcome is None:
            yield f"{after.key} ended without an outcome"
    if _is_late(step) and step.after != step.before:
        yield f"{step.event} came too late and changed something"


def _is_late(step: Step) -> bool:
    key, epoch = getattr(step.event, "key", None), getattr(step.event, "epoch", None)
    if step.before.status is Status.SHUTDOWN:
        return True
    if key is None:
        return False
    member = step.before.members.get(key)
    return member is None or (epoch is not None and epoch != member.epoch)


def I7_nobody_is_written_to_after_its_mailbox_is_sealed(
    step: Step, seen: Mapping[str, Seen]
) -> Iterator[str]:
    """A mailbox is sealed exactly when its reader is settled, and no rule writes to it afterwards."""
    sealed = {e.key for e in step.effects if isinstance(e, Seal)}
    settled = {after.key for before, after in step.moved if after.settled and not (before and before.settled)}
    if sealed != settled:
        yield f"sealed {sorted(sealed)}, settled {sorted(settled)}"
    for post in step.posts:
        member = step.before.members.get(post.to)
        if member is not None and member.settled:
            yield f"mail to {post.to}, which is gone"


def I9_an_escalation_is_mailed_once(step: Step, seen: Mapping[str, Seen]) -> Iterator[str]:
    """One mail for one escalation, when it opens; none opens about a member while another is open."""
    opened = set(step.after.escalations) - set(step.before.escalations)
    mailed = [p for p in step.posts if p.template == templates.WORKER_ESCALATION]
    if len(mailed) != len(opened):
        yield f"{len(opened)} escalations opened, {len(mailed)} mails sent"
    unsettled = [e.key for e in step.after.escalations.values() if e.state in ("open", "parked")]
    yield from (f"{key} has two open escalations" for key in set(unsettled) if unsettled.count(key) > 1)
    for member in step.after.members.values():
        if (member.state is State.ESCALATED) and member.key not in unsettled:
            yield f"{member.key} is escalated, and nobody is asked to decide"


def I10_only_ours_are_touched(step: Step, seen: Mapping[str, Seen]) -> Iterator[str]:
    """Acts name an incarnation of this team that was not yet proved gone; only looking goes on after that."""
    for act in step.acts:
        if act.kind is ActKind.CLOSE_STEP:
            continue
        member = step.after.members.get(act.about)
        if member is None:
            yield f"{act.kind} for {act.about}, which is not ours"
        elif member.state is State.GONE and act.kind is not ActKind.LAST_READ:
            yield f"{act.kind} for {act.about}, which is gone"


def two_phases(step: Step, seen: Mapping[str, Seen]) -> Iterator[str]:
    """Everyone is asked who is not idle, a lead or a witness; meanwhile nobody is inspected or stopped."""
    for before, after in step.moved:
        if before is not None and isinstance(step.event, ev.StandDown) and _must_be_asked(before, after):
            yield f"{after.key} is {after.state}, and was not asked"
        request = step.after.requests.get(after.request or "")
        if before is None or request is None or not request.asking or isinstance(step.event, ev.Exited):
            continue
        waiting = before.state in (State.RUNNING, State.VERIFIED, State.ASKED)
        if waiting and after.state not in (State.ASKED, State.RUNNING):
            yield f"{after.key} is {after.state} while {request.id} is still asking"
        if before.state is State.ASKED and after.state is State.ASKED and after.ask != before.ask:
            yield f"{after.key} is asked twice"


def _must_be_asked(before: Member, after: Member) -> bool:
    free = before.state in _SENT_BACK and before.request is None and after.request is not None
    excused = before.role in _LAST or (before.state is State.RUNNING and before.activity == "idle")
    return free and not excused and after.state is not State.ASKED


def a_death_is_looked_at(step: Step, seen: Mapping[str, Seen]) -> Iterator[str]:
    """An exit at any point before salvaging leads to salvaging, and is remembered wherever it comes."""
    if not isinstance(step.event, ev.Exited) or _is_late(step):
        return
    before, after = step.before.members[step.event.key], step.after.members[step.event.key]
    if before.state not in _PAST_LOOKING and after.state is not State.SALVAGING:
        yield f"{after.key} exited, and is {after.state}"
    if before.live and not after.exited:
        yield f"{after.key} exited, and nobody remembers"


def a_refusal_costs_nothing(step: Step, seen: Mapping[str, Seen]) -> Iterator[str]:
    """When a request is rejected nobody is stopped, and whoever had been asked is told and asked no more."""
    for note in step.notes("rejected"):
        request = step.before.requests.get(str(note.data["request"]))
        yield from (f"{act.kind} for {act.about} upon a refusal" for act in step.acts if act.kind in STOPS)
        told = {p.to for p in step.posts if p.type == "shutdown_withdrawn"}
        for key in request.targets if request else ():
            before, after = step.before.members[key], step.after.members[key]
            if after.state is State.ASKED:
                yield f"{key} is still asked"
            if before.state is State.ASKED and (key not in told or after.answer or after.ask):
                yield f"{key} was not told, or its answer still stands"
            if before.state is State.ASKED and after.state is State.RUNNING and before.held_done:
                yield f"{key} had signalled done, and nobody looks"
        if request and request.whole_team and step.after.status is not Status.ACTIVE:
            yield f"refused, and the team is {step.after.status}"


_BEGINS = {
    State.STARTING: {ActKind.START},
    State.INSPECTING: {ActKind.INSPECT},
    State.NUDGED: {ActKind.NUDGE},
    State.SALVAGING: {ActKind.SALVAGE},
    State.STOPPING: {ActKind.ASK_EXIT, ActKind.TERMINATE},
    State.KILLING: {ActKind.KILL},
    State.GONE: {ActKind.LAST_READ},
    State.ASKED: {ActKind.NUDGE},
}


def whoever_waits_has_asked(step: Step, seen: Mapping[str, Seen]) -> Iterator[str]:
    """A state that waits for a result or an answer is entered together with what brings it."""
    begun = {(act.about, act.kind) for act in step.acts}
    for before, after in step.moved:
        if before is not None and before.state is after.state:
            continue
        wanted = _BEGINS.get(after.state)
        if wanted and not after.settled and not any((after.key, kind) in begun for kind in wanted):
            yield f"{after.key} is {after.state}, and nothing was begun"
        if after.state is State.ASKED and after.key not in {
            p.to for p in step.posts if p.type == "shutdown_request"
        }:
            yield f"{after.key} is asked, and its mailbox holds no request"


def a_request_that_can_end_has_ended(step: Step, seen: Mapping[str, Seen]) -> Iterator[str]:
    """No request stays open over members that are all settled, unless the team is closing."""
    if step.after.status is Status.CLOSING:
        return
    for request in step.after.requests.values():
        if all(step.after.members[key].settled for key in request.targets):
            yield f"{request.id} is still open"
    for member in step.after.members.values():
        if not member.settled and member.request and member.request not in step.after.requests:
            yield f"{member.key} is part of {member.request}, which is not open"


def the_outcome_is_the_first_that_fits(step: Step, seen: Mapping[str, Seen]) -> Iterator[str]:
    """already_gone, forced, salvaged, clean: in this order; a start that failed has none."""
    for before, after in step.moved:
        if not after.settled or (before is not None and before.settled) or after.failure:
            continue
        facts = seen[after.key]
        fits = [(facts.early, "already_gone"), (facts.overruled, "forced"), (facts.saved, "salvaged")]
        expected = next((name for holds, name in fits if holds), "clean")
        if after.outcome != expected:
            yield f"{after.key} ended as {after.outcome}, not {expected}"


INVARIANTS: tuple[Check, ...] = (
    I1_nobody_is_stopped_unheard_or_unsaved,
    I2_workspaces_go_after_the_last_look,
    I3_no_team_closes_over_a_living_member,
    I4_a_name_is_started_again_only_when_it_is_gone,
    I5_a_member_answers_only_for_itself,
    I6_the_first_answer_and_the_last_outcome_stand,
    I7_nobody_is_written_to_after_its_mailbox_is_sealed,
    I9_an_escalation_is_mailed_once,
    I10_only_ours_are_touched,
    two_phases,
    a_death_is_looked_at,
    a_refusal_costs_nothing,
    whoever_waits_has_asked,
    a_request_that_can_end_has_ended,
)
OVER_HISTORIES: tuple[Check, ...] = (*INVARIANTS, the_outcome_is_the_first_that_fits)


def check(step: Step, seen: Mapping[str, Seen], invariants: tuple[Check, ...] = INVARIANTS) -> None:
    """Every invariant against one step; `seen` is the onlooker's memory after it."""
    for invariant in invariants:
        for problem in invariant(step, seen):
            raise Violation(f"{invariant.__name__}: {problem} (on {step.event})")
