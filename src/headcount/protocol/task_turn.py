"""Hold one step of a task in progress, with one small function for each action of its table."""

# A `TaskTurn` is mutable, so that the rules can be written as a sequence of changes. Its result is a pair
# of values.
#
# An action changes the task or its seats, and adds effects: orders for the team (`Spawn`, `StandDown`),
# acts (`Merge`, `AskReview`) and journal entries. It never decides which row is taken; `task_step.py`
# does.
#
# `spawn_order` and `stand_down_order` are also used by `run.py`, which repeats an order that could not be
# carried out.

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from headcount.protocol import task_events as ev
from headcount.protocol.effects import Note, SetStatus
from headcount.protocol.events import ChangesRequested, Spawn, StandDown
from headcount.protocol.machine import interpret
from headcount.protocol.task import BOARD, TABLE, WORKER, Action, Presence, Seat, State, Task, Trigger
from headcount.value_classes import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.domain.policy import Policy
    from headcount.protocol.machine import Rule

# The reasons that members read in their stand-down requests. They are fixed by the interface.
REASON_WORKER: Final = "Task complete"
REASON_REVIEWER: Final = "Review complete"


@dataclass(frozen=True, slots=True)
class Facts:
    """The data of a trigger, for the actions of its row. Each trigger fills in what its actions read."""

    reason: str = ""
    words: str = ""
    commit: str = ""
    seat: Seat | None = None
    key: str = ""
    by: str = ""
    begin: ev.Begin | None = None
    review: ev.Reviewed | None = None


_NONE: Final = Facts()


class TaskTurn:
    """A task while one step changes it."""

    def __init__(self, task: Task, policy: Policy) -> None:
        self.task = task
        self.policy = policy
        self.effects: list[ev.TaskEffect] = []
        self.listed = listed(task)

    def put(self, task: Task) -> None:
        self.task = task

    def put_seat(self, seat: Seat) -> Seat:
        """Replace the seat of this name."""
        seats = tuple(seat if s.name == seat.name else s for s in self.task.seats)
        self.task = replace(self.task, seats=seats)
        return seat

    def note(self, kind: str, **data: object) -> None:
        self.effects.append(Note(kind, self.task.id, {"attempt": self.task.attempt, **data}))

    def late(self, event: ev.TaskEvent) -> None:
        self.note("task_late", event=type(event).__name__, state=str(self.task.state))

    def fire(self, trigger: Trigger, facts: Facts = _NONE) -> None:
        """Move by the table. A trigger without a row changes nothing."""
        before = self.task.state

        def move(rule: Rule[State, Action]) -> None:
            self.task = replace(self.task, state=rule.to)
            self.note("task_moved", **{"from": str(before), "to": str(rule.to), "cue": str(trigger)})

        interpret(
            TABLE,
            before,
            trigger,
            ignore=lambda: self.note("task_late", cue=str(trigger), state=str(before)),
            move=move,
            act=lambda action: ACTIONS[action](self, facts),
        )

    def go_on(self) -> None:
        if self.task.state is State.STANDING_DOWN and self.task.over:
            self.fire(_OVER[self.task.aim or State.BLOCKED])

    def result(self) -> tuple[Task, tuple[ev.TaskEffect, ...]]:
        """Return the task and its effects, with a new status for the task list if that changed."""
        now = listed(self.task)
        return self.task, (*self.effects, *(() if now == self.listed else (now,)))

    @property
    def rounds_left(self) -> bool:
        return self.task.rounds < self.policy.review_rounds and not self.task.aborted

    @property
    def restarts_left(self) -> bool:
        return self.task.restarts < self.policy.task_restarts


def listed(task: Task) -> SetStatus:
    """Return the task as the list shows it. Its owner is its worker, while that is there."""
    owner = task.worker.key if task.worker and task.worker.taken else None
    reason = task.reason if task.state is State.BLOCKED else ""
    return SetStatus(task.id, task.attempt, BOARD[task.state], owner, reason)


_OVER: Final = {
    State.COMPLETE: Trigger.OVER_COMPLETE,
    State.BLOCKED: Trigger.OVER_BLOCKED,
    State.WAITING: Trigger.OVER_AGAIN,
}


# --- the actions --------------------------------------------------------------------------------------------


