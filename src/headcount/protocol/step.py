"""The one law: `step(team, event, policy) -> (team, effects)`.

Total and pure. An event that makes no sense any more is noted and changes nothing. The order of work inside
a step: the event becomes a cue for one member, or changes a request; then `_go_on` looks at every open
request and moves whoever can move.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headcount.protocol import events as ev
from headcount.protocol.effects import Act, ActKind, Note
from headcount.protocol.member import Cue, Member, State, overdue_cue
from headcount.protocol.team import CLOSE_STEPS, DECISIONS, Request, Status, why_not_decide, why_not_start
from headcount.protocol.turn import Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headcount.domain.policy import Policy
    from headcount.protocol.effects import Effect
    from headcount.protocol.team import Team

LAST_ROLES = ("lead", "witness")  # stood down after everyone else, in this order, and not asked


def step(team: Team, event: ev.Event, policy: Policy) -> tuple[Team, tuple[Effect, ...]]:
    turn = Turn(team, policy)
    if _too_late(team, event):
        turn.late(getattr(event, "key", None) or "", event=type(event).__name__)
    else:
        _HEAR[type(event)](turn, event)
        _go_on(turn)
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


def _stand_down(turn: Turn, event: ev.StandDown) -> None:
    targets = _targets(turn, event.names)
    overlapping = [r for r in turn.requests.values() if r.whole_team or set(r.targets) & set(targets)]
    joined = next((r for r in overlapping if r.whole_team or set(r.targets) >= set(targets)), None)
    if joined is not None and (joined.whole_team or event.names is not None):
        _join(turn, joined, event)
        return
    for narrower in overlapping:
        del turn.requests[narrower.id]
        targets += tuple(key for key in narrower.targets if key not in targets)
    request = Request(
        event.request_id, targets, event.names is None, event.reason, event.force, event.keep_team, event.by,
        taken_over=tuple(overlapping),
    )  # fmt: skip
    turn.requests[request.id] = request
    turn.note("stand_down", "", request=request.id, targets=list(targets), reason=event.reason, by=event.by)
    for key in targets:
        _ask(turn, key, request)


def _join(turn: Turn, request: Request, event: ev.StandDown) -> None:
    """Asking again: the same request, perhaps with force, and what is stuck is tried again."""
    turn.note("stand_down_joined", "", request=request.id, force=event.force, by=event.by)
    if event.force and not request.force:
        turn.requests[request.id] = replace(request, force=True)
    for key in request.targets:
        if event.force:
            turn.cue(key, Cue.FORCED, by=event.by)
        if turn.members[key].stuck:
            turn.cue(key, Cue.AGAIN)


def _targets(turn: Turn, names: tuple[str, ...] | None) -> tuple[str, ...]:
    """Whoever is not settled yet; a start that is in flight is among them."""
    wanted = (m for m in turn.members.values() if not m.settled)
    return tuple(m.key for m in wanted if names is None or m.name in names)


def _ask(turn: Turn, key: str, request: Request) -> None:
    """Put one member under a request. Whoever is past asking goes on as it stands."""
    member = turn.members[key]
    under_way = member.request is not None and member.state in (State.INSPECTING, State.NUDGED)
    turn.put(member, request=request.id)
    if under_way or member.role in LAST_ROLES or member.state is State.ASKED or _stands_idle(member):
        return
    if request.force and member.state is State.ESCALATED:
        turn.cue(key, Cue.FORCED, by=request.by)
    elif member.stuck:
        turn.cue(key, Cue.AGAIN)
    elif member.state in (State.RUNNING, State.INSPECTING, State.VERIFIED, State.NUDGED):
        turn.cue(key, Cue.REQUEST, request=request)


def _stands_idle(member: Member) -> bool:
    return member.state is State.RUNNING and member.activity == "idle"


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
    """A done signal while asked counts as approval. A lead or a witness has no end of its own."""
    member = turn.members[event.key]
    if member.role in LAST_ROLES:
        turn.late(event.key, signal="done")
    elif member.state is State.ASKED and member.answer is None:
        turn.cue(event.key, Cue.APPROVED, answer="approved", reason="done")
    else:
        turn.cue(event.key, Cue.DONE)


def _inspected(turn: Turn, event: ev.Inspected) -> None:
    if event.clean is None:
        turn.findings_to_witness(event)
    else:
        _verdict(turn, event.key, event.clean, event.spotless, event.issues)


def _judged(turn: Turn, event: ev.Judged) -> None:
    """The witness may call untracked build output clean; salvage is taken all the same."""
    if turn.members[event.key].state is not State.INSPECTING:
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
    if request is not None and request.force:
        cue = Cue.DIRTY_FORCED
    elif member.failures + 1 >= turn.policy.max_attempts:
        cue = Cue.DIRTY_AGAIN
    else:
        cue = Cue.DIRTY
    turn.cue(key, cue, issues=issues)


def _decided(turn: Turn, event: ev.Decided) -> None:
    refused = why_not_decide(turn.team_now(), event.escalation_id, event.decision, turn.policy)
    if refused:
        turn.note("refused", "", action="decide", code=refused[0], why=refused[1], by=event.by)
        return
    escalation = turn.escalations[event.escalation_id]
    cue = DECISIONS[event.decision]
    if cue is Cue.WAIT and escalation.cause == "salvage":
        cue = Cue.WAIT_SALVAGE
    turn.cue(escalation.key, cue, decision=event.decision, by=event.by, reason=event.reason)


def _timed_out(turn: Turn, event: ev.TimedOut) -> None:
    if event.key is None:
        _step_ended(turn, ev.StepEnded(turn.team.close_step or "", event.epoch, False, "took too long"))
        return
    member = turn.members[event.key]
    if member.state is State.INSPECTING:
        _verdict(turn, event.key, False, False, ("the workspace could not be read in time",))
        return
    cue = overdue_cue(member)
    if cue is not None:
        turn.cue(event.key, cue, answer="unanswered", reason="took too long")


def _paused(turn: Turn, event: ev.Paused) -> None:
    member = turn.members[event.key]
    if member.state is not State.RUNNING:
        return turn.late(event.key, signal="pause")
    turn.note("paused", event.key, by=event.by)
    return turn.act(ActKind.PAUSE, turn.put(member, activity="paused", epoch=member.epoch + 1))


def _resumed(turn: Turn, event: ev.Resumed) -> None:
    member = turn.members[event.key]
    if member.activity != "paused":
        return turn.late(event.key, signal="resume")
    turn.note("resumed", event.key, by=event.by)
    return turn.act(ActKind.RESUME, turn.put(member, activity="working", epoch=member.epoch + 1))


def _registered(turn: Turn, event: ev.Registered) -> None:
    """A start that was in flight when a request opened joins it now (B1)."""
    turn.cue(event.key, Cue.REGISTERED)
    member = turn.members[event.key]
    if member.state is State.RUNNING and member.request in turn.requests:
        _ask(turn, event.key, turn.requests[member.request])


def _exited(turn: Turn, event: ev.Exited) -> None:
    if turn.members[event.key].exited:
        turn.late(event.key, result="exited")
    else:
        turn.cue(event.key, Cue.EXITED, answer="exited", detail=event.detail)


def _last_read(turn: Turn, event: ev.LastRead) -> None:
    cue = Cue.LAST_READ if event.ok else Cue.LAST_READ_FAILED
    turn.cue(event.key, cue, ref=event.ref, reason=event.reason)


def _step_ended(turn: Turn, event: ev.StepEnded) -> None:
    """Cleanup is tried again as often as the policy says; then the team is closed all the same."""
    if event.step != turn.close_step or event.epoch != turn.close_epoch:
        return turn.note("late", "", step=event.step)
    turn.note("close_step", "", step=event.step, ok=event.ok, detail=event.detail)
    if event.ok:
        return _next_close_step(turn)
    turn.close_failures += 1
    if turn.close_failures <= turn.policy.cleanup_retries:
        return _begin_close_step(turn, event.step)
    turn.warnings += (f"{event.step}: {event.detail}",)
    return _next_close_step(turn)


def _plain(cue: Cue, *fields: str) -> Callable[[Turn, Any], None]:
    def hear(turn: Turn, event: Any) -> None:
        turn.cue(event.key, cue, **{name: getattr(event, name) for name in fields})

    return hear


# --- moving on by itself -----------------------------------------------------------------------------------


def _go_on(turn: Turn) -> None:
    """Move every open request as far as it goes now."""
    for request_id in list(turn.requests):
        request = turn.requests[request_id]
        if request.asking:
            request = _after_asking(turn, request)
        if request.result is None and not request.asking:
            _stop_next(turn, request)
            _finish(turn, request)
    turn.status = _status(turn)


def _after_asking(turn: Turn, request: Request) -> Request:
    rejections = tuple(
        (m.name, m.answer_reason) for m in _members(turn, request) if m.answer == "rejected" and m.request
    )
    if rejections and not request.force:
        return _reject(turn, request, rejections)
    if not all(_has_answered(m) for m in _members(turn, request)):
        return request
    turn.note("all_answered", "", request=request.id)
    turn.requests[request.id] = request = replace(request, asking=False)
    return request


def _has_answered(member: Member) -> bool:
    if member.state is State.ASKED:
        return member.answer is not None
    return member.state is not State.STARTING


def _reject(turn: Turn, request: Request, rejections: tuple[tuple[str, str], ...]) -> Request:
    """Nobody is stopped, approvals are void. Narrower requests that were past asking go on by themselves."""
    del turn.requests[request.id]
    older = {key: r for r in request.taken_over if not r.asking for key in r.targets}
    for key in request.targets:
        turn.cue_if(key, State.ASKED, Cue.WITHDRAWN, request=request.id)
        turn.put(turn.members[key], request=older[key].id if key in older else None)
    turn.requests.update({r.id: r for r in older.values()})
    request = replace(request, result="rejected", rejected_by=rejections)
    turn.note("rejected", "", request=request.id, rejected_by=[list(r) for r in rejections])
    turn.ended(request)
    return request


def _stop_next(turn: Turn, request: Request) -> None:
    """All at once; then the lead, then the witness, each when everyone before it is gone."""
    for stage in _stages(turn, request):
        for member in stage:
            if member.state in (State.ASKED, State.RUNNING):
                turn.cue(member.key, Cue.PROCEED)
        if not all(turn.members[m.key].settled for m in stage):
            return


def _stages(turn: Turn, request: Request) -> Iterable[list[Member]]:
    yield [m for m in _members(turn, request) if m.role not in LAST_ROLES]
    for role in LAST_ROLES:
        yield [m for m in _members(turn, request) if m.role == role]


def _finish(turn: Turn, request: Request) -> None:
    if not all(m.settled for m in _members(turn, request)):
        return
    if request.whole_team and not request.keep_team:
        if turn.close_step is None:
            turn.note("closing", "", request=request.id)
            _begin_close_step(turn, CLOSE_STEPS[0])
        return
    del turn.requests[request.id]
    turn.note("stood_down", "", request=request.id)
    turn.ended(replace(request, result="shutdown"))


def _begin_close_step(turn: Turn, step_name: str) -> None:
    turn.close_step = step_name
    turn.close_epoch += 1
    turn.effects.append(Act(ActKind.CLOSE_STEP, "", turn.close_epoch, {"step": step_name}))


def _next_close_step(turn: Turn) -> None:
    position = CLOSE_STEPS.index(str(turn.close_step)) + 1
    turn.close_failures = 0
    if position < len(CLOSE_STEPS):
        _begin_close_step(turn, CLOSE_STEPS[position])
        return
    turn.close_step = None
    request = turn.team.team_request()
    if request is not None:
        del turn.requests[request.id]
        turn.ended(replace(request, result="shutdown"))
    turn.closed = True
    turn.effects.append(Note("shutdown", "", {"warnings": list(turn.warnings)}))


def _members(turn: Turn, request: Request) -> list[Member]:
    return [turn.members[key] for key in request.targets]


def _status(turn: Turn) -> Status:
    if turn.closed:
        return Status.SHUTDOWN
    request = next((r for r in turn.requests.values() if r.whole_team), None)
    if request is None:
        return Status.ACTIVE
    if turn.close_step is not None:
        return Status.CLOSING
    if request.asking:
        return Status.PENDING_SHUTDOWN
    waiting = [m for m in _members(turn, request) if not m.settled]
    # A lead that waits for its turn does not hide that the others have ended.
    busy = [m for m in waiting if not m.ended and not (m.role in LAST_ROLES and m.state is State.RUNNING)]
    if busy:
        return Status.STOPPING
    if any(m.state is State.ESCALATED for m in waiting):
        return Status.ESCALATED
    return Status.STUCK if any(m.stuck for m in waiting) else Status.STOPPING


_HEAR: dict[type[ev.Event], Callable[[Turn, Any], None]] = {
    ev.Spawn: _spawn,
    ev.StandDown: _stand_down,
    ev.Decided: _decided,
    ev.Released: _plain(Cue.RELEASED),
    ev.ChangesRequested: _plain(Cue.CHANGES, "text"),
    ev.Paused: _paused,
    ev.Resumed: _resumed,
    ev.Answered: _answered,
    ev.DoneSignalled: _done,
    ev.IdleReported: _plain(Cue.IDLE),
    ev.TaskClaimed: _plain(Cue.CLAIMED, "task"),
    ev.Judged: _judged,
    ev.Registered: _registered,
    ev.StartFailed: _plain(Cue.START_FAILED, "reason"),
    ev.Exited: _exited,
    ev.Inspected: _inspected,
    ev.Saved: _plain(Cue.SAVED, "ref"),
    ev.SalvageFailed: _plain(Cue.SALVAGE_FAILED, "reason"),
    ev.TreeEmpty: _plain(Cue.TREE_EMPTY, "method"),
    ev.NotEmpty: _plain(Cue.NOT_EMPTY, "alive"),
    ev.LastRead: _last_read,
    ev.StepEnded: _step_ended,
    ev.TimedOut: _timed_out,
}
