"""One step of a task in the making: the task while it changes, and the small deeds that go with each move.

Mutable inside, so that the rules read as what happens; what leaves it are values again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from headcount.protocol import task_events as ev
from headcount.protocol.effects import Note
from headcount.protocol.events import ChangesRequested, Spawn, StandDown
from headcount.protocol.task import BOARD, TABLE, WORKER, Cue, Do, Presence, Seat, State, Task

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.domain.policy import Policy

REASON_WORKER: Final = "Task complete"
REASON_REVIEWER: Final = "Review complete"

Facts = dict[str, Any]


class TaskTurn:
    """One step in the making: the task while it changes."""

    def __init__(self, task: Task, policy: Policy) -> None:
        self.task = task
        self.policy = policy
        self.effects: list[ev.TaskEffect] = []
        self.listed = listed(task)

    def put(self, **changes: Any) -> None:
        self.task = replace(self.task, **changes)

    def put_seat(self, seat: Seat, **changes: Any) -> Seat:
        changed = replace(seat, **changes)
        self.put(seats=tuple(changed if s.name == seat.name else s for s in self.task.seats))
        return changed

    def note(self, kind: str, **data: object) -> None:
        self.effects.append(Note(kind, self.task.id, {"attempt": self.task.attempt, **data}))

    def late(self, event: ev.TaskEvent) -> None:
        self.note("task_late", event=type(event).__name__, state=str(self.task.state))

    def cue(self, cue: Cue, event: ev.TaskEvent | None = None, **facts: Any) -> None:
        """Move by the table; a cue without a row changes nothing."""
        before = self.task.state
        rule = TABLE.get((before, cue))
        if rule is None:
            self.note("task_late", cue=str(cue), state=str(before))
            return
        self.put(state=rule.to)
        self.note("task_moved", **{"from": str(before), "to": str(rule.to), "cue": str(cue)})
        facts["event"] = event
        for deed in rule.do:
            _DEEDS[deed](self, facts)

    def go_on(self) -> None:
        if self.task.state is State.STANDING_DOWN and self.task.over:
            self.cue(_OVER[self.task.aim or State.BLOCKED])

    def result(self) -> tuple[Task, tuple[ev.TaskEffect, ...]]:
        """The list is told last, and only what changed."""
        now = listed(self.task)
        return self.task, (*self.effects, *(() if now == self.listed else (now,)))

    @property
    def rounds_left(self) -> bool:
        return self.task.rounds < self.policy.review_rounds and not self.task.aborted

    @property
    def restarts_left(self) -> bool:
        return self.task.restarts < self.policy.task_restarts


def listed(task: Task) -> ev.SetStatus:
    """The owner goes with the worker: the list takes tasks from whoever is gone by itself, too."""
    owner = task.worker.key if task.worker and task.worker.taken else None
    reason = task.reason if task.state is State.BLOCKED else ""
    return ev.SetStatus(task.id, task.attempt, BOARD[task.state], owner, reason)


_OVER: Final = {
    State.COMPLETE: Cue.OVER_COMPLETE,
    State.BLOCKED: Cue.OVER_BLOCKED,
    State.WAITING: Cue.OVER_AGAIN,
}


# --- the deeds ---------------------------------------------------------------------------------------------


def _start_worker(turn: TaskTurn, facts: Facts) -> None:
    event: ev.Begin = facts["event"]
    worker = Seat(WORKER, event.worker)
    reviewers = tuple(Seat(role, name) for role, name in event.reviewers)
    turn.put(
        slot=event.slot, seats=(worker, *reviewers), commit="", aim=None, reason="", reassigned=False,
        unreviewed=False,
    )  # fmt: skip
    _order(turn, worker)


def _order(turn: TaskTurn, seat: Seat) -> None:
    """A worker always waits to be told: done is not done before the task says so."""
    turn.put_seat(seat, key=None, presence=Presence.ORDERED, request="", refusals=0)
    turn.effects.append(spawn_order(turn.task, seat))


def spawn_order(task: Task, seat: Seat) -> Spawn:
    """For whoever is to take this seat; given again when it could not be carried out at once."""
    return Spawn(seat.name, seat.role, task.id, awaits_review=seat.role == WORKER, by=ev.LEAD)


def _keep_commit(turn: TaskTurn, facts: Facts) -> None:
    turn.put(commit=facts["commit"])


def _ask_reviewers(turn: TaskTurn, _: Facts) -> None:
    """Whoever reviewed the last round is there still, and is shown the new commit; the others are started."""
    task = turn.task
    for seat in task.reviewers:
        fresh = turn.put_seat(seat, verdict=None, words="", said_by="")
        if seat.presence is Presence.HERE:
            turn.effects.append(ev.AskReview(task.id, task.attempt, str(seat.key), task.commit))
        elif not seat.taken:
            _order(turn, replace(fresh, follows=""))


def _replace_reviewer(turn: TaskTurn, facts: Facts) -> None:
    _order(turn, replace(facts["seat"], follows=""))


def _start_successor(turn: TaskTurn, facts: Facts) -> None:
    """A verdict that was given stays given; one that is still wanted is wanted of the successor."""
    seat: Seat = facts["seat"]
    _order(turn, turn.put_seat(seat, follows=str(seat.key)))


def _say_unreviewed(turn: TaskTurn, _: Facts) -> None:
    turn.put(unreviewed=True)
    turn.note("task_unreviewed", commit=turn.task.commit)


def _record_verdict(turn: TaskTurn, facts: Facts) -> None:
    event: ev.Reviewed = facts["event"]
    turn.put_seat(facts["seat"], verdict=event.verdict, words=event.words, said_by=event.key)
    turn.note("task_reviewed", key=event.key, commit=event.commit, verdict=event.verdict, words=event.words)


def _count_round(turn: TaskTurn, facts: Facts) -> None:
    task = turn.task
    turn.put(rounds=task.rounds + 1, sent_back=task.commit, words=facts.get("words") or _verdicts(task))


def _verdicts(task: Task) -> str:
    """The reviewers' words, each under its name."""
    asking = (seat for seat in task.reviewers if seat.verdict == ev.CHANGES)
    return "\n\n".join(f"{seat.role} ({seat.said_by}): {seat.words}" for seat in asking)


