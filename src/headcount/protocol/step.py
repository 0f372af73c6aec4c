"""The one law: `step(team, event, policy) -> (team, effects)`.

Total and pure. An event that makes no sense any more is noted and changes nothing. The order of work inside
a step: the event becomes a cue for one member, or changes a request; then `shutdown.go_on` looks at every
open request and moves whoever can move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.protocol import events as ev
from headcount.protocol.effects import ActKind, Note
from headcount.protocol.member import LIMITED, Cue, Member, State, limit_s, overdue_cue
from headcount.protocol.shutdown import LAST_ROLES, go_on, stand_down, step_ended
from headcount.protocol.team import DECISIONS, Status, why_not_decide, why_not_start
from headcount.protocol.turn import Turn

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.domain.policy import Policy
    from headcount.protocol.effects import Effect
    from headcount.protocol.team import Team


def step(team: Team, event: ev.Event, policy: Policy) -> tuple[Team, tuple[Effect, ...]]:
    if _too_late(team, event):
        return team, (Note("late", getattr(event, "key", None) or "", {"event": type(event).__name__}),)
    turn = Turn(team, policy)
    _HEAR[type(event)](turn, event)
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


# --- hearing an event ------------------------------------------------------------------------------------


def _spawn(turn: Turn, event: ev.Spawn) -> None:
    refused = why_not_start(turn.team, event.name, turn.policy)
    if refused:
        turn.note("refused", event.name, action="spawn", code=refused[0], why=refused[1], by=event.by)
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
    cue, answer = (Cue.APPROVED, "approved") if event.approve else (Cue.REJECTED, "rejected")
    return turn.cue(event.key, cue, answer=answer, reason=event.reason)


def _done(turn: Turn, event: ev.DoneSignalled) -> None:
    """A done signal while asked counts as approval.

    A lead or a witness has no end of its own, and whoever stands idle under a request waits for the others.
    """
    member = turn.members[event.key]
    if member.state is State.RUNNING and (member.role in LAST_ROLES or member.request is not None):
        turn.late(event.key, signal="done")
    elif member.state is State.ASKED and member.answer is None:
        turn.cue(event.key, Cue.APPROVED, answer="approved", reason="done")
    else:
        turn.cue(event.key, Cue.DONE)
        if member.state is State.RUNNING and member.activity == "paused":
            _wake(turn, turn.members[event.key])  # it said so before it was paused, and is to end now


def _inspected(turn: Turn, event: ev.Inspected) -> None:
    member = turn.members[event.key]
    if member.state is not State.INSPECTING or (member.judging and event.clean is None):
        turn.late(event.key, result="inspected")
    elif event.clean is None:
        turn.findings_to_witness(event)
    else:
        _verdict(turn, event.key, event.clean, event.spotless, event.issues)


def _reviewed(turn: Turn, event: ev.Reviewed) -> None:
    """For the record; the rules of its task decide what it is worth."""
    turn.note(
        "reviewed", event.key, task=event.task, verdict=event.verdict, words=event.words, commit=event.commit
    )


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
        cue = Cue.CLEAN_FOR_REVIEW if waits else Cue.SPOTLESS if spotless else Cue.CLEAN
        turn.cue(key, cue)
        return
    request = turn.requests.get(member.request or "")
    if request is not None and request.forces(key):
        cue = Cue.DIRTY_FORCED
    elif member.failures + 1 >= turn.policy.max_attempts:
        cue = Cue.DIRTY_AGAIN
    else:
        cue = Cue.DIRTY
    turn.cue(key, cue, issues=issues)


def _changes(turn: Turn, event: ev.ChangesRequested) -> None:
    """Reviewers' words do not send back to work whoever is being stood down."""
    member = turn.members[event.key]
    if member.request is not None and member.state in (State.INSPECTING, State.NUDGED):
        turn.late(event.key, signal="changes")
    else:
        turn.cue(event.key, Cue.CHANGES, text=event.text)


def _refused_for_good(turn: Turn, event: ev.RefusedForGood) -> None:
    """A request that has opened since asks it anew."""
    if turn.members[event.key].request is not None:
        turn.late(event.key, signal="refused")
    else:
        turn.cue(event.key, Cue.REFUSES, reason=event.reason)


def _decided(turn: Turn, event: ev.Decided) -> None:
    refused = why_not_decide(turn.team_now(), event.escalation_id, event.decision, turn.policy)
    if refused:
        turn.note("refused", "", action="decide", code=refused[0], why=refused[1], by=event.by)
        return
    escalation = turn.escalations[event.escalation_id]
    cue = DECISIONS[event.decision]
    if cue is Cue.WAIT and escalation.cause == "salvage":
        cue = Cue.WAIT_SALVAGE
    elif cue is Cue.HUMAN and (escalation.cause == "salvage" or turn.members[escalation.key].request):
        cue = Cue.HUMAN_HOLDS
    turn.cue(escalation.key, cue, decision=event.decision, by=event.by, reason=event.reason)


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
    cue = overdue_cue(member)
    if cue is not None:
        turn.cue(event.key, cue, answer="unanswered", reason="took too long")


