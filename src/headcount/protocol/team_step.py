"""Apply an event to a team and its members: `step_team(team, event, policy) -> (team, Ready)`."""

# Total and pure. An event that no longer applies is recorded and changes nothing. A step has this order:
#
# 1. Events about a closed team, an unknown incarnation or an earlier epoch are late (`_too_late`).
# 2. The event becomes a trigger for one member, or changes a request (`_apply`). This is where the
#    conditions are that the member's table does not have: the request, the policy, the counters, the
#    other members.
# 3. `shutdown.go_on` advances every open request as far as possible.
#
# This file does not know the run. `step.py` combines the two.

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headcount.domain.policy import list_used_up
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
    """Return whether the event is about a closed team, an unknown incarnation or an earlier epoch."""
    if team.status is Status.SHUTDOWN:
        return True
    key, epoch = getattr(event, "key", None), getattr(event, "epoch", None)
    if key is None:
        return False
    member = team.members.get(key)
    return member is None or (epoch is not None and member.epoch != epoch)


def _late(team: Team, event: ev.Event, policy: Policy) -> Ready:
    """Record a late event. A late start or decision is refused with its reason."""
    refused: tuple[str, str] | None = None
    if isinstance(event, ev.Spawn):
        refused = why_not_start(team, event.name, policy, event.account)
    elif isinstance(event, ev.Decided):
        refused = why_not_decide(team, event.escalation_id, event.decision, policy)
    if refused is not None and isinstance(event, ev.Spawn | ev.Decided):
        told = Refused("spawn" if isinstance(event, ev.Spawn) else "decide", "", *refused, event.by)
        return Ready(happened=(told,), entries=(told.entry(),))
    late = Note("late", getattr(event, "key", None) or "", {"event": type(event).__name__})
    return Ready(entries=(late,))


def _apply(turn: Turn, event: ev.Event) -> None:
    match event:
        # requests of people and of the run
        case ev.Spawn():
            _spawn(turn, event)
        case ev.StandDown():
            stand_down(turn, event)
        case ev.Decided():
            _decided(turn, event)
        case ev.PolicyChanged():
            _policy_changed(turn, event)
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
        # reports of a member, which may be late, repeated or wrong
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
        case ev.ClientFailed():
            _client_failed(turn, event)
        case ev.Spent():
            _spent(turn, event)
        case ev.TaskClaimed():
            _unless_paused(turn, event.key, Trigger.CLAIMED, Facts(task=event.task))
        case ev.Reviewed():
            _reviewed(turn, event)
        case ev.Judged():
            _judged(turn, event)
        # observations of the engine
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
            turn.fire(event.key, Trigger.SALVAGE_FAILED, Facts(event.reason, here=event.here))
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
            raise TypeError(f"{event} is not an event of a team")


# --- one function for each event that needs more than a trigger ---------------------------------------------


def _spawn(turn: Turn, event: ev.Spawn) -> None:
    refused = why_not_start(turn.team, event.name, turn.policy, event.account)
    if refused:
        turn.happen(Refused("spawn", event.name, *refused, event.by))
        return
    # Generations count on forever, so that a key never names two incarnations.
    generation = turn.team.generations.get(event.name, 0) + 1
    member = Member(
        event.name, generation, role=event.role, task=event.task, account=event.account,
        awaits_review=event.awaits_review, epoch=1,
    )  # fmt: skip
    turn.generations[event.name] = generation
    turn.members[member.key] = member
    turn.note("starting", member.key, role=event.role, by=event.by)
    turn.act(ActKind.START, member)


def _answered(turn: Turn, event: ev.Answered) -> None:
    """Apply the first answer to the request in this incarnation's mailbox; others are late (A9, A10)."""
    member = turn.members[event.key]
    if member.state is not State.ASKED or member.answer is not None:
        return turn.late(event.key, answer="approve" if event.approve else "reject", request=event.request_id)
    if event.request_id not in (member.ask, member.request):
        return turn.late(event.key, answer="stale", request=event.request_id)
    if event.approve:
        return turn.fire(event.key, Trigger.APPROVED, Facts(event.reason, Answer.APPROVED))
    return turn.fire(event.key, Trigger.REJECTED, Facts(event.reason, Answer.REJECTED))


