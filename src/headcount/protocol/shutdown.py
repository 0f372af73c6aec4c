"""Standing down, from the request to the tombstone: ask all, wait for all, stop all at once, close.

`step.py` tells it what was asked for; `go_on` then moves every open request as far as it goes by itself. It
is called after every event, so nothing here waits for anything: what cannot go on now is looked at again.
"""

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

LAST_ROLES: Final = ("lead", "witness")  # stood down after everyone else, in this order, and not asked

# Who is asked when a request comes. Whoever is further (salvaging, stopping, gone) goes on as it stands.
ASKABLE: Final = (State.RUNNING, State.INSPECTING, State.VERIFIED, State.NUDGED)


# --- a request opens, joins or takes over -----------------------------------------------------------------


def stand_down(turn: Turn, event: StandDown) -> None:
    refused = why_not_stand_down(turn.team, event.names, event.cycling)
    if refused:
        turn.happen(Refused("stand_down", "", *refused, event.by))
        return
    targets = _targets(turn, event.names)
    overlapping = [r for r in turn.requests.values() if r.whole_team or set(r.targets) & set(targets)]
    joined = next((r for r in overlapping if r.whole_team or set(r.targets) >= set(targets)), None)
    if joined is not None and (joined.whole_team or event.names is not None):
        _join(turn, joined, event)
    else:
        _open(turn, event, targets, overlapping)
    if event.cycling:
        for key in targets:
            member = turn.members[key]
            # Under the request that it is part of now, which may be one that this one joined.
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
    """Asking again: the same request, perhaps with force, and what is stuck is tried again."""
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
    """Whoever is not settled yet; a start that is in flight is among them."""
    wanted = (m for m in turn.members.values() if not m.settled)
    return tuple(m.key for m in wanted if names is None or m.name in names)


def _cover(turn: Turn, key: str, request: Request) -> None:
    """Put one member under a request; it is asked unless a request that was taken over is past that."""
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
    ):  # not asked; nobody is ended asleep
        turn.act(ActKind.RESUME, turn.put(replace(member, activity=Activity.WORKING)))


def _ask(turn: Turn, key: str, request: Request) -> None:
    """A lead, a witness and whoever stands idle are not asked."""
    member = turn.members[key]
    idle = member.state is State.RUNNING and member.activity is Activity.IDLE
    if member.state in ASKABLE and member.role not in LAST_ROLES and not idle:
        turn.fire(key, Trigger.REQUEST, Facts(request=request))


def _force(turn: Turn, key: str, by: str) -> None:
    """Force decides what is open about a member; an inspection that is under way sees it by itself."""
    if turn.members[key].state in (State.NUDGED, State.ESCALATED):
        turn.fire(key, Trigger.FORCED, Facts(by=by))


def _try_again(turn: Turn, key: str) -> None:
    if turn.members[key].stuck:
        turn.fire(key, Trigger.AGAIN)


# --- moving on by itself ----------------------------------------------------------------------------------


def go_on(turn: Turn) -> None:
    """Move every open request as far as it goes now, those that a rejection gives back included."""
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
    """Ask whoever can be asked by now: a start in flight that registered (B1), an idle one that claimed."""
    for member in _members(turn, request):
        if member.state is State.RUNNING:
            _ask(turn, member.key, request)
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
    """Nobody is stopped, approvals are void. Narrower requests that it took over go on where they are, with
    the answers that they have, unless one of theirs has just refused."""
    del turn.requests[request.id]
    refused = {name for name, _ in rejections}
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
    """All at once; then the lead, then the witness, each when everyone before it is gone."""
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


# --- what the team is shown as ----------------------------------------------------------------------------


def _members(turn: Turn, request: Request) -> Iterator[Member]:
    """One by one: most questions are answered by the first few, and this is asked at every step."""
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
    # A lead that waits for its turn does not hide that the others have ended.
    if any(
        not m.ended and not (m.role in LAST_ROLES and m.state is State.RUNNING)
        for m in _members(turn, request)
    ):
        return Status.STOPPING
    waiting = [m for m in _members(turn, request) if not m.settled]
    if any(m.state is State.ESCALATED for m in waiting):
        return Status.ESCALATED
    return Status.STUCK if any(m.stuck for m in waiting) else Status.STOPPING
