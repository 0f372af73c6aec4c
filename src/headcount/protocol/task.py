"""Define how one task of a run ends: states, triggers, actions, one table, and the values."""

#     waiting -> working -> reviewing -> merging -> standing_down -> complete
#                  ^           |            |             |
#                  +- changes -+- conflict -+             +-> blocked, or waiting for another worker
#
# A task has **seats**: its worker and, if the definition has them, its reviewers. One incarnation at a
# time has a seat. A cycled member leaves it to its next generation. Like a member, a task changes state
# only by a **trigger**. `task_step.py` knows the policy and who is there, and chooses among triggers that
# differ only by that (`changes`, `changes_no_worker`, `changes_again`). The table has no conditions
# (`machine.py`).
#
# Statements of members are never proof:
#
# - *done* is a clean inspection with at least one commit that was not sent back before (C19, C22);
# - *reviewed* is one pass from every reviewer's seat for the commit that is merged. A verdict from
#   another member, for another commit, or a second one from the same seat changes nothing (B9);
# - *over* means that every seat is gone, stuck or escalated. Only then the slot is free for the next task
#   (I4).
#
# Laws of the table, which tests check against the table:
#
# 1. `complete` is reached only from `standing_down`. `merging` follows a review that passed, or work
#    without reviewers that is recorded as unreviewed.
# 2. Every row into `standing_down` sets what follows (`aim_*`) and then dismisses the members that are
#    there.
# 3. Every loop is counted. A row that sends back counts a round. A row that needs another member counts a
#    restart, a round or a cycle, or follows a decision.
# 4. `abort` has a row in every state that is not an end.
#
# A trigger without a row is late or does not apply. It changes nothing, and the journal records it.
#
# Not in this table: the dependencies between tasks (`dependencies.py`), slots and names (`schedule.py`).

from __future__ import annotations

from enum import StrEnum
from typing import Final

from headcount.protocol.machine import Rule
from headcount.value_classes import dataclass


class State(StrEnum):
    WAITING = "waiting"  # for its dependencies, a slot and a worker
    WORKING = "working"  # its worker works on it, or was sent back
    ESCALATED = "escalated"  # someone must decide about its worker
    REVIEWING = "reviewing"  # all reviewers review the same commit
    MERGING = "merging"  # the reviewed commit is merged
    STANDING_DOWN = "standing_down"  # its members are asked, inspected and stopped
    COMPLETE = "complete"  # merged, and all its members are gone
    BLOCKED = "blocked"  # it needs a retry; the reason is recorded


class Trigger(StrEnum):
    # from the lead
    BEGIN = "begin"  # it has a slot and a worker
    ABORT = "abort"
    RETRY = "retry"  # a person retries a blocked task
    # its worker
    DONE = "done"  # clean, with a new commit
    DONE_UNREVIEWED = "done_unreviewed"  # the same, and there are no reviewers
    EMPTY_HANDED = "empty_handed"  # done without a new commit
    EMPTY_HANDED_AGAIN = "empty_handed_again"  # the same, and no round is left
    WORKER_LOST = "worker_lost"  # its worker ended before it was done
    WORKER_LOST_AGAIN = "worker_lost_again"  # the same, and no restart is left
    WORKER_ESCALATED = "worker_escalated"
    WORKER_BACK = "worker_back"  # its escalation was decided: it continues
    REASSIGNED = "reassigned"  # decided: another worker will take over
    HANDED_OVER = "handed_over"  # the reassigned worker is gone
    # its reviewers
    VERDICT = "verdict"  # one verdict; others are still missing
    PASSED = "passed"  # the last verdict, and all passed
    CHANGES = "changes"  # the last verdict, and changes are requested
    CHANGES_NO_WORKER = "changes_no_worker"  # the same, and its worker is gone
    CHANGES_AGAIN = "changes_again"  # the same, and no round is left
    REVIEWER_LOST = "reviewer_lost"  # a reviewer ended before its verdict
    REVIEWER_LOST_AGAIN = "reviewer_lost_again"  # the same, and no restart is left
    # the merge
    MERGED = "merged"
    MERGE_FAILED = "merge_failed"  # git or the disk failed, not a conflict
    # standing its members down
    ARRIVED = "arrived"  # a member came while the task is stood down
    REFUSED = "refused"  # a member refused to stand down
    REFUSED_AGAIN = "refused_again"  # it refused as often as a run asks
    OVER_COMPLETE = "over_complete"
    OVER_BLOCKED = "over_blocked"
    OVER_AGAIN = "over_again"
    # cycling one of them
    CYCLED = "cycled"  # a member handed over to its next generation
    WORKER_CYCLED = "worker_cycled"  # the same, for an escalated worker without a slot