def _done(turn: Turn, event: ev.DoneSignalled) -> None:
    """Apply a done signal. While the member is asked, it counts as approval.

    It is late for a lead or a witness, and for an idle member that waits for the others under a request.
    """
    member = turn.members[event.key]
    if member.state is State.RUNNING and (member.role in LAST_ROLES or member.request is not None):
        turn.late(event.key, signal="done")
    elif member.state is State.ASKED and member.answer is None:
        turn.fire(event.key, Trigger.APPROVED, Facts("done", Answer.APPROVED))
    else:
        turn.fire(event.key, Trigger.DONE)
        if member.state is State.RUNNING and member.activity is Activity.PAUSED:
            _wake(
                turn, turn.members[event.key]
            )  # it signalled before it was paused, and must be able to exit


def _inspected(turn: Turn, event: ev.Inspected) -> None:
    member = turn.members[event.key]
    if member.state is not State.INSPECTING or (member.judging and event.clean is None):
        return turn.late(event.key, result="inspected")
    _read(turn, event.key, event.head, event.commits)
    if event.clean is None:
        return turn.findings_to_witness(event)
    return _verdict(turn, event.key, event.clean, event.spotless, event.issues)


def _read(turn: Turn, key: str, head: str, commits: int) -> None:
    """Record the commit of the workspace, unless it could not be read."""
    if head:
        turn.put(replace(turn.members[key], head=head, commits=commits))


def _reviewed(turn: Turn, event: ev.Reviewed) -> None:
    """Record a review. The rules of its task decide whether it counts."""
    turn.happen(ReviewGiven(event.key, event.task, event.verdict, event.words, event.commit))


def _judged(turn: Turn, event: ev.Judged) -> None:
    """Apply a verdict of the witness. It counts only for findings that were sent to the witness.

    `spotless` stays False: the witness may judge build output as clean, and it is salvaged anyway.
    """
    member = turn.members[event.key]
    if member.state is not State.INSPECTING or not member.judging:
        turn.late(event.key, signal="verdict")
        return
    _verdict(turn, event.key, event.clean, False, event.issues or ("the witness found it dirty",))


def _verdict(turn: Turn, key: str, clean: bool, spotless: bool, issues: tuple[str, ...]) -> None:
    member = turn.members[key]
    if clean:
        # Without a request, a member of a run stays for its reviews. Otherwise it is saved and stopped.
        waits = member.awaits_review and member.request is None
        trigger = Trigger.CLEAN_FOR_REVIEW if waits else Trigger.SPOTLESS if spotless else Trigger.CLEAN
        turn.fire(key, trigger)
        return
    # Three kinds of dirty: force saves at once, the last attempt escalates, all others send the member back.
    request = turn.requests.get(member.request or "")
    if request is not None and request.forces(key):
        trigger = Trigger.DIRTY_FORCED
    elif member.failures + 1 >= turn.policy.max_attempts:
        trigger = Trigger.DIRTY_AGAIN
    else:
        trigger = Trigger.DIRTY
    turn.fire(key, trigger, Facts(issues=issues))


def _changes(turn: Turn, event: ev.ChangesRequested) -> None:
    """Apply requested changes, unless the member is being stood down."""
    member = turn.members[event.key]
    if member.request is not None and member.state in (State.INSPECTING, State.NUDGED):
        turn.late(event.key, signal="changes")
    else:
        turn.fire(event.key, Trigger.CHANGES, Facts(text=event.text))


def _refused_for_good(turn: Turn, event: ev.RefusedForGood) -> None:
    """Escalate a member that refused too often. A newer request asks it again instead."""
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
    # `wait` and `human` mean something else about a failed salvage: the work must be saved first.
    trigger = DECISIONS[event.decision]
    if trigger is Trigger.WAIT and escalation.cause == "salvage":
        trigger = Trigger.WAIT_SALVAGE
    elif trigger is Trigger.HUMAN and (escalation.cause == "salvage" or turn.members[escalation.key].request):
        trigger = Trigger.HUMAN_HOLDS
    turn.fire(escalation.key, trigger, Facts(event.reason, decision=event.decision, by=event.by))


def _policy_changed(turn: Turn, event: ev.PolicyChanged) -> None:
    """Record each change. A policy that decides escalations from now on also decides the open ones.

    Everything else follows by itself: limits from the state, tasks that may begin now from `run.py`.
    """
    for key, old, new in event.changes:
        turn.note("policy_changed", "", key=key, old=old, new=new, by=event.by)
    if all((key, new) != ("on_escalation", "force-kill") for key, _, new in event.changes):
        return
    for escalation in list(turn.escalations.values()):
        refused = why_not_decide(turn.team_now(), escalation.id, "force-kill", turn.policy)
        if escalation.cause != "salvage" and refused is None:
            turn.fire(escalation.key, Trigger.FORCE_KILL, Facts(decision="force-kill", by="policy"))


