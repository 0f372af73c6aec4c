"""Advance stand-downs, from the request to the tombstone: ask all, wait for all, stop all, close."""

# `team_step.py` opens and joins requests here. After every event it calls `go_on`, which advances every
# open request as far as possible. Nothing here waits. A request that cannot advance now is tried again
# after the next event.
#
# A request has no table, because it follows its members:
#
#     asking     until each member has answered, timed out or exited; a refusal ends it here
#     stopping   workers and reviewers in parallel, then the lead, then the witness
#     over       all are settled; a request for the whole team then closes the team
#
# Closing runs `CLOSE_STEPS` in order. Each step has its own epoch, so that a late result of an earlier
# try changes nothing. A failed step is retried as often as the policy allows. Then it becomes a warning
# and closing continues.

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from headcount.protocol.effects import Act, ActKind
from headcount.protocol.happened import Refused, RequestRejected
from headcount.protocol.member import Activity, Answer, Member, State, Trigger
from headcount.protocol.team import CLOSE_STEPS, Request, Status, why_not_stand_down
from headcount.protocol.turn import Facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headcount.protocol.events import StandDown, StepEnded
    from headcount.protocol.turn import Turn

LAST_ROLES: Final = ("lead", "witness")  # stood down after all others, in this order, and not asked

# States in which a request asks the member. In later states (salvaging, stopping, gone) the member just
# continues; while starting it is asked once it runs.
ASKABLE: Final = (State.RUNNING, State.INSPECTING, State.VERIFIED, State.NUDGED)


# --- opening, joining and taking over ---------------------------------------------------------------------


def stand_down(turn: Turn, event: StandDown) -> None:
    refused = why_not_stand_down(turn.team, event.names, event.cycling)
    if refused:
        turn.happen(Refused("stand_down", "", *refused, event.by))
        return
    # A request for members that an open one covers joins it. A wider one replaces those that it overlaps.
    targets = _targets(turn, event.names)
    overlapping = [r for r in turn.requests.values() if r.whole_team or set(r.targets) & set(targets)]
    joined = next((r for r in overlapping if r.whole_team or set(r.targets) >= set(targets)), None)
    if joined is not None and (joined.whole_team or event.names is not None):
        _join(turn, joined, event)
    else:
        _open(turn, event, targets, overlapping)
    if event.now:
        _do_not_wait(turn, targets, event.by)
    if event.cycling:
        for key in targets:
            member = turn.members[key]
            # The member's current request may be one that this request joined.
            turn.put(replace(member, cycle=member.request, cycle_by=event.by))


def _open(turn: Turn, event: StandDown, targets: tuple[str, ...], overlapping: list[Request]) -> None:
    about = targets
    for narrower in overlapping:
        del turn.requests[narrower.id]
        targets += tuple(key for key in narrower.targets if key not in targets)
    request = Request(
        event.request_id, targets, event.names is None, event.reason, keep_team=event.keep_team, by=event.by,
        taken_over=tuple(overlapping),
    )  # fmt: skip
    if event.force:
        request = _with_force(request, about)
    turn.requests[request.id] = request
    turn.note(
        "stand_down", "", request=request.id, targets=list(targets), whole_team=request.whole_team,
        reason=event.reason, by=event.by,
    )  # fmt: skip
    for key in targets:
        if not turn.members[key].settled:
            _cover(turn, key, request)


def _join(turn: Turn, request: Request, event: StandDown) -> None:
    """Join an open request: add force if it was given, and retry what is stuck."""
    turn.note("stand_down_joined", "", request=request.id, force=event.force, by=event.by)
    about = _targets(turn, event.names) if event.names is not None else request.targets
    if event.force:
        turn.requests[request.id] = _with_force(request, about)
    for key in about:
        if event.force:
            _force(turn, key, event.by)
        _try_again(turn, key)


def _with_force(request: Request, about: Iterable[str]) -> Request:
    forced = tuple(dict.fromkeys((*request.forced, *about)))
    return replace(request, force=request.force or set(forced) >= set(request.targets), forced=forced)


