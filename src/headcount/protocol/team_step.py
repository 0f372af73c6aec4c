"""`step_team(team, event, policy) -> (team, Ready)`: what an event means for a team and its members.

Total and pure. An event that makes no sense any more is recorded and changes nothing. The order of work:
the event becomes a trigger for one member, or changes a request; then `shutdown.go_on` moves every open
request as far as it goes. The run is not known here: `step.py` puts the two together.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headcount.protocol import events as ev
from headcount.protocol.effects import ActKind, Note, Ready
from headcount.protocol.happened import Refused, ReviewGiven
from headcount.protocol.member import Activity, Answer, Member, State, Trigger, limit_s, overdue_trigger
from headcount.protocol.shutdown import LAST_ROLES, go_on, stand_down, step_ended
from headcount.protocol.team import DECISIONS, Status, why_not_decide, why_not_start
from headcount.protocol.turn import Facts, Turn

if TYPE_CHECKING:
    from headcount.domain.policy import Policy
    from headcount.protocol.team import Team


def step_team(team: Team, event: ev.Event, policy: Policy) -> tuple[Team, Ready]:
    if _too_late(team, event):
        return team, _late(team, event, policy)
    turn = Turn(team, policy)
    _apply(turn, event)
    go_on(turn)
    return turn.result()


def _too_late(team: Team, event: ev.Event) -> bool:
    """Nothing that concerns a closed team, an unknown incarnation or an earlier epoch changes anything."""
    if team.status is Status.SHUTDOWN:
        return True
    key, epoch = getattr(event, "key", None), getattr(event, "epoch", None)
    if key is None:
        return False
    member = team.members.get(key)
    return member is None or (epoch is not None and member.epoch != epoch)


def _late(team: Team, event: ev.Event, policy: Policy) -> Ready:
    """Recorded; whoever asked for something is told why it is not done."""
    refused: tuple[str, str] | None = None
    if isinstance(event, ev.Spawn):
        refused = why_not_start(team, event.name, policy)
    elif isinstance(event, ev.Decided):
        refused = why_not_decide(team, event.escalation_id, event.decision, policy)
    if refused is not None and isinstance(event, ev.Spawn | ev.Decided):
        told = Refused("spawn" if isinstance(event, ev.Spawn) else "decide", "", *refused, event.by)
        return Ready(happened=(told,), entries=(told.entry(),))
    late = Note("late", getattr(event, "key", None) or "", {"event": type(event).__name__})
    return Ready(entries=(late,))


def _apply(turn: Turn, event: ev.Event) -> None:
    match event:
        # somebody asks for something
        case ev.Spawn():
            _spawn(turn, event)
        case ev.StandDown():
            stand_down(turn, event)
        case ev.Decided():
            _decided(turn, event)
        case ev.Released():
            turn.fire(event.key, Trigger.RELEASED)
        case ev.RefusedForGood():
            _refused_for_good(turn, event)
        case ev.ChangesRequested():
            _changes(turn, event)
        case ev.Paused():
            _paused(turn, event)
        case ev.Resumed():
            _resumed(turn, event)
        # a member says something
        case ev.Answered():
            _answered(turn, event)
        case ev.DoneSignalled():
            _done(turn, event)
        case ev.IdleReported():
            _unless_paused(turn, event.key, Trigger.IDLE)
        case ev.WorkResumed():
            _work_resumed(turn, event)
        case ev.Limited():
            _limited(turn, event)
        case ev.Spent():
            _spent(turn, event)
        case ev.TaskClaimed():
            _unless_paused(turn, event.key, Trigger.CLAIMED, Facts(task=event.task))
        case ev.Reviewed():
            _reviewed(turn, event)
        case ev.Judged():
            _judged(turn, event)
        # something was seen
        case ev.Registered():
            turn.fire(event.key, Trigger.REGISTERED)
        case ev.StartFailed():
            turn.fire(event.key, Trigger.START_FAILED, Facts(event.reason))
        case ev.Exited():
            _exited(turn, event)
        case ev.Inspected():
            _inspected(turn, event)
        case ev.Saved():
            _read(turn, event.key, event.head, event.commits)
            turn.fire(event.key, Trigger.SAVED, Facts(ref=event.ref))
        case ev.SalvageFailed():
            turn.fire(event.key, Trigger.SALVAGE_FAILED, Facts(event.reason))
        case ev.TreeEmpty():
            turn.fire(event.key, Trigger.TREE_EMPTY)
        case ev.NotEmpty():
            _not_empty(turn, event)
        case ev.LastRead():
            _last_read(turn, event)
        case ev.StepEnded():
            step_ended(turn, event)
        case ev.TimedOut():
            _timed_out(turn, event)
        case _:
            raise TypeError(f"{event} is no event of a team")


# --- one function an event, where it needs more than a trigger ----------------------------------------------


def _spawn(turn: Turn, event: ev.Spawn) -> None:
    refused = why_not_start(turn.team, event.name, turn.policy)
    if refused:
        turn.happen(Refused("spawn", event.name, *refused, event.by))
        return
    generation = turn.team.generations.get(event.name, 0) + 1
    member = Member(
        event.name, generation, role=event.role, task=event.task, awaits_review=event.awaits_review, epoch=1
    )
    turn.generations[event.name] = generation
    turn.members[member.key] = member
    turn.note("starting", member.key, role=event.role, by=event.by)
    turn.act(ActKind.START, member)


def _answered(turn: Turn, event: ev.Answered) -> None:
    """Answers bind to the incarnation and to the request in its mailbox; the first one counts (A9, A10)."""
    member = turn.members[event.key]
    if member.state is not State.ASKED or member.answer is not None:
        return turn.late(event.key, answer="approve" if event.approve else "reject", request=event.request_id)
    if event.request_id not in (member.ask, member.request):
        return turn.late(event.key, answer="stale", request=event.request_id)
    if event.approve:
        return turn.fire(event.key, Trigger.APPROVED, Facts(event.reason, Answer.APPROVED))
    return turn.fire(event.key, Trigger.REJECTED, Facts(event.reason, Answer.REJECTED))


def _done(turn: Turn, event: ev.DoneSignalled) -> None:
    """A done signal while asked counts as approval.

    A lead or a witness has no end of its own, and whoever stands idle under a request waits for the others.
    """
    member = turn.members[event.key]
    if member.state is State.RUNNING and (member.role in LAST_ROLES or member.request is not None):
        turn.late(event.key, signal="done")
    elif member.state is State.ASKED and member.answer is None:
        turn.fire(event.key, Trigger.APPROVED, Facts("done", Answer.APPROVED))
    else:
        turn.fire(event.key, Trigger.DONE)
        if member.state is State.RUNNING and member.activity is Activity.PAUSED:
            _wake(turn, turn.members[event.key])  # it said so before it was paused, and is to end now


def _inspected(turn: Turn, event: ev.Inspected) -> None:
    member = turn.members[event.key]
    if member.state is not State.INSPECTING or (member.judging and event.clean is None):
        return turn.late(event.key, result="inspected")
    _read(turn, event.key, event.head, event.commits)
    if event.clean is None:
        return turn.findings_to_witness(event)
    return _verdict(turn, event.key, event.clean, event.spotless, event.issues)


def _read(turn: Turn, key: str, head: str, commits: int) -> None:
    """Keep what the workspace was at; an inspection that could not read it says nothing about that."""
    if head:
        turn.put(replace(turn.members[key], head=head, commits=commits))


def _reviewed(turn: Turn, event: ev.Reviewed) -> None:
    """For the record; the rules of its task decide what it is worth."""
    turn.happen(ReviewGiven(event.key, event.task, event.verdict, event.words, event.commit))


def _judged(turn: Turn, event: ev.Judged) -> None:
    """The witness may call untracked build output clean; salvage is taken all the same.

    A verdict counts only for findings that were sent to it: it cannot know what nobody has read yet.
    """
    member = turn.members[event.key]
    if member.state is not State.INSPECTING or not member.judging:
        turn.late(event.key, signal="verdict")
        return
    _verdict(turn, event.key, event.clean, False, event.issues or ("the witness found it dirty",))


def _verdict(turn: Turn, key: str, clean: bool, spotless: bool, issues: tuple[str, ...]) -> None:
    member = turn.members[key]
    if clean:
        waits = member.awaits_review and member.request is None
        trigger = Trigger.CLEAN_FOR_REVIEW if waits else Trigger.SPOTLESS if spotless else Trigger.CLEAN
        turn.fire(key, trigger)
        return
    request = turn.requests.get(member.request or "")
    if request is not None and request.forces(key):
        trigger = Trigger.DIRTY_FORCED
    elif member.failures + 1 >= turn.policy.max_attempts:
        trigger = Trigger.DIRTY_AGAIN
    else:
        trigger = Trigger.DIRTY
    turn.fire(key, trigger, Facts(issues=issues))


def _changes(turn: Turn, event: ev.ChangesRequested) -> None:
    """Reviewers' words do not send back to work whoever is being stood down."""
    member = turn.members[event.key]
    if member.request is not None and member.state in (State.INSPECTING, State.NUDGED):
        turn.late(event.key, signal="changes")
    else:
        turn.fire(event.key, Trigger.CHANGES, Facts(text=event.text))