def _paused(turn: Turn, event: ev.Paused) -> None:
    """Not under a request: whoever is to answer must be able to."""
    member = turn.members[event.key]
    if member.state is not State.RUNNING or member.request is not None or member.activity == "paused":
        return turn.late(event.key, signal="pause")
    turn.note("paused", event.key, by=event.by)
    return turn.act(ActKind.PAUSE, turn.put(member, activity="paused", epoch=member.epoch + 1))


def _resumed(turn: Turn, event: ev.Resumed) -> None:
    member = turn.members[event.key]
    if member.state is not State.RUNNING or member.activity != "paused":
        return turn.late(event.key, signal="resume")
    turn.note("resumed", event.key, by=event.by)
    return _wake(turn, member)


def _wake(turn: Turn, member: Member) -> None:
    turn.act(ActKind.RESUME, turn.put(member, activity="working"))


def _limited(turn: Turn, event: ev.Limited) -> None:
    """Parked, not restarted: whoever is started now runs into the same limit (`why_not_start`)."""
    member = turn.members[event.key]
    if not member.live or member.activity == "paused":
        return turn.late(event.key, signal="limited")
    turn.note("limited", event.key, reason=event.reason, until=event.until)
    turn.put(member, activity=LIMITED)
    return None


def _work_resumed(turn: Turn, event: ev.WorkResumed) -> None:
    """The end of a limit counts wherever the member stands by now: it must not hold up others for ever."""
    member = turn.members[event.key]
    if member.live and member.activity == LIMITED:
        turn.note("limit_over", event.key)
        turn.put(member, activity="working")
    else:
        _awake(Cue.CLAIMED)(turn, event)


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
    turn.put(member, over_budget=True)
    reason = f"Its budget is used up: {', '.join(over)}"
    request = f"budget-{member.name}-{member.generation}"
    stand_down(turn, ev.StandDown(request, (member.name,), reason, by="policy"))


def _exited(turn: Turn, event: ev.Exited) -> None:
    if turn.members[event.key].exited:
        turn.late(event.key, result="exited")
    else:
        turn.cue(event.key, Cue.EXITED, answer="exited", detail=event.detail)


def _not_empty(turn: Turn, event: ev.NotEmpty) -> None:
    if turn.members[event.key].stuck:
        turn.late(event.key, result="not_empty")
    else:
        turn.cue(event.key, Cue.NOT_EMPTY, alive=event.alive)


def _last_read(turn: Turn, event: ev.LastRead) -> None:
    """Whoever is settled has its outcome, and that is final (I6)."""
    if turn.members[event.key].settled:
        turn.late(event.key, result="last_read")
        return
    cue = Cue.LAST_READ if event.ok else Cue.LAST_READ_FAILED
    turn.cue(event.key, cue, ref=event.ref, reason=event.reason)


def _awake(cue: Cue, *fields: str) -> Callable[[Turn, Any], None]:
    """What a paused member had said before it was stopped is old news: it stays paused."""

    def hear(turn: Turn, event: Any) -> None:
        member = turn.members[event.key]
        if member.state is State.RUNNING and member.activity == "paused":
            turn.late(event.key, signal=str(cue))
        else:
            _plain(cue, *fields)(turn, event)

    return hear


def _plain(cue: Cue, *fields: str) -> Callable[[Turn, Any], None]:
    def hear(turn: Turn, event: Any) -> None:
        turn.cue(event.key, cue, **{name: getattr(event, name) for name in fields})

    return hear


_HEAR: dict[type[ev.Event], Callable[[Turn, Any], None]] = {
    ev.Spawn: _spawn,
    ev.StandDown: stand_down,
    ev.Decided: _decided,
    ev.Released: _plain(Cue.RELEASED),
    ev.RefusedForGood: _refused_for_good,
    ev.ChangesRequested: _changes,
    ev.Paused: _paused,
    ev.Resumed: _resumed,
    ev.Answered: _answered,
    ev.DoneSignalled: _done,
    ev.IdleReported: _awake(Cue.IDLE),
    ev.WorkResumed: _work_resumed,
    ev.Limited: _limited,
    ev.Spent: _spent,
    ev.TaskClaimed: _awake(Cue.CLAIMED, "task"),
    ev.Reviewed: _reviewed,
    ev.Judged: _judged,
    ev.Registered: _plain(Cue.REGISTERED),
    ev.StartFailed: _plain(Cue.START_FAILED, "reason"),
    ev.Exited: _exited,
    ev.Inspected: _inspected,
    ev.Saved: _plain(Cue.SAVED, "ref"),
    ev.SalvageFailed: _plain(Cue.SALVAGE_FAILED, "reason"),
    ev.TreeEmpty: _plain(Cue.TREE_EMPTY, "method"),
    ev.NotEmpty: _not_empty,
    ev.LastRead: _last_read,
    ev.StepEnded: step_ended,
    ev.TimedOut: _timed_out,
}