def _timed_out(turn: Turn, event: ev.TimedOut) -> None:
    if event.key is None:
        step_ended(turn, ev.StepEnded(turn.team.close_step or "", event.epoch, False, "took too long"))
        return
    member = turn.members[event.key]
    # The limit may have been lifted in the same epoch, for example by an answer.
    if limit_s(member, turn.policy) is None:
        turn.late(event.key, event="TimedOut")
        return
    # Unknown counts as dirty.
    if member.state is State.INSPECTING:
        _verdict(turn, event.key, False, False, ("the workspace could not be read in time",))
        return
    trigger = overdue_trigger(member)
    if trigger is not None:
        turn.fire(event.key, trigger, Facts("took too long", Answer.UNANSWERED))


def _paused(turn: Turn, event: ev.Paused) -> None:
    """Pause a member, except under a request: it must be able to answer."""
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
    """Park a member at a usage limit. `why_not_start` refuses starts with its account until that ends."""
    member = turn.members[event.key]
    if not member.live or member.activity is Activity.PAUSED:
        return turn.late(event.key, signal="limited")
    turn.note("limited", event.key, reason=event.reason, until=event.until)
    turn.put(replace(member, activity=Activity.LIMITED))
    if turn.policy.notifies("limit"):
        turn.act(ActKind.NOTIFY, member, limit=event.reason, tag=f"limit {event.until}")
    return None


def _work_resumed(turn: Turn, event: ev.WorkResumed) -> None:
    """Lift a usage limit, in every state of the member. Otherwise it could block starts forever."""
    member = turn.members[event.key]
    if member.live and member.activity is Activity.LIMITED:
        turn.note("limit_over", event.key)
        turn.put(replace(member, activity=Activity.WORKING))
    else:
        _unless_paused(turn, event.key, Trigger.CLAIMED)


def _spent(turn: Turn, event: ev.Spent) -> None:
    """Ask a member above a budget to stand down, once. Its answer counts as usual."""
    member, over = turn.members[event.key], list_used_up(turn.policy, event)
    if not over or member.over_budget or member.state is not State.RUNNING or member.request is not None:
        return
    turn.put(replace(member, over_budget=True))
    reason = f"Its budget is used up: {', '.join(over)}"
    request = f"budget-{member.name}-{member.generation}"
    stand_down(turn, ev.StandDown(request, (member.name,), reason, by="policy"))


def _client_failed(turn: Turn, event: ev.ClientFailed) -> None:
    """Remember why its own process is about to exit; `_exited` tells it."""
    member = turn.members[event.key]
    if not member.live or member.exited:
        return turn.late(event.key, signal="client_failed")
    turn.put(replace(member, cause=event.cause))
    return None


# In these states headcount itself ends the member.
_LEAVING = (State.SALVAGING, State.STOPPING, State.KILLING, State.GONE)


def _exited(turn: Turn, event: ev.Exited) -> None:
    member = turn.members[event.key]
    if member.exited:
        return turn.late(event.key, result="exited")
    stood_down = member.request is not None or member.state in _LEAVING
    cause = "" if stood_down else member.cause or event.cause
    # If another member had refused, this one would have continued.
    left = member.state is State.ASKED and member.answer is Answer.APPROVED
    detail = member.cause or event.detail
    facts = Facts(answer=Answer.EXITED, detail=detail, code=event.code, cause=cause, left=left)
    return turn.fire(event.key, Trigger.EXITED, facts)


def _not_empty(turn: Turn, event: ev.NotEmpty) -> None:
    if turn.members[event.key].stuck:
        turn.late(event.key, result="not_empty")
    else:
        turn.fire(event.key, Trigger.NOT_EMPTY, Facts(alive=event.alive))


def _last_read(turn: Turn, event: ev.LastRead) -> None:
    """Settle a member after the last read of its workspace. Its outcome is final (I6)."""
    if turn.members[event.key].settled:
        turn.late(event.key, result="last_read")
        return
    _read(turn, event.key, event.head, event.commits)
    trigger = Trigger.LAST_READ if event.ok else Trigger.LAST_READ_FAILED
    turn.fire(event.key, trigger, Facts(event.reason, ref=event.ref))


def _unless_paused(turn: Turn, key: str, trigger: Trigger, facts: Facts | None = None) -> None:
    """Fire the trigger, unless the member is paused. Its report is older than the pause."""
    member = turn.members[key]
    if member.state is State.RUNNING and member.activity is Activity.PAUSED:
        turn.late(key, signal=str(trigger))
    else:
        turn.fire(key, trigger, facts or Facts())