def _targets(turn: Turn, names: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return all members that are not settled, including those that are starting."""
    wanted = (m for m in turn.members.values() if not m.settled)
    return tuple(m.key for m in wanted if names is None or m.name in names)


def _cover(turn: Turn, key: str, request: Request) -> None:
    """Put a member under a request. Ask it, unless an earlier request is past asking."""
    member = turn.members[key]
    under_way = member.request is not None and member.state is not State.RUNNING
    turn.put(replace(member, request=request.id))
    if not under_way:
        _ask(turn, key, request)
    if request.forces(key) and (under_way or member.state is State.ESCALATED):
        _force(turn, key, request.by)
    _try_again(turn, key)
    member = turn.members[key]
    if (
        member.state is State.RUNNING and member.activity is Activity.PAUSED
    ):  # it is not asked, but must be able to exit
        turn.act(ActKind.RESUME, turn.put(replace(member, activity=Activity.WORKING)))


def _ask(turn: Turn, key: str, request: Request) -> None:
    """Ask a member, unless it is a lead, a witness or idle, or force does not wait for its answer."""
    member = turn.members[key]
    idle = member.activity is Activity.IDLE
    excused = member.state is State.RUNNING and (idle or _is_mute(member, request))
    if member.state in ASKABLE and member.role not in LAST_ROLES and not excused:
        turn.fire(key, Trigger.REQUEST, Facts(request=request))


def _is_mute(member: Member, request: Request) -> bool:
    """At a usage limit a member cannot answer, because its client may not ask the model. Force does not wait
    for it."""
    return member.activity is Activity.LIMITED and request.forces(member.key)


def _force(turn: Turn, key: str, by: str) -> None:
    """Apply force to a nudged or escalated member. An inspection reads force from the request."""
    if turn.members[key].state in (State.NUDGED, State.ESCALATED):
        turn.fire(key, Trigger.FORCED, Facts(by=by))


def _do_not_wait(turn: Turn, keys: Iterable[str], by: str) -> None:
    """Treat members that were asked and have not answered as if their time were over. A member that is still
    starting is asked later, and has its time."""
    turn.note("answers_not_awaited", "", by=by)
    for key in keys:
        member = turn.members[key]
        if member.state is State.ASKED and member.answer is None:
            turn.fire(key, Trigger.UNANSWERED, Facts("not waited for", Answer.UNANSWERED))


def _try_again(turn: Turn, key: str) -> None:
    if turn.members[key].stuck:
        turn.fire(key, Trigger.AGAIN)


# --- advancing requests ------------------------------------------------------------------------------------


def go_on(turn: Turn) -> None:
    """Advance every open request as far as possible, including those that a rejection restores."""
    seen: set[str] = set()
    while waiting := [r for r in turn.requests if r not in seen]:
        for request_id in waiting:
            seen.add(request_id)
            _move(turn, turn.requests[request_id])
    turn.status = _status(turn)


def _move(turn: Turn, request: Request) -> None:
    if request.asking:
        request = _while_asking(turn, request)
    if request.result is None and not request.asking:
        _stop_next(turn, request)
        _finish(turn, request)


def _while_asking(turn: Turn, request: Request) -> Request:
    """Ask members that can be asked now: one that has just started (B1), an idle one that claimed a task."""
    for member in _members(turn, request):
        if member.state is State.RUNNING:
            _ask(turn, member.key, request)
        elif member.state is State.ASKED and member.answer is None and _is_mute(member, request):
            turn.fire(member.key, Trigger.UNANSWERED, Facts("at a usage limit", Answer.UNANSWERED))
    # Force makes a refusal an answer like any other.
    rejections = tuple(
        (m.name, m.answer_reason)
        for m in _members(turn, request)
        if m.state is State.ASKED and m.answer is Answer.REJECTED and not request.forces(m.key)
    )
    if rejections:
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
    """End a request that was refused. No member is stopped, and approvals are void.

    Narrower requests that it took over continue with their answers, unless one of their members refused.
    """
    del turn.requests[request.id]
    refused = {name for name, _ in rejections}
    # Requests that this one took over are open again; their members keep the answers that they gave there.
    older = {key: r for r in _still_wanted(turn, request, refused) for key in r.targets}
    for member in _members(turn, request):
        if member.settled:
            continue
        key = member.key
        turn.put(replace(member, request=older[key].id if key in older else None))
        if member.state is State.ASKED and (key not in older or member.ask != older[key].id):
            turn.fire(key, Trigger.WITHDRAWN_DONE if member.held_done else Trigger.WITHDRAWN)
    turn.requests.update({r.id: r for r in older.values()})
    request = replace(request, result="rejected", rejected_by=rejections)
    turn.happen(RequestRejected(request.id, rejections))
    turn.ended(request)
    return request


def _still_wanted(turn: Turn, request: Request, refused: set[str]) -> Iterator[Request]:
    for narrower in request.taken_over:
        if narrower.asking and any(m.name in refused for m in _members(turn, narrower)):
            yield from _still_wanted(turn, narrower, refused)
        else:
            yield narrower


def _stop_next(turn: Turn, request: Request) -> None:
    """Stop all workers and reviewers; then the lead, then the witness, each when all before it are gone."""
    for stage in _stages(turn, request):
        for member in stage:
            if member.state in (State.ASKED, State.RUNNING):
                turn.fire(member.key, Trigger.PROCEED)
        if not all(turn.members[m.key].settled for m in stage):
            return


def _stages(turn: Turn, request: Request) -> Iterable[list[Member]]:
    yield [m for m in _members(turn, request) if m.role not in LAST_ROLES]
    for role in LAST_ROLES:
        yield [m for m in _members(turn, request) if m.role == role]


def _finish(turn: Turn, request: Request) -> None:
    if not all(m.settled for m in _members(turn, request)):
        return
    # Only a request for the whole team closes it, and not with --keep-team.
    if request.whole_team and not request.keep_team:
        if turn.close_step is None:
            turn.note("closing", "", request=request.id)
            _begin_close_step(turn, CLOSE_STEPS[0])
        return
    del turn.requests[request.id]
    turn.note("stood_down", "", request=request.id)
    turn.ended(replace(request, result="shutdown"))


# --- closing ----------------------------------------------------------------------------------------------


def step_ended(turn: Turn, event: StepEnded) -> None:
    """Record a closing step. A failed one is retried as the policy allows; then closing continues."""
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


def _begin_close_step(turn: Turn, step_name: str) -> None:
    turn.close_step = step_name
    turn.close_epoch += 1
    turn.acts.append(Act(ActKind.CLOSE_STEP, "", turn.close_epoch, {"step": step_name}))


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
    turn.note("shutdown", "", warnings=list(turn.warnings))


# --- the team's status -------------------------------------------------------------------------------------


def _members(turn: Turn, request: Request) -> Iterator[Member]:
    """Yield the members lazily. Most callers stop after a few, and this runs at every step."""
    return (turn.members[key] for key in request.targets)


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
    # A lead that waits for the others does not hide that they have ended.
    if any(
        not m.ended and not (m.role in LAST_ROLES and m.state is State.RUNNING)
        for m in _members(turn, request)
    ):
        return Status.STOPPING
    waiting = [m for m in _members(turn, request) if not m.settled]
    if any(m.state is State.ESCALATED for m in waiting):
        return Status.ESCALATED
    return Status.STUCK if any(m.stuck for m in waiting) else Status.STOPPING
