"""How one task of a run comes to its end: states, triggers, actions, one table, and the values that move.

    waiting → working → reviewing → merging → standing_down → complete
                 ↑          │          │            │
                 └ changes ─┴─ conflict┘            └→ blocked, or waiting for another worker

A task has **seats**: its worker and, where the definition has them, its reviewers. A seat is taken by one
incarnation at a time; a cycled member leaves it to its next generation. Like a member, a task moves only by
a **trigger**: `task_step.py` knows the policy and who is there, and picks among triggers that differ only
by that (`changes`, `changes_no_worker`, `changes_again`). So the table has no conditions (`machine.py`).

What counts is never somebody's word for it:

- *done* is a clean inspection with at least one commit that was not sent back before (C19, C22);
- *reviewed* is one pass from every reviewer's seat for the very commit that is merged. A verdict from anyone
  else, for another commit, or a second one from the same seat changes nothing (B9);
- *over* is every seat gone, stuck or escalated: only then is the slot free for the next task (I4).

Laws of the table, which the tests check against the table itself:

1. `complete` is reached from `standing_down` only, and `merging` from a review that passed, or from work that
   has no reviewers and says so.
2. Every row into `standing_down` says what comes after (`aim_*`) and then dismisses whoever is there.
3. Everything that goes round is counted: a row that sends back counts a round, a row that wants another
   member counts a restart, a round or a cycle, or follows somebody's decision.
4. `abort` has a row in every state that is not an end.

A trigger without a row is late or strange. It changes nothing, and the journal says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from headcount.protocol.machine import Rule


class State(StrEnum):
    WAITING = "waiting"
    WORKING = "working"
    ESCALATED = "escalated"
    REVIEWING = "reviewing"
    MERGING = "merging"
    STANDING_DOWN = "standing_down"
    COMPLETE = "complete"
    BLOCKED = "blocked"


class Trigger(StrEnum):
    # from the lead
    BEGIN = "begin"
    ABORT = "abort"
    RETRY = "retry"
    # its worker
    DONE = "done"
    DONE_UNREVIEWED = "done_unreviewed"
    EMPTY_HANDED = "empty_handed"
    EMPTY_HANDED_AGAIN = "empty_handed_again"
    WORKER_LOST = "worker_lost"
    WORKER_LOST_AGAIN = "worker_lost_again"
    WORKER_ESCALATED = "worker_escalated"
    WORKER_BACK = "worker_back"
    REASSIGNED = "reassigned"
    HANDED_OVER = "handed_over"
    # its reviewers
    VERDICT = "verdict"
    PASSED = "passed"
    CHANGES = "changes"
    CHANGES_NO_WORKER = "changes_no_worker"
    CHANGES_AGAIN = "changes_again"
    REVIEWER_LOST = "reviewer_lost"
    REVIEWER_LOST_AGAIN = "reviewer_lost_again"
    # the merge
    MERGED = "merged"
    MERGE_FAILED = "merge_failed"
    # standing its members down
    ARRIVED = "arrived"
    REFUSED = "refused"
    REFUSED_AGAIN = "refused_again"
    OVER_COMPLETE = "over_complete"
    OVER_BLOCKED = "over_blocked"
    OVER_AGAIN = "over_again"
    # cycling one of them
    CYCLED = "cycled"
    WORKER_CYCLED = "worker_cycled"


class Action(StrEnum):
    """What goes with a move. Each is one small function in `task_turn.py`. A row has them in this order."""

    # what happened is written down
    RECORD_VERDICT = "record_verdict"
    KEEP_COMMIT = "keep_commit"
    SAY_UNREVIEWED = "say_unreviewed"
    COUNT_ROUND = "count_round"
    COUNT_RESTART = "count_restart"
    COUNT_CYCLE = "count_cycle"
    MARK_REASSIGNED = "mark_reassigned"
    MARK_ABORTED = "mark_aborted"
    PASS_OVER = "pass_over"
    NEXT_ATTEMPT = "next_attempt"
    # where it goes
    AIM_COMPLETE = "aim_complete"
    AIM_BLOCKED = "aim_blocked"
    AIM_AGAIN = "aim_again"
    # what comes next is begun
    START_WORKER = "start_worker"
    START_SUCCESSOR = "start_successor"
    ASK_REVIEWERS = "ask_reviewers"
    REPLACE_REVIEWER = "replace_reviewer"
    SEND_BACK = "send_back"
    MERGE = "merge"
    DISMISS = "dismiss"
    ASK_AGAIN = "ask_again"
    ESCALATE = "escalate"


def _rules() -> dict[tuple[State, Trigger], Rule[State, Action]]:
    s, c, d, r = State, Trigger, Action, Rule[State, Action]
    return {
        # waiting: for what it depends on, a slot and a worker
        (s.WAITING, c.BEGIN): r(s.WORKING, (d.START_WORKER,)),
        (s.WAITING, c.ABORT): r(s.BLOCKED, (d.AIM_BLOCKED,)),
        # working: its worker is at it, or is being sent back by the witness
        (s.WORKING, c.DONE): r(s.REVIEWING, (d.KEEP_COMMIT, d.ASK_REVIEWERS)),
        (s.WORKING, c.DONE_UNREVIEWED): r(s.MERGING, (d.KEEP_COMMIT, d.SAY_UNREVIEWED, d.MERGE)),
        (s.WORKING, c.EMPTY_HANDED): r(s.WORKING, (d.COUNT_ROUND, d.SEND_BACK)),
        (s.WORKING, c.EMPTY_HANDED_AGAIN): r(s.STANDING_DOWN, (d.AIM_BLOCKED, d.DISMISS)),
        (s.WORKING, c.WORKER_LOST): r(s.STANDING_DOWN, (d.COUNT_RESTART, d.AIM_AGAIN, d.DISMISS)),
        (s.WORKING, c.WORKER_LOST_AGAIN): r(s.STANDING_DOWN, (d.AIM_BLOCKED, d.DISMISS)),
        (s.WORKING, c.REVIEWER_LOST_AGAIN): r(s.STANDING_DOWN, (d.AIM_BLOCKED, d.DISMISS)),
        (s.WORKING, c.WORKER_ESCALATED): r(s.ESCALATED),
        # It was taken from its worker; then somebody waited for the salvage that had failed.
        (s.WORKING, c.HANDED_OVER): r(s.STANDING_DOWN, (d.PASS_OVER, d.AIM_AGAIN, d.DISMISS)),
        (s.WORKING, c.CYCLED): r(s.WORKING, (d.COUNT_CYCLE, d.START_SUCCESSOR)),
        (s.WORKING, c.ABORT): r(s.STANDING_DOWN, (d.AIM_BLOCKED, d.DISMISS)),
        # escalated: somebody must decide about its worker; what else is in the run goes on
        (s.ESCALATED, c.WORKER_BACK): r(s.WORKING),
        (s.ESCALATED, c.REASSIGNED): r(s.ESCALATED, (d.MARK_REASSIGNED,)),
        (s.ESCALATED, c.HANDED_OVER): r(s.STANDING_DOWN, (d.PASS_OVER, d.AIM_AGAIN, d.DISMISS)),
        (s.ESCALATED, c.WORKER_LOST): r(s.STANDING_DOWN, (d.COUNT_RESTART, d.AIM_AGAIN, d.DISMISS)),
        (s.ESCALATED, c.WORKER_LOST_AGAIN): r(s.STANDING_DOWN, (d.AIM_BLOCKED, d.DISMISS)),
        (s.ESCALATED, c.CYCLED): r(s.ESCALATED, (d.COUNT_CYCLE, d.START_SUCCESSOR)),
        # Its slot may be another task's by now: its successor waits for one like everybody.
        (s.ESCALATED, c.WORKER_CYCLED): r(s.STANDING_DOWN, (d.COUNT_CYCLE, d.AIM_AGAIN, d.DISMISS)),
        (s.ESCALATED, c.ABORT): r(s.STANDING_DOWN, (d.AIM_BLOCKED, d.DISMISS)),
        # reviewing: every reviewer looks at one and the same commit
        (s.REVIEWING, c.VERDICT): r(s.REVIEWING, (d.RECORD_VERDICT,)),
        (s.REVIEWING, c.PASSED): r(s.MERGING, (d.RECORD_VERDICT, d.MERGE)),
        (s.REVIEWING, c.CHANGES): r(s.WORKING, (d.RECORD_VERDICT, d.COUNT_ROUND, d.SEND_BACK)),
        (s.REVIEWING, c.CHANGES_NO_WORKER): r(
            s.STANDING_DOWN, (d.RECORD_VERDICT, d.COUNT_ROUND, d.AIM_AGAIN, d.DISMISS)
        ),
        (s.REVIEWING, c.CHANGES_AGAIN): r(s.STANDING_DOWN, (d.RECORD_VERDICT, d.AIM_BLOCKED, d.DISMISS)),
        (s.REVIEWING, c.REVIEWER_LOST): r(s.REVIEWING, (d.COUNT_RESTART, d.REPLACE_REVIEWER)),
        (s.REVIEWING, c.REVIEWER_LOST_AGAIN): r(s.STANDING_DOWN, (d.AIM_BLOCKED, d.DISMISS)),
        (s.REVIEWING, c.CYCLED): r(s.REVIEWING, (d.COUNT_CYCLE, d.START_SUCCESSOR)),
        (s.REVIEWING, c.ABORT): r(s.STANDING_DOWN, (d.AIM_BLOCKED, d.DISMISS)),
        # merging: the reviewed commit into the integration branch; a conflict is "changes requested".
        # Not broken off by an abort: it is short, and half of it cannot be taken back.
        (s.MERGING, c.MERGED): r(s.STANDING_DOWN, (d.AIM_COMPLETE, d.DISMISS)),
        (s.MERGING, c.CHANGES): r(s.WORKING, (d.COUNT_ROUND, d.SEND_BACK)),
        (s.MERGING, c.CHANGES_NO_WORKER): r(s.STANDING_DOWN, (d.COUNT_ROUND, d.AIM_AGAIN, d.DISMISS)),
        (s.MERGING, c.CHANGES_AGAIN): r(s.STANDING_DOWN, (d.AIM_BLOCKED, d.DISMISS)),
        (s.MERGING, c.MERGE_FAILED): r(s.STANDING_DOWN, (d.AIM_BLOCKED, d.DISMISS)),
        (s.MERGING, c.CYCLED): r(s.MERGING, (d.COUNT_CYCLE, d.START_SUCCESSOR)),
        (s.MERGING, c.ABORT): r(s.MERGING, (d.MARK_ABORTED,)),
        # standing_down: all asked at once; over when every seat is gone, stuck or escalated (I4)
        (s.STANDING_DOWN, c.ARRIVED): r(s.STANDING_DOWN, (d.DISMISS,)),
        (s.STANDING_DOWN, c.REFUSED): r(s.STANDING_DOWN, (d.ASK_AGAIN,)),
        (s.STANDING_DOWN, c.REFUSED_AGAIN): r(s.STANDING_DOWN, (d.ESCALATE,)),
        (s.STANDING_DOWN, c.ABORT): r(s.STANDING_DOWN, (d.MARK_ABORTED,)),
        (s.STANDING_DOWN, c.OVER_COMPLETE): r(s.COMPLETE),
        (s.STANDING_DOWN, c.OVER_BLOCKED): r(s.BLOCKED),
        (s.STANDING_DOWN, c.OVER_AGAIN): r(s.WAITING),
        # blocked: says why, holds only its dependants, and stays so until somebody asks for it again (D7)
        (s.BLOCKED, c.RETRY): r(s.WAITING, (d.NEXT_ATTEMPT,)),
    }


TABLE: Final = _rules()

WORKER: Final = "worker"  # the role of the first seat; the others are the reviewers'

ENDS: Final = frozenset((State.COMPLETE, State.BLOCKED))
STAFFED: Final = frozenset((State.WORKING, State.ESCALATED, State.REVIEWING, State.MERGING))
UNDER_WAY: Final = frozenset((State.WORKING, State.REVIEWING, State.MERGING, State.STANDING_DOWN))


class Presence(StrEnum):
    """What is known about whoever sits in a seat."""

    EMPTY = "empty"  # nobody was started yet
    ORDERED = "ordered"  # its start is ordered, its generation not known yet
    HERE = "here"
    GONE = "gone"
    STUCK = "stuck"
    ESCALATED = "escalated"


@dataclass(frozen=True, slots=True)
class Seat:
    """One place in a task, and the incarnation that has it."""

    role: str
    name: str
    key: str | None = None
    presence: Presence = Presence.EMPTY
    verdict: str | None = None  # pass or changes, for the task's commit
    words: str = ""  # what came with the verdict
    said_by: str = ""  # who gave it; not who sits here now, if that one was cycled since
    follows: str = ""  # the incarnation that handed over to whoever sits here
    asked: int = 0  # how often it was asked to stand down: each time has a request id of its own
    request: str = ""  # the one that is out
    refusals: int = 0  # how often it said no, since it was last let off

    @property
    def taken(self) -> bool:
        """Somebody is there, or is on the way."""
        return self.presence in (Presence.ORDERED, Presence.HERE)


@dataclass(frozen=True, slots=True)
class Task:
    """One task of a run, as the rules see it."""

    id: str
    depends_on: tuple[str, ...] = ()
    wants: str | None = None  # the worker that the definition names; None: the next free one
    state: State = State.WAITING
    attempt: int = 1  # a retry is a new attempt, and what an older one left behind is late (D5, D6)
    slot: int = 0
    seats: tuple[Seat, ...] = ()  # the worker's first
    commit: str = ""  # under review, or to be merged
    sent_back: str = ""  # the commit that changes were requested for: offered again, it is nothing new
    rounds: int = 0  # how often it was sent back
    restarts: int = 0  # how often one of its members was lost and replaced
    cycles: int = 0  # how often one of its members handed over to its next generation
    base: str = ""  # where the next worker starts: the last one's salvage or commit
    words: str = ""  # why it was sent back, for whoever works on it next
    passed_over: str = ""  # the worker it was taken from by a decision
    reassigned: bool = False
    aborted: str = ""  # why, once somebody asked to end the run
    aim: State | None = None  # what comes after standing_down
    reason: str = ""  # why it is, or is about to be, blocked
    unreviewed: bool = False

    @property
    def worker(self) -> Seat | None:
        return self.seats[0] if self.seats else None

    @property
    def reviewers(self) -> tuple[Seat, ...]:
        return self.seats[1:]

    @property
    def over(self) -> bool:
        """Nobody of this task is there, or on the way: gone, stuck or escalated (I4)."""
        return not any(seat.taken for seat in self.seats)

    @property
    def staffed(self) -> bool:
        """Whoever is cycled now has a successor: the task goes on, and still wants every seat of it."""
        return self.state in STAFFED and not self.aborted

    @property
    def holds_slot(self) -> bool:
        return self.state in UNDER_WAY or (self.state is State.ESCALATED and not self.over)

    def seat(self, key: str) -> Seat | None:
        return next((seat for seat in self.seats if seat.key == key), None)


# What the task list shows; `standing_down` is still in progress, because complete is said last (5.6).
BOARD: Final = {
    State.WAITING: "pending",
    State.WORKING: "in_progress",
    State.ESCALATED: "in_progress",
    State.REVIEWING: "in_review",
    State.MERGING: "in_review",
    State.STANDING_DOWN: "in_progress",
    State.COMPLETE: "complete",
    State.BLOCKED: "blocked",
}
