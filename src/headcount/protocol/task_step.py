"""Apply an event to a task: `step_task(task, event, policy) -> (task, effects)`."""

# Total and pure, like `step`. A step has this order:
#
# 1. An observation about a member is recorded in its seat.
# 2. The event becomes a trigger. This is where the conditions are that the task's table does not have:
#    the counters of rounds and restarts, the seats, and which commit was sent back.
# 3. When every seat of a task that is being stood down is over, the task moves on (`TaskTurn.go_on`).
#
# An event about an incarnation without a seat here, or about another attempt or commit, is late.

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from headcount.protocol import task_events as ev
from headcount.protocol.task import WORKER, Presence, Seat, State, Task, Trigger
from headcount.protocol.task_turn import Facts, TaskTurn

if TYPE_CHECKING:
    from headcount.domain.policy import Policy

# A run asks twice more after a refusal, then escalates.
ASKS: Final = 3


def step_task(task: Task, event: ev.TaskEvent, policy: Policy) -> tuple[Task, tuple[ev.TaskEffect, ...]]:
    turn = TaskTurn(task, policy)
    _apply(turn, event)
    turn.go_on()
    return turn.result()


def _apply(turn: TaskTurn, event: ev.TaskEvent) -> None:
    match event:
        case ev.Begin():
            _begin(turn, event)
        case ev.Spawned():
            _spawned(turn, event)
        case ev.SpawnRefused():
            _spawn_refused(turn, event)
        case ev.WorkVerified():
            _work_verified(turn, event)
        case ev.MemberLeft():
            _member_left(turn, event)
        case ev.MemberEscalated():
            _member_escalated(turn, event)
        case ev.MemberBack():
            _member_back(turn, event)
        case ev.Reassigned():
            _reassigned(turn, event)
        case ev.Refused():
            _refused(turn, event)
        case ev.Reviewed():
            _reviewed(turn, event)
        case ev.Merged() | ev.Conflicted() | ev.MergeFailed():
            _merge_result(turn, event)
        case ev.Abort():
            _abort(turn, event)
        case ev.Retry():
            _retry(turn, event)
        case _:
            raise TypeError(f"{event} is not an event of a task")


# --- one function for each event ------------------------------------------------------------------------


def _begin(turn: TaskTurn, event: ev.Begin) -> None:
    turn.fire(Trigger.BEGIN, Facts(begin=event))


def _spawned(turn: TaskTurn, event: ev.Spawned) -> None:
    seat = _ordered(turn, event.name)
    if seat is None:
        return turn.late(event)
    turn.put_seat(replace(seat, key=event.key, presence=Presence.HERE))
    turn.note("task_member", key=event.key, role=seat.role)
    if turn.task.state is State.STANDING_DOWN:
        turn.fire(Trigger.ARRIVED)
    return None


def _spawn_refused(turn: TaskTurn, event: ev.SpawnRefused) -> None:
    seat = _ordered(turn, event.name)
    if seat is None:
        return turn.late(event)
    turn.put_seat(replace(seat, presence=Presence.GONE))
    return _lost(turn, seat, f"{seat.name} could not be started: {event.why}")


def _ordered(turn: TaskTurn, name: str) -> Seat | None:
    return next((s for s in turn.task.seats if s.name == name and s.presence is Presence.ORDERED), None)


def _work_verified(turn: TaskTurn, event: ev.WorkVerified) -> None:
    worker = turn.task.worker
    if worker is None or worker.key != event.key or worker.presence is not Presence.HERE:
        return turn.late(event)
    return _done(turn, event.commit, event.commits)


def _done(turn: TaskTurn, commit: str, commits: int) -> None:
    """Apply a done task. Without a new commit it is not done (C19); nor with the one that was sent back."""
    task = turn.task
    if commits == 0 or commit == task.sent_back:
        return _empty_handed(turn, commits)
    # A stuck or escalated reviewer keeps its name, so no other can take the seat. The task is blocked.
    lost = next((s for s in task.reviewers if s.presence in (Presence.STUCK, Presence.ESCALATED)), None)
    if lost is not None:
        return turn.fire(Trigger.REVIEWER_LOST_AGAIN, Facts(f"its reviewer {lost.key} is {lost.presence}"))
    return turn.fire(Trigger.DONE if task.reviewers else Trigger.DONE_UNREVIEWED, Facts(commit=commit))