def _refused_for_good(turn: Turn, event: ev.RefusedForGood) -> None:
    """A request that has opened since asks it anew."""
    if turn.members[event.key].request is not None:
        turn.late(event.key, signal="refused")
    else:
        turn.fire(event.key, Trigger.REFUSES, Facts(event.reason))


def _decided(turn: Turn, event: ev.Decided) -> None:
    refused = why_not_decide(turn.team_now(), event.escalation_id, event.decision, turn.policy)
    if refused:
        turn.happen(Refused("decide", "", *refused, event.by))
        return
    escalation = turn.escalations[event.escalation_id]
    trigger = DECISIONS[event.decision]
    if trigger is Trigger.WAIT and escalation.cause == "salvage":
        trigger = Trigger.WAIT_SALVAGE
    elif trigger is Trigger.HUMAN and (escalation.cause == "salvage" or turn.members[escalation.key].request):
        trigger = Trigger.HUMAN_HOLDS
    turn.fire(escalation.key, trigger, Facts(event.reason, decision=event.decision, by=event.by))


def _timed_out(turn: Turn, event: ev.TimedOut) -> None:
    if event.key is None:
        step_ended(turn, ev.StepEnded(turn.team.close_step or "", event.epoch, False, "took too long"))
        return
    member = turn.members[event.key]
    if limit_s(member, turn.policy) is None:
        turn.late(event.key, event="TimedOut")
        return
    if member.state is State.INSPECTING:
        _verdict(turn, event.key, False, False, ("the workspace could not be read in time",))
        return
    trigger = overdue_trigger(member)
    if trigger is not None:
        turn.fire(event.key, trigger, Facts("took too long", Answer.UNANSWERED))