class Action(StrEnum):
    """An action of a transition: one small function in `task_turn.py`. A row lists actions in this order."""

    # first: record what happened
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
    # then: set the state after standing_down
    AIM_COMPLETE = "aim_complete"
    AIM_BLOCKED = "aim_blocked"
    AIM_AGAIN = "aim_again"
    # last: begin what is next
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
        # escalated: someone must decide about its worker; the rest of the run continues
        (s.ESCALATED, c.WORKER_BACK): r(s.WORKING),
        (s.ESCALATED, c.REASSIGNED): r(s.ESCALATED, (d.MARK_REASSIGNED,)),
        (s.ESCALATED, c.HANDED_OVER): r(s.STANDING_DOWN, (d.PASS_OVER, d.AIM_AGAIN, d.DISMISS)),
        (s.ESCALATED, c.WORKER_LOST): r(s.STANDING_DOWN, (d.COUNT_RESTART, d.AIM_AGAIN, d.DISMISS)),
        (s.ESCALATED, c.WORKER_LOST_AGAIN): r(s.STANDING_DOWN, (d.AIM_BLOCKED, d.DISMISS)),
        (s.ESCALATED, c.CYCLED): r(s.ESCALATED, (d.COUNT_CYCLE, d.START_SUCCESSOR)),
        # Another task may have its slot, so its successor waits for one like any other.
        (s.ESCALATED, c.WORKER_CYCLED): r(s.STANDING_DOWN, (d.COUNT_CYCLE, d.AIM_AGAIN, d.DISMISS)),
        (s.ESCALATED, c.ABORT): r(s.STANDING_DOWN, (d.AIM_BLOCKED, d.DISMISS)),
        # reviewing: all reviewers review the same commit
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
        # An abort does not interrupt it: it is short, and half a merge cannot be undone.
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
        # blocked: has a reason, blocks only its dependants, and stays so until a retry (D7)
        (s.BLOCKED, c.RETRY): r(s.WAITING, (d.NEXT_ATTEMPT,)),
    }


TABLE: Final = _rules()

WORKER: Final = "worker"  # the role of the first seat; the others are the reviewers'

ENDS: Final = frozenset((State.COMPLETE, State.BLOCKED))
STAFFED: Final = frozenset((State.WORKING, State.ESCALATED, State.REVIEWING, State.MERGING))
UNDER_WAY: Final = frozenset((State.WORKING, State.REVIEWING, State.MERGING, State.STANDING_DOWN))


class Presence(StrEnum):
    """The state of the member in a seat, as the task knows it."""

    EMPTY = "empty"  # no member was started yet
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
    words: str = ""  # the reviewer's comment
    said_by: str = ""  # the incarnation that gave it, which may have been cycled after that
    follows: str = ""  # the incarnation that handed over to this one
    asked: int = 0  # how often it was asked to stand down; each time has its own request id
    request: str = ""  # the open one
    refusals: int = 0  # refusals since the counter was reset

    @property
    def taken(self) -> bool:
        """Return whether a member is there, or its start is ordered."""
        return self.presence in (Presence.ORDERED, Presence.HERE)


@dataclass(frozen=True, slots=True)
class Task:
    """One task of a run, as the rules see it."""

    id: str
    depends_on: tuple[str, ...] = ()
    wants: str | None = None  # the worker that the definition names; None: the next free one
    state: State = State.WAITING
    attempt: int = 1  # a retry is a new attempt; results of an older one are late (D5, D6)
    slot: int = 0
    seats: tuple[Seat, ...] = ()  # the worker's first
    commit: str = ""  # under review, or to be merged
    sent_back: str = ""  # the commit that was sent back; offered again, it does not count as new
    rounds: int = 0  # how often it was sent back
    restarts: int = 0  # how often one of its members was lost and replaced
    cycles: int = 0  # how often one of its members handed over to its next generation
    base: str = ""  # where the next worker starts: salvage or commit of the last one
    words: str = ""  # why it was sent back, for the next worker
    passed_over: str = ""  # the worker it was taken from by a decision
    reassigned: bool = False
    aborted: str = ""  # the reason, once the run is aborted
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
        """Return whether all its members are gone, stuck or escalated (I4)."""
        return not any(seat.taken for seat in self.seats)

    @property
    def staffed(self) -> bool:
        """Return whether the task still needs all its seats, so that a cycled member gets a successor."""
        return self.state in STAFFED and not self.aborted

    @property
    def holds_slot(self) -> bool:
        return self.state in UNDER_WAY or (self.state is State.ESCALATED and not self.over)

    def seat(self, key: str) -> Seat | None:
        return next((seat for seat in self.seats if seat.key == key), None)


# The status on the task list. `standing_down` is still in progress: complete is reported last (5.6).
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