def _empty_handed(turn: TaskTurn, commits: int) -> None:
    why = "there is no commit on your branch" if commits == 0 else "nothing was committed since"
    words = f"The task is not done: {why}. Commit your work and signal done again."
    trigger = Trigger.EMPTY_HANDED if turn.rounds_left else Trigger.EMPTY_HANDED_AGAIN
    reason = "its worker signalled done without a new commit, and no round is left"
    turn.fire(trigger, Facts(reason, words))


def _member_left(turn: TaskTurn, event: ev.MemberLeft) -> None:
    seat = turn.task.seat(event.key)
    presence = Presence.STUCK if event.outcome == "stuck" else Presence.GONE
    if seat is None or seat.presence in (presence, Presence.GONE):
        return turn.late(event)
    # A stuck member that is proved gone later was counted as lost before.
    expected = seat.taken or seat.presence is Presence.ESCALATED
    turn.put_seat(replace(seat, presence=presence))
    turn.note("task_member_left", key=event.key, outcome=event.outcome)
    if seat.role == WORKER:
        _keep_base(turn, event)
    if expected:
        _left(turn, seat, event)
    return None


def _keep_base(turn: TaskTurn, event: ev.MemberLeft) -> None:
    """Let the next worker start from what this one left, unless a decision gave that up."""
    abandoned = event.outcome == "forced" and not turn.task.reassigned and not event.cycled
    if not abandoned:
        base = event.salvage or (event.commit if event.commits else "") or turn.task.base
        turn.put(replace(turn.task, base=base))


def _left(turn: TaskTurn, seat: Seat, event: ev.MemberLeft) -> None:
    if event.cycled and event.outcome != "stuck" and turn.task.staffed:
        return _cycled(turn, seat, event)
    if event.by:
        return _lost(turn, seat, f"{event.key} was stood down by {event.by}", for_good=True)
    # A plain program that exits cleanly with a new commit has done its task.
    new = event.commits > 0 and event.commit != turn.task.sent_back
    if event.outcome == "clean" and new and seat.role == WORKER and turn.task.state is State.WORKING:
        return _done(turn, event.commit, event.commits)
    stuck = event.outcome == "stuck" and seat.role != WORKER
    return _lost(turn, seat, _why_left(event), for_good=stuck)


def _why_left(event: ev.MemberLeft) -> str:
    if event.cause:
        return f"{event.key} failed before it was done: {event.cause}"
    if event.outcome == "already_gone":
        return f"{event.key} exited before it was done"
    return f"{event.key} left before it was done ({event.outcome or 'not started'})"


def _cycled(turn: TaskTurn, seat: Seat, event: ev.MemberLeft) -> None:
    """Give the seat to the next generation in this step, so that no other task can take the slot (I4).

    An escalated worker may have given up the slot. Its task then waits for another. A decision to
    reassign takes precedence over the cycle.
    """
    if turn.task.state is not State.ESCALATED or seat.presence is not Presence.ESCALATED:
        turn.fire(Trigger.CYCLED, Facts(seat=seat, key=event.key))
    elif seat.role == WORKER:
        trigger = Trigger.HANDED_OVER if turn.task.reassigned else Trigger.WORKER_CYCLED
        turn.fire(trigger, Facts(key=event.key))


def _lost(turn: TaskTurn, seat: Seat, reason: str, for_good: bool = False) -> None:
    """Handle the loss of a member, if the task still needs its seat."""
    state = turn.task.state
    again = for_good or not turn.restarts_left
    if seat.role == WORKER and state in (State.WORKING, State.ESCALATED):
        trigger = Trigger.WORKER_LOST_AGAIN if again else Trigger.WORKER_LOST
        if turn.task.reassigned and not for_good:
            trigger = Trigger.HANDED_OVER
        turn.fire(trigger, Facts(reason))
    elif seat.role != WORKER and state is State.REVIEWING and seat.verdict is None:
        trigger = Trigger.REVIEWER_LOST_AGAIN if again else Trigger.REVIEWER_LOST
        turn.fire(trigger, Facts(reason, seat=seat))