def _send_back(turn: TaskTurn, _: Facts) -> None:
    task = turn.task
    text = f"Changes requested, round {task.rounds} of {turn.policy.review_rounds}.\n\n{task.words}"
    turn.effects.append(ChangesRequested(str(task.worker and task.worker.key), text))


def _count_restart(turn: TaskTurn, facts: Facts) -> None:
    turn.put(restarts=turn.task.restarts + 1)
    turn.note("task_restarted", restarts=turn.task.restarts, why=facts["reason"])


def _count_cycle(turn: TaskTurn, facts: Facts) -> None:
    turn.put(cycles=turn.task.cycles + 1)
    turn.note("task_cycled", key=facts["event"].key, cycles=turn.task.cycles)


def _mark_reassigned(turn: TaskTurn, facts: Facts) -> None:
    turn.put(reassigned=True)
    turn.note("task_reassigned", key=facts["event"].key, by=facts["event"].by)


def _mark_aborted(turn: TaskTurn, facts: Facts) -> None:
    """What is merged stays merged and counts; but nobody is started any more."""
    turn.put(aborted=facts["reason"])
    if turn.task.aim is State.WAITING:
        turn.put(aim=State.BLOCKED, reason=facts["reason"])


def _pass_over(turn: TaskTurn, _: Facts) -> None:
    turn.put(passed_over=turn.task.worker.name if turn.task.worker else "")


def _merge(turn: TaskTurn, _: Facts) -> None:
    turn.effects.append(ev.Merge(turn.task.id, turn.task.attempt, turn.task.commit))


def _aim(state: State) -> Callable[[TaskTurn, Facts], None]:
    def deed(turn: TaskTurn, _: Facts) -> None:
        turn.put(aim=state)

    return deed


def _aim_blocked(turn: TaskTurn, facts: Facts) -> None:
    task = turn.task
    words = facts.get("words") or _verdicts(task)
    reason = facts.get("reason") or task.aborted
    turn.put(
        aim=State.BLOCKED,
        reason=reason or f"changes requested once more than review_rounds = {task.rounds} allows: {words}",
    )
    turn.note("task_blocked", reason=turn.task.reason)


def _dismiss(turn: TaskTurn, _: Facts) -> None:
    """All at once, each with its own reason; whoever was asked already is not asked twice."""
    for seat in turn.task.seats:
        if seat.presence is Presence.HERE and not seat.request:
            _ask(turn, seat)


def _ask(turn: TaskTurn, seat: Seat) -> None:
    request = f"{turn.task.id}/{seat.key}/{seat.asked + 1}"
    seat = turn.put_seat(seat, asked=seat.asked + 1, request=request)
    turn.effects.append(stand_down_order(seat))


def stand_down_order(seat: Seat) -> StandDown:
    """The request that is out for this seat."""
    reason = REASON_WORKER if seat.role == WORKER else REASON_REVIEWER
    return StandDown(seat.request, (seat.name,), reason, by=ev.LEAD)


def _ask_again(turn: TaskTurn, facts: Facts) -> None:
    _ask(turn, facts["seat"])


def _escalate(turn: TaskTurn, facts: Facts) -> None:
    """It keeps its seat until the escalation is open: a policy may decide it at once, and it is stopped."""
    seat: Seat = facts["seat"]
    why = f"it refused to stand down {seat.refusals} times: {facts['event'].reason}"
    turn.effects.append(ev.Escalate(turn.task.id, turn.task.attempt, str(seat.key), why))


def _next_attempt(turn: TaskTurn, _: Facts) -> None:
    """Fresh: nothing of the failed attempt is carried over but its number and its place."""
    task = turn.task
    turn.task = Task(task.id, task.depends_on, task.wants, task.state, task.attempt + 1)


_DEEDS: Final[dict[Do, Callable[[TaskTurn, Facts], None]]] = {
    Do.START_WORKER: _start_worker,
    Do.ASK_REVIEWERS: _ask_reviewers,
    Do.REPLACE_REVIEWER: _replace_reviewer,
    Do.START_SUCCESSOR: _start_successor,
    Do.KEEP_COMMIT: _keep_commit,
    Do.SAY_UNREVIEWED: _say_unreviewed,
    Do.SEND_BACK: _send_back,
    Do.COUNT_ROUND: _count_round,
    Do.COUNT_RESTART: _count_restart,
    Do.COUNT_CYCLE: _count_cycle,
    Do.RECORD_VERDICT: _record_verdict,
    Do.MARK_REASSIGNED: _mark_reassigned,
    Do.MARK_ABORTED: _mark_aborted,
    Do.PASS_OVER: _pass_over,
    Do.MERGE: _merge,
    Do.AIM_COMPLETE: _aim(State.COMPLETE),
    Do.AIM_BLOCKED: _aim_blocked,
    Do.AIM_AGAIN: _aim(State.WAITING),
    Do.DISMISS: _dismiss,
    Do.ASK_AGAIN: _ask_again,
    Do.ESCALATE: _escalate,
    Do.NEXT_ATTEMPT: _next_attempt,
}