def _paused(turn: Turn, event: ev.Paused) -> None:
    """Not under a request: whoever is to answer must be able to."""
    member = turn.members[event.key]
    if member.state is not State.RUNNING or member.request is not None or member.activity is Activity.PAUSED:
        return turn.late(event.key, signal="pause")
    turn.note("paused", event.key, by=event.by)
    return turn.act(
        ActKind.PAUSE, turn.put(replace(member, activity=Activity.PAUSED, epoch=member.epoch + 1))
    )


def _resumed(turn: Turn, event: ev.Resumed) -> None:
    member = turn.members[event.key]
    if member.state is not State.RUNNING or member.activity is not Activity.PAUSED:
        return turn.late(event.key, signal="resume")
    turn.note("resumed", event.key, by=event.by)
    return _wake(turn, member)


def _wake(turn: Turn, member: Member) -> None:
    turn.act(ActKind.RESUME, turn.put(replace(member, activity=Activity.WORKING)))


def _limited(turn: Turn, event: ev.Limited) -> None:
    """Parked, not restarted: whoever is started now runs into the same limit (`why_not_start`)."""
    member = turn.members[event.key]
    if not member.live or member.activity is Activity.PAUSED:
        return turn.late(event.key, signal="limited")
    turn.note("limited", event.key, reason=event.reason, until=event.until)
    turn.put(replace(member, activity=Activity.LIMITED))
    return None


def _work_resumed(turn: Turn, event: ev.WorkResumed) -> None:
    """The end of a limit counts wherever the member stands by now: it must not hold up others for ever."""
    member = turn.members[event.key]
    if member.live and member.activity is Activity.LIMITED:
        turn.note("limit_over", event.key)
        turn.put(replace(member, activity=Activity.WORKING))
    else:
        _unless_paused(turn, event.key, Trigger.CLAIMED)


def _spent(turn: Turn, event: ev.Spent) -> None:
    """Above its budget it is asked to stand down, once; what it answers counts as ever."""
    member, policy = turn.members[event.key], turn.policy
    over = [
        f"{used:,} of {budget:,} {what}"
        for used, budget, what in (
            (event.tokens, policy.budget_tokens, "tokens"),
            (event.turns, policy.budget_turns, "turns"),
        )
        if budget and used >= budget
    ]
    if not over or member.over_budget or member.state is not State.RUNNING or member.request is not None:
        return
    turn.put(replace(member, over_budget=True))
    reason = f"Its budget is used up: {', '.join(over)}"
    request = f"budget-{member.name}-{member.generation}"
    stand_down(turn, ev.StandDown(request, (member.name,), reason, by="policy"))


def _exited(turn: Turn, event: ev.Exited) -> None:
    if turn.members[event.key].exited:
        turn.late(event.key, result="exited")
    else:
        turn.fire(
            event.key, Trigger.EXITED, Facts(answer=Answer.EXITED, detail=event.detail, code=event.code)
        )


def _not_empty(turn: Turn, event: ev.NotEmpty) -> None:
    if turn.members[event.key].stuck:
        turn.late(event.key, result="not_empty")
    else:
        turn.fire(event.key, Trigger.NOT_EMPTY, Facts(alive=event.alive))


def _last_read(turn: Turn, event: ev.LastRead) -> None:
    """Whoever is settled has its outcome, and that is final (I6)."""
    if turn.members[event.key].settled:
        turn.late(event.key, result="last_read")
        return
    _read(turn, event.key, event.head, event.commits)
    trigger = Trigger.LAST_READ if event.ok else Trigger.LAST_READ_FAILED
    turn.fire(event.key, trigger, Facts(event.reason, ref=event.ref))


def _unless_paused(turn: Turn, key: str, trigger: Trigger, facts: Facts | None = None) -> None:
    """What a paused member had said before it was stopped is outdated: it stays paused."""
    member = turn.members[key]
    if member.state is State.RUNNING and member.activity is Activity.PAUSED:
        turn.late(key, signal=str(trigger))
    else:
        turn.fire(key, trigger, facts or Facts())