def _member_escalated(turn: TaskTurn, event: ev.MemberEscalated) -> None:
    seat = turn.task.seat(event.key)
    if seat is None or not seat.taken:
        return turn.late(event)
    turn.put_seat(replace(seat, presence=Presence.ESCALATED))
    if seat.role == WORKER and turn.task.state is State.WORKING:
        turn.fire(Trigger.WORKER_ESCALATED)
    elif seat.role != WORKER:
        _lost(turn, seat, f"its reviewer {seat.key} is escalated: {event.why}", for_good=True)
    return None


def _member_back(turn: TaskTurn, event: ev.MemberBack) -> None:
    seat = turn.task.seat(event.key)
    if seat is None or seat.presence is not Presence.ESCALATED or turn.task.state in _CLOSED:
        return turn.late(event)
    turn.put_seat(replace(seat, presence=Presence.HERE, request="", refusals=0))
    if seat.role == WORKER and turn.task.state is State.ESCALATED:
        turn.fire(Trigger.WORKER_BACK)
    elif turn.task.state is State.STANDING_DOWN:
        turn.fire(Trigger.ARRIVED)
    return None


# A member that returns after its task is over, or was handed on, does not concern the task any more.
_CLOSED: Final = frozenset((State.WAITING, State.COMPLETE, State.BLOCKED))


def _reassigned(turn: TaskTurn, event: ev.Reassigned) -> None:
    worker = turn.task.worker
    if worker is None or worker.key != event.key or worker.presence is not Presence.ESCALATED:
        return turn.late(event)
    return turn.fire(Trigger.REASSIGNED, Facts(key=event.key, by=event.by))


def _refused(turn: TaskTurn, event: ev.Refused) -> None:
    seat = turn.task.seat(event.key)
    if seat is None or not seat.taken or event.request_id != seat.request:
        return turn.late(event)
    seat = turn.put_seat(replace(seat, refusals=seat.refusals + 1))
    trigger = Trigger.REFUSED if seat.refusals < ASKS else Trigger.REFUSED_AGAIN
    return turn.fire(trigger, Facts(event.reason, seat=seat))


def _reviewed(turn: TaskTurn, event: ev.Reviewed) -> None:
    """Accept one verdict for each seat, for the commit under review, from the member in that seat (B9)."""
    task = turn.task
    seat = next((s for s in task.reviewers if s.key == event.key), None)
    known = event.verdict in (ev.PASS, ev.CHANGES)
    if seat is None or task.state is not State.REVIEWING or event.commit != task.commit or not known:
        return turn.late(event)
    if seat.verdict is not None:
        return turn.late(event)
    # The worker gets all comments of a round at once, so the round ends with the last verdict.
    verdicts = [event.verdict if s is seat else s.verdict for s in task.reviewers]
    if None in verdicts:
        trigger = Trigger.VERDICT
    elif ev.CHANGES in verdicts:
        trigger = _changes_trigger(turn)
    else:
        trigger = Trigger.PASSED
    return turn.fire(trigger, Facts(seat=seat, review=event))


def _changes_trigger(turn: TaskTurn) -> Trigger:
    worker = turn.task.worker
    if not turn.rounds_left:
        return Trigger.CHANGES_AGAIN
    there = worker is not None and worker.presence is Presence.HERE
    return Trigger.CHANGES if there else Trigger.CHANGES_NO_WORKER


def _merge_result(turn: TaskTurn, event: ev.Merged | ev.Conflicted | ev.MergeFailed) -> None:
    """Apply the result of a merge of this attempt and commit; others are late (D5)."""
    task = turn.task
    if (event.attempt, event.commit) != (task.attempt, task.commit) or task.state is not State.MERGING:
        turn.late(event)
    elif isinstance(event, ev.Merged):
        turn.fire(Trigger.MERGED)
    elif isinstance(event, ev.MergeFailed):
        turn.fire(Trigger.MERGE_FAILED, Facts(f"the reviewed commit could not be merged: {event.why}"))
    else:
        where = ", ".join(event.paths) or "the tree"
        words = f"Commit {event.commit} does not merge into the integration branch: conflicts in {where}."
        words = f"{words} Resolve them on your branch and signal done again."
        turn.fire(_changes_trigger(turn), Facts(words=words))


def _abort(turn: TaskTurn, event: ev.Abort) -> None:
    turn.fire(Trigger.ABORT, Facts(f"aborted by {event.by}: {event.reason}"))


def _retry(turn: TaskTurn, event: ev.Retry) -> None:
    if event.attempt != turn.task.attempt:
        return turn.late(event)
    return turn.fire(Trigger.RETRY)