def _start_worker(turn: TaskTurn, facts: Facts) -> None:
    begin = facts.begin
    assert begin is not None
    worker = Seat(WORKER, begin.worker)
    reviewers = tuple(Seat(role, name) for role, name in begin.reviewers)
    turn.put(replace(
        turn.task, slot=begin.slot, seats=(worker, *reviewers), commit="", aim=None, reason="",
        reassigned=False, unreviewed=False,
    ))  # fmt: skip
    _order(turn, worker)


def _order(turn: TaskTurn, seat: Seat) -> None:
    """Order a member for a seat. A worker stays after its done signal until the task releases it."""
    turn.put_seat(replace(seat, key=None, presence=Presence.ORDERED, request="", refusals=0))
    turn.effects.append(spawn_order(turn.task, seat))


def spawn_order(task: Task, seat: Seat) -> Spawn:
    """Return the order that starts a member for this seat."""
    return Spawn(seat.name, seat.role, task.id, awaits_review=seat.role == WORKER, by=ev.LEAD)


def _keep_commit(turn: TaskTurn, facts: Facts) -> None:
    turn.put(replace(turn.task, commit=facts.commit))


def _ask_reviewers(turn: TaskTurn, _: Facts) -> None:
    """Show the new commit to reviewers of the last round, and start those that are missing."""
    task = turn.task
    for seat in task.reviewers:
        fresh = turn.put_seat(replace(seat, verdict=None, words="", said_by=""))
        if seat.presence is Presence.HERE:
            turn.effects.append(ev.AskReview(task.id, task.attempt, str(seat.key), task.commit))
        elif not seat.taken:
            _order(turn, replace(fresh, follows=""))


def _replace_reviewer(turn: TaskTurn, facts: Facts) -> None:
    _order(turn, replace(_seat(facts), follows=""))


def _start_successor(turn: TaskTurn, facts: Facts) -> None:
    """Order the successor for a seat. An earlier verdict stays; a missing one is due from it."""
    seat = _seat(facts)
    _order(turn, turn.put_seat(replace(seat, follows=str(seat.key))))


def _seat(facts: Facts) -> Seat:
    assert facts.seat is not None
    return facts.seat


def _say_unreviewed(turn: TaskTurn, _: Facts) -> None:
    turn.put(replace(turn.task, unreviewed=True))
    turn.note("task_unreviewed", commit=turn.task.commit)


def _record_verdict(turn: TaskTurn, facts: Facts) -> None:
    given = facts.review
    assert given is not None
    turn.put_seat(replace(_seat(facts), verdict=given.verdict, words=given.words, said_by=given.key))
    turn.note("task_reviewed", key=given.key, commit=given.commit, verdict=given.verdict, words=given.words)


def _count_round(turn: TaskTurn, facts: Facts) -> None:
    task = turn.task
    # `sent_back` lets the rules recognise the same commit when it is offered again.
    words = facts.words or _verdicts(task)
    turn.put(replace(task, rounds=task.rounds + 1, sent_back=task.commit, words=words))


def _verdicts(task: Task) -> str:
    """Return the comments of reviewers that requested changes, each under its name."""
    asking = (seat for seat in task.reviewers if seat.verdict == ev.CHANGES)
    return "\n\n".join(f"{seat.role} ({seat.said_by}): {seat.words}" for seat in asking)


def _send_back(turn: TaskTurn, _: Facts) -> None:
    task = turn.task
    text = f"Changes requested, round {task.rounds} of {turn.policy.review_rounds}.\n\n{task.words}"
    turn.effects.append(ChangesRequested(str(task.worker and task.worker.key), text))


def _count_restart(turn: TaskTurn, facts: Facts) -> None:
    turn.put(replace(turn.task, restarts=turn.task.restarts + 1))
    turn.note("task_restarted", restarts=turn.task.restarts, why=facts.reason)


def _count_cycle(turn: TaskTurn, facts: Facts) -> None:
    turn.put(replace(turn.task, cycles=turn.task.cycles + 1))
    turn.note("task_cycled", key=facts.key, cycles=turn.task.cycles)


def _mark_reassigned(turn: TaskTurn, facts: Facts) -> None:
    turn.put(replace(turn.task, reassigned=True))
    turn.note("task_reassigned", key=facts.key, by=facts.by)


