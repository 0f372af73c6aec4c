"""The invariants, as checkers that stand apart from the code they check.

Each compares one step with what an onlooker knows (`onlooker.py`). I2, I3, I7 and I10 are also claims about
the world; `world.py` checks those over simulated workspaces, processes and mailboxes. I8 is in `liveness.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from headcount.domain import templates
from headcount.protocol import events as ev
from headcount.protocol.effects import ActKind
from headcount.protocol.happened import RequestRejected
from headcount.protocol.member import Answer, Member, State
from headcount.protocol.team import DRAINING, Status
from tests.support.onlooker import LAST, SENT_BACK, Seen, Step, Violation, is_mute, is_not_waited_for

STOPS = frozenset((ActKind.ASK_EXIT, ActKind.TERMINATE, ActKind.KILL))
_OF_THE_TEAM = (ActKind.CLOSE_STEP, ActKind.MERGE, ActKind.ASK_REVIEW, ActKind.RUN_GATE)
_PAST_LOOKING = (State.SALVAGING, State.STOPPING, State.KILLING, State.GONE)

Check = Callable[[Step, Mapping[str, Seen]], Iterable[str]]


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


def I4_the_next_task_waits(step: Step, seen: Mapping[str, Seen], tasks_at_once: int) -> Iterator[str]:
    """In a run nobody starts on a task while as many others as there are slots still have members.

    A task with somebody there is not the next one: its reviewers come into the slot it has, and one whose
    worker came back from an escalation goes on in a slot of its own, with its reviewers when it has left.
    """
    for act in step.acts:
        member = step.after.members[act.about] if act.kind is ActKind.START else None
        if member is None or member.task is None or _goes_on(member, step, seen):
            continue
        holding = (m for m in step.before.members.values() if not m.settled and not seen[m.key].gave_up)
        others = {m.task for m in holding if m.task not in (None, member.task)}
        if len(others) >= tasks_at_once:
            under_way = ", ".join(sorted(map(str, others)))
            yield f"{act.about} starts on {member.task} while {under_way} is under way"


def _goes_on(member: Member, step: Step, seen: Mapping[str, Seen]) -> bool:
    reviews = member.role != "worker"
    mine = (m for m in step.before.members.values() if m.task == member.task)
    return any(not m.settled or (reviews and seen[m.key].came_back) for m in mine)


def I5_a_member_answers_only_for_itself(step: Step, seen: Mapping[str, Seen]) -> Iterator[str]:
    """What one member says becomes nobody else's answer, and a lead is never stood down without its team.

    That an operator does not wait for an answer is no answer.
    """
    speaker = getattr(step.event, "key", None)
    for before, after in step.moved:
        if before is None or after.key == speaker or after.answer in (None, before.answer):
            continue
        if not (after.answer is Answer.UNANSWERED and is_not_waited_for(step, before, after)):
            yield f"{after.key} is said to have {after.answer} by an event about {speaker}"
    # A lead that is cycled leaves its office to its next generation: that is no stand-down of the team's.
    opens = isinstance(step.event, ev.StandDown | ev.Spent) and not getattr(step.event, "cycling", False)
    for request in step.after.requests.values():
        if opens and not request.whole_team and request.id not in step.before.requests:
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
    sealed = set(step.ready.sealed)
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
        if act.kind in _OF_THE_TEAM:
            continue
        member = step.after.members.get(act.about)
        if member is None:
            yield f"{act.kind} for {act.about}, which is not ours"
        elif member.state is State.GONE and act.kind is not ActKind.LAST_READ:
            yield f"{act.kind} for {act.about}, which is gone"


def I12_work_stays_here_by_decision_alone(step: Step, seen: Mapping[str, Seen]) -> Iterator[str]:
    """A copy on its own host is enough for a member if `keep-here` was decided about it, and never else."""
    event, kept = step.event, None
    if isinstance(event, ev.Decided) and event.decision == "keep-here" and step.decided():
        kept = step.before.escalations[event.escalation_id].key
    for before, after in step.moved:
        if after.here != (after.key == kept or (before is not None and before.here)):
            yield f"{after.key} may stay here: {after.here}"


def two_phases(step: Step, seen: Mapping[str, Seen]) -> Iterator[str]:
    """Everyone is asked who is not idle, a lead or a witness; meanwhile nobody is inspected or stopped.

    A member is asked again only if what it was asked by has just been rejected: a narrower request goes on.
    """
    rejected = {event.request for event in step.ready.happened if isinstance(event, RequestRejected)}
    for before, after in step.moved:
        opened = isinstance(step.event, ev.StandDown | ev.Spent)
        # Without a wait for answers, asking and what follows are one step.
        asked_now = before is not None and is_not_waited_for(step, before, after) and after.ask is not None
        if before is not None and opened and not asked_now and _must_be_asked(step, before, after):
            yield f"{after.key} is {after.state}, and was not asked"
        request = step.after.requests.get(after.request or "")
        if before is None or request is None or not request.asking or isinstance(step.event, ev.Exited):
            continue
        waiting = before.state in (State.RUNNING, State.VERIFIED, State.ASKED)
        if waiting and after.state not in (State.ASKED, State.RUNNING):
            yield f"{after.key} is {after.state} while {request.id} is still asking"
        asked = before.state is after.state is State.ASKED and after.ask != before.ask
        if asked and before.ask not in rejected:
            yield f"{after.key} is asked twice"


def _must_be_asked(step: Step, before: Member, after: Member) -> bool:
    free = before.state in SENT_BACK and before.request is None and after.request is not None
    quiet = before.activity == "idle" or is_mute(step, before, after)
    excused = before.role in LAST or (before.state is State.RUNNING and quiet)
    return free and not excused and after.state is not State.ASKED


def a_death_is_looked_at(step: Step, seen: Mapping[str, Seen]) -> Iterator[str]:
    """An exit at any point before salvaging leads to salvaging, and is remembered wherever it comes.

    An engine that takes over reports a known exit once more: that changes nothing.
    """
    if not isinstance(step.event, ev.Exited) or _is_late(step):
        return
    before, after = step.before.members[step.event.key], step.after.members[step.event.key]
    if not before.exited and before.state not in _PAST_LOOKING and after.state is not State.SALVAGING:
        yield f"{after.key} exited, and is {after.state}"
    if before.live and not after.exited:
        yield f"{after.key} exited, and nobody remembers"


def a_refusal_costs_nothing(step: Step, seen: Mapping[str, Seen]) -> Iterator[str]:
    """When a request is rejected nobody is stopped, and whoever had been asked is told and asked no more,
    unless by a narrower request that goes on."""
    for rejected in (e for e in step.ready.happened if isinstance(e, RequestRejected)):
        request = step.before.requests.get(rejected.request)
        yield from (f"{act.kind} for {act.about} upon a refusal" for act in step.acts if act.kind in STOPS)
        told = {p.to for p in step.posts if p.type == "shutdown_withdrawn"}
        for key in request.targets if request else ():
            before, after = step.before.members[key], step.after.members[key]
            if after.request in step.after.requests:
                continue
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
    I12_work_stays_here_by_decision_alone,
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