def _mark_aborted(turn: TaskTurn, facts: Facts) -> None:
    """Record the abort. A merge still counts, but no member is started any more."""
    turn.put(replace(turn.task, aborted=facts.reason))
    if turn.task.aim is State.WAITING:
        turn.put(replace(turn.task, aim=State.BLOCKED, reason=facts.reason))


def _pass_over(turn: TaskTurn, _: Facts) -> None:
    turn.put(replace(turn.task, passed_over=turn.task.worker.name if turn.task.worker else ""))


def _merge(turn: TaskTurn, _: Facts) -> None:
    turn.effects.append(ev.Merge(turn.task.id, turn.task.attempt, turn.task.commit))


def _aim(state: State) -> Callable[[TaskTurn, Facts], None]:
    def action(turn: TaskTurn, _: Facts) -> None:
        turn.put(replace(turn.task, aim=state))

    return action


def _aim_blocked(turn: TaskTurn, facts: Facts) -> None:
    task = turn.task
    words = facts.words or _verdicts(task)
    rounds = f"changes requested once more than review_rounds = {task.rounds} allows: {words}"
    turn.put(replace(task, aim=State.BLOCKED, reason=facts.reason or task.aborted or rounds))
    turn.note("task_blocked", reason=turn.task.reason)


def _dismiss(turn: TaskTurn, _: Facts) -> None:
    """Ask all members to stand down, each with its own reason, unless they are asked already."""
    for seat in turn.task.seats:
        if seat.presence is Presence.HERE and not seat.request:
            _ask(turn, seat)


def _ask(turn: TaskTurn, seat: Seat) -> None:
    # Each request of a seat has its own id, so that an answer to an earlier one is late.
    request = f"{turn.task.id}/{seat.key}/{seat.asked + 1}"
    seat = turn.put_seat(replace(seat, asked=seat.asked + 1, request=request))
    turn.effects.append(stand_down_order(seat))


def stand_down_order(seat: Seat) -> StandDown:
    """Return the stand-down order for this seat."""
    reason = REASON_WORKER if seat.role == WORKER else REASON_REVIEWER
    return StandDown(seat.request, (seat.name,), reason, by=ev.LEAD)


def _ask_again(turn: TaskTurn, facts: Facts) -> None:
    _ask(turn, _seat(facts))


def _escalate(turn: TaskTurn, facts: Facts) -> None:
    """Escalate a refusal. The seat changes when the escalation is open; a policy may decide it at once."""
    seat = _seat(facts)
    why = f"it refused to stand down {seat.refusals} times: {facts.reason}"
    turn.effects.append(ev.Escalate(turn.task.id, turn.task.attempt, str(seat.key), why))


def _next_attempt(turn: TaskTurn, _: Facts) -> None:
    """Start the next attempt. Only id, dependencies and the wanted worker are carried over."""
    task = turn.task
    turn.task = Task(task.id, task.depends_on, task.wants, task.state, task.attempt + 1)


ACTIONS: Final[dict[Action, Callable[[TaskTurn, Facts], None]]] = {
    Action.START_WORKER: _start_worker,
    Action.ASK_REVIEWERS: _ask_reviewers,
    Action.REPLACE_REVIEWER: _replace_reviewer,
    Action.START_SUCCESSOR: _start_successor,
    Action.KEEP_COMMIT: _keep_commit,
    Action.SAY_UNREVIEWED: _say_unreviewed,
    Action.SEND_BACK: _send_back,
    Action.COUNT_ROUND: _count_round,
    Action.COUNT_RESTART: _count_restart,
    Action.COUNT_CYCLE: _count_cycle,
    Action.RECORD_VERDICT: _record_verdict,
    Action.MARK_REASSIGNED: _mark_reassigned,
    Action.MARK_ABORTED: _mark_aborted,
    Action.PASS_OVER: _pass_over,
    Action.MERGE: _merge,
    Action.AIM_COMPLETE: _aim(State.COMPLETE),
    Action.AIM_BLOCKED: _aim_blocked,
    Action.AIM_AGAIN: _aim(State.WAITING),
    Action.DISMISS: _dismiss,
    Action.ASK_AGAIN: _ask_again,
    Action.ESCALATE: _escalate,
    Action.NEXT_ATTEMPT: _next_attempt,
}
