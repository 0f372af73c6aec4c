"""Define how one incarnation is stood down: states, triggers, actions and one table."""

# A member changes state only by a **trigger**. The rules of the team (`team_step.py`, `shutdown.py`) turn
# events into triggers. They know the request, the policy and the other members. They choose among
# triggers that differ only by such a condition (`dirty`, `dirty_again`, `dirty_forced`). The table itself
# has no conditions, so it can be read, drawn and checked row by row (`machine.py`).
#
# Four laws hold for every row. Tests check them against the table:
#
# 1. Only `spotless` and `saved` lead to `stopping` (I1). Only `stopping` leads to `killing`.
# 2. From every state before `salvaging`, `exited` leads to `salvaging`. A death never skips the salvage.
# 3. Every state that waits has a limit (`limit_s`), and the trigger of that limit has a row (I8).
# 4. The actions of a row first settle open matters, then record, then begin what is next (order of
#    `Action`).
#
# A trigger without a row is late or does not apply. It changes nothing, and the journal records it (I6).
#
# Not in this table: what a running member is doing (`Activity`), its answer (`Answer`), and which epoch
# it is in. An epoch counts entries into states and re-armed limits. Results and timeouts carry the epoch
# that requested them, so a result of an earlier epoch is recognised as late.

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from headcount.protocol.machine import Rule
from headcount.value_classes import dataclass

if TYPE_CHECKING:
    from headcount.domain.policy import Policy


class State(StrEnum):
    STARTING = "starting"  # the start is recorded; workspace and process follow
    RUNNING = "running"  # at work, or as its activity says
    ASKED = "asked"  # the stand-down request is in its mailbox
    INSPECTING = "inspecting"  # its workspace is inspected and judged
    VERIFIED = "verified"  # clean after its own done signal; waits for its reviews
    NUDGED = "nudged"  # sent back with a list of what is dirty
    ESCALATED = "escalated"  # someone must decide; nothing is stopped until then
    SALVAGING = "salvaging"  # suspended; its workspace is saved and read back
    STOPPING = "stopping"  # it may exit in its own way, then gets SIGTERM
    KILLING = "killing"  # SIGKILL until its tree is empty
    GONE = "gone"  # proved gone; one last read of its workspace


class Trigger(StrEnum):
    # seen by the runtime
    REGISTERED = "registered"  # its process runs
    START_FAILED = "start_failed"  # the start failed and was undone
    EXITED = "exited"  # its own process ended; others may be alive
    TREE_EMPTY = "tree_empty"  # the runtime proved that nothing is alive
    NOT_EMPTY = "not_empty"  # something survived SIGKILL
    # a stand-down
    REQUEST = "request"  # a stand-down that asks it
    APPROVED = "approved"
    REJECTED = "rejected"
    UNANSWERED = "unanswered"  # its time to answer is over
    WITHDRAWN = "withdrawn"  # another member refused, so the request ended
    WITHDRAWN_DONE = "withdrawn_done"  # the same, for one that had signalled done before
    PROCEED = "proceed"  # all have answered; it is inspected now
    FORCED = "forced"  # force was given while it is nudged or escalated
    AGAIN = "again"  # a repeated request for a stuck member
    # its work
    DONE = "done"  # its done signal
    IDLE = "idle"  # it reported that it has nothing to do
    CLAIMED = "claimed"  # it claimed a task, or its client began a turn
    STALLED = "stalled"  # no progress within the limit
    RELEASED = "released"  # its reviews passed; it is not needed any more
    CHANGES = "changes"  # reviewers requested changes
    REFUSES = "refuses"  # it refused as often as a run asks
    # findings
    SPOTLESS = "spotless"  # there is nothing to save
    CLEAN = "clean"  # judged clean, but there is something to save
    CLEAN_FOR_REVIEW = "clean_for_review"  # clean, and its reviews are still to come
    DIRTY = "dirty"  # dirty, and it is sent back
    DIRTY_AGAIN = "dirty_again"  # dirty for the last time that the policy allows
    DIRTY_FORCED = "dirty_forced"  # dirty under force
    # silence after a nudge
    SILENT_ONCE = "silent_once"  # no done signal after the nudge
    SILENT_TWICE = "silent_twice"  # none after the reminder
    SILENT_THRICE = "silent_thrice"  # none after the capture of its screen
    # a decision
    FORCE_KILL = "force_kill"
    REASSIGN = "reassign"
    HUMAN = "human"  # decided without a stand-down: it continues
    HUMAN_HOLDS = "human_holds"  # decided during a stand-down, or about a salvage: it waits
    WAIT = "wait"  # decided: one more nudge
    WAIT_SALVAGE = "wait_salvage"  # decided: one more salvage
    KEEP_HERE = "keep_here"  # decided: a salvage on its own host is enough
    # salvage and the end
    SAVED = "saved"  # saved and read back, or nothing to save
    SALVAGE_FAILED = "salvage_failed"  # could not be saved; nothing is killed
    EXIT_OVERDUE = "exit_overdue"  # it did not exit in its own way
    STOP_OVERDUE = "stop_overdue"  # SIGTERM did not end its tree
    KILL_OVERDUE = "kill_overdue"  # no result of SIGKILL in time
    LAST_READ = "last_read"  # the last read of its workspace ended
    LAST_READ_FAILED = "last_read_failed"  # it failed; the workspace stays


class Action(StrEnum):
    """An action of a transition: one small function in `turn.py`. A row lists actions in this order."""

    # first: settle what is open about it
    KEEP_REF = "keep_ref"  # add the salvage ref
    MOOT = "moot"  # close its escalation, if one is open
    DECIDE = "decide"  # record the decision and close the escalation
    PARK = "park"  # leave it to a person, running
    HOLD = "hold"  # leave it to a person, escalated
    # then: record what happened
    RECORD_ANSWER = "record_answer"
    HOLD_DONE = "hold_done"  # remember its done signal in case the request is withdrawn
    TELL_WITHDRAWN = "tell_withdrawn"
    FORGET_ANSWER = "forget_answer"
    EXCUSE_REVIEW = "excuse_review"
    COUNT_DIRTY = "count_dirty"  # record the issues and count the failed inspection
    COUNT_WAIT = "count_wait"  # count the wait and reset the other counters
    MARK_IDLE = "mark_idle"
    MARK_WORKING = "mark_working"
    MARK_STALLED = "mark_stalled"
    MARK_EXITED = "mark_exited"
    MARK_FAILED = "mark_failed"
    MARK_VERIFIED = "mark_verified"
    MARK_FORCED = "mark_forced"
    MARK_HERE = "mark_here"  # its salvage need not be at the hub
    MARK_STUCK = "mark_stuck"
    UNSTICK = "unstick"  # it is not stuck any more
    # last: begin what is next
    DELIVER_REQUEST = "deliver_request"  # mail and nudge
    MAIL_CHANGES = "mail_changes"
    NUDGE_CHANGES = "nudge_changes"
    INSPECT = "inspect"  # begin an inspection
    NUDGE = "nudge"  # mail and nudge with the issues
    RENUDGE = "renudge"  # nudge urgently
    CAPTURE = "capture"  # capture its screen
    ESCALATE = "escalate"  # open an escalation and mail it, once
    SALVAGE = "salvage"  # suspend and save
    ASK_EXIT = "ask_exit"  # let it exit in its own way
    TERMINATE = "terminate"  # SIGTERM to its tree
    KILL = "kill"  # SIGKILL to its tree
    LAST_READ = "last_read"
    SETTLE = "settle"  # record the outcome; seal its mailbox


def _rules() -> dict[tuple[State, Trigger], Rule[State, Action]]:
    s, c, d, r = State, Trigger, Action, Rule[State, Action]
    return {
        # starting: intent written; workspace, process, registration
        (s.STARTING, c.REGISTERED): r(s.RUNNING),
        (s.STARTING, c.START_FAILED): r(s.GONE, (d.MARK_FAILED, d.SETTLE)),
        (s.STARTING, c.STALLED): r(s.SALVAGING, (d.MARK_FAILED, d.SALVAGE)),
        (s.STARTING, c.EXITED): r(s.SALVAGING, (d.MARK_EXITED, d.SALVAGE)),
        # running: at work, idle, stalled, paused or parked
        (s.RUNNING, c.REQUEST): r(s.ASKED, (d.DELIVER_REQUEST,)),
        (s.RUNNING, c.PROCEED): r(s.INSPECTING, (d.INSPECT,)),
        (s.RUNNING, c.DONE): r(s.INSPECTING, (d.INSPECT,)),
        (s.RUNNING, c.IDLE): r(s.RUNNING, (d.MARK_IDLE,)),
        (s.RUNNING, c.CLAIMED): r(s.RUNNING, (d.MARK_WORKING,)),
        (s.RUNNING, c.STALLED): r(s.RUNNING, (d.MARK_STALLED,)),
        (s.RUNNING, c.CHANGES): r(s.RUNNING, (d.MARK_WORKING, d.MAIL_CHANGES, d.NUDGE_CHANGES)),
        (s.RUNNING, c.REFUSES): r(s.ESCALATED, (d.ESCALATE,)),
        (s.RUNNING, c.EXITED): r(s.SALVAGING, (d.MARK_EXITED, d.SALVAGE)),
        # asked: the request is in its mailbox; it waits here, answered, until everyone has answered
        (s.ASKED, c.APPROVED): r(s.ASKED, (d.RECORD_ANSWER,)),
        (s.ASKED, c.REJECTED): r(s.ASKED, (d.RECORD_ANSWER,)),
        (s.ASKED, c.UNANSWERED): r(s.ASKED, (d.RECORD_ANSWER,)),
        (s.ASKED, c.WITHDRAWN): r(s.RUNNING, (d.TELL_WITHDRAWN, d.FORGET_ANSWER)),
        (s.ASKED, c.WITHDRAWN_DONE): r(s.INSPECTING, (d.TELL_WITHDRAWN, d.FORGET_ANSWER, d.INSPECT)),
        (s.ASKED, c.RELEASED): r(s.ASKED, (d.EXCUSE_REVIEW,)),
        (s.ASKED, c.CHANGES): r(s.ASKED, (d.MAIL_CHANGES,)),
        (s.ASKED, c.PROCEED): r(s.INSPECTING, (d.INSPECT,)),
        (s.ASKED, c.EXITED): r(s.SALVAGING, (d.RECORD_ANSWER, d.MARK_EXITED, d.SALVAGE)),
        # inspecting: findings are read, then judged
        (s.INSPECTING, c.SPOTLESS): r(s.STOPPING, (d.MARK_VERIFIED, d.ASK_EXIT)),
        (s.INSPECTING, c.CLEAN): r(s.SALVAGING, (d.MARK_VERIFIED, d.SALVAGE)),
        (s.INSPECTING, c.CLEAN_FOR_REVIEW): r(s.VERIFIED, (d.MARK_VERIFIED,)),
        (s.INSPECTING, c.DIRTY): r(s.NUDGED, (d.COUNT_DIRTY, d.NUDGE)),
        (s.INSPECTING, c.DIRTY_AGAIN): r(s.ESCALATED, (d.COUNT_DIRTY, d.ESCALATE)),
        (s.INSPECTING, c.DIRTY_FORCED): r(s.SALVAGING, (d.COUNT_DIRTY, d.MARK_FORCED, d.SALVAGE)),
        (s.INSPECTING, c.RELEASED): r(s.INSPECTING, (d.EXCUSE_REVIEW,)),
        (s.INSPECTING, c.CHANGES): r(s.RUNNING, (d.MARK_WORKING, d.MAIL_CHANGES, d.NUDGE_CHANGES)),
        (s.INSPECTING, c.REFUSES): r(s.ESCALATED, (d.ESCALATE,)),
        (s.INSPECTING, c.REQUEST): r(s.ASKED, (d.HOLD_DONE, d.DELIVER_REQUEST)),
        (s.INSPECTING, c.EXITED): r(s.SALVAGING, (d.MARK_EXITED, d.SALVAGE)),
        # verified: clean after a done signal, alive, waiting for its reviews
        (s.VERIFIED, c.RELEASED): r(s.INSPECTING, (d.EXCUSE_REVIEW, d.INSPECT)),
        (s.VERIFIED, c.CHANGES): r(s.RUNNING, (d.MARK_WORKING, d.MAIL_CHANGES, d.NUDGE_CHANGES)),
        (s.VERIFIED, c.REQUEST): r(s.ASKED, (d.HOLD_DONE, d.DELIVER_REQUEST)),
        (s.VERIFIED, c.EXITED): r(s.SALVAGING, (d.MARK_EXITED, d.SALVAGE)),
        # nudged: it has the list of what is dirty; the rules wait for a new done signal
        (s.NUDGED, c.DONE): r(s.INSPECTING, (d.INSPECT,)),
        (s.NUDGED, c.SILENT_ONCE): r(s.NUDGED, (d.RENUDGE,)),
        (s.NUDGED, c.SILENT_TWICE): r(s.NUDGED, (d.CAPTURE,)),
        (s.NUDGED, c.SILENT_THRICE): r(s.ESCALATED, (d.ESCALATE,)),
        (s.NUDGED, c.RELEASED): r(s.NUDGED, (d.EXCUSE_REVIEW,)),
        (s.NUDGED, c.CHANGES): r(s.RUNNING, (d.MARK_WORKING, d.MAIL_CHANGES, d.NUDGE_CHANGES)),
        (s.NUDGED, c.REQUEST): r(s.ASKED, (d.DELIVER_REQUEST,)),
        (s.NUDGED, c.FORCED): r(s.SALVAGING, (d.MARK_FORCED, d.SALVAGE)),
        (s.NUDGED, c.EXITED): r(s.SALVAGING, (d.MARK_EXITED, d.SALVAGE)),
        # escalated: the lead has the mail; nothing is stopped before someone decides
        (s.ESCALATED, c.FORCE_KILL): r(s.SALVAGING, (d.DECIDE, d.MARK_FORCED, d.SALVAGE)),
        (s.ESCALATED, c.REASSIGN): r(s.SALVAGING, (d.DECIDE, d.MARK_FORCED, d.SALVAGE)),
        (s.ESCALATED, c.HUMAN): r(s.RUNNING, (d.PARK,)),
        (s.ESCALATED, c.HUMAN_HOLDS): r(s.ESCALATED, (d.HOLD,)),
        (s.ESCALATED, c.WAIT): r(s.NUDGED, (d.DECIDE, d.COUNT_WAIT, d.NUDGE)),
        (s.ESCALATED, c.WAIT_SALVAGE): r(s.SALVAGING, (d.DECIDE, d.COUNT_WAIT, d.SALVAGE)),
        (s.ESCALATED, c.KEEP_HERE): r(s.SALVAGING, (d.DECIDE, d.MARK_HERE, d.SALVAGE)),
        (s.ESCALATED, c.FORCED): r(s.SALVAGING, (d.DECIDE, d.MARK_FORCED, d.SALVAGE)),
        (s.ESCALATED, c.EXITED): r(s.SALVAGING, (d.MOOT, d.MARK_EXITED, d.SALVAGE)),
        # salvaging: suspended, saved to refs, read back; if that fails nothing is killed
        (s.SALVAGING, c.SAVED): r(s.STOPPING, (d.KEEP_REF, d.MOOT, d.ASK_EXIT)),
        (s.SALVAGING, c.SALVAGE_FAILED): r(s.ESCALATED, (d.ESCALATE,)),
        (s.SALVAGING, c.EXITED): r(s.SALVAGING, (d.MARK_EXITED,)),
        # stopping: its own way to exit, then SIGTERM to its tree
        (s.STOPPING, c.TREE_EMPTY): r(s.GONE, (d.LAST_READ,)),
        (s.STOPPING, c.EXITED): r(s.STOPPING, (d.MARK_EXITED, d.TERMINATE)),
        (s.STOPPING, c.EXIT_OVERDUE): r(s.STOPPING, (d.TERMINATE,)),
        (s.STOPPING, c.STOP_OVERDUE): r(s.KILLING, (d.KILL,)),
        # killing: SIGKILL to the tree, again until empty
        (s.KILLING, c.TREE_EMPTY): r(s.GONE, (d.UNSTICK, d.LAST_READ)),
        (s.KILLING, c.NOT_EMPTY): r(s.KILLING, (d.MARK_STUCK,)),
        (s.KILLING, c.KILL_OVERDUE): r(s.KILLING, (d.MARK_STUCK,)),
        (s.KILLING, c.AGAIN): r(s.KILLING, (d.UNSTICK, d.KILL)),
        (s.KILLING, c.EXITED): r(s.KILLING, (d.MARK_EXITED,)),
        # gone: proved; one last read of the workspace saves later changes too
        (s.GONE, c.LAST_READ): r(s.GONE, (d.KEEP_REF, d.SETTLE)),
        (s.GONE, c.LAST_READ_FAILED): r(s.GONE, (d.SETTLE,)),
    }


TABLE: Final = _rules()


class Activity(StrEnum):
    """The activity of a running member, as `status` shows it."""

    WORKING = "working"
    IDLE = "idle"
    STALLED = "stalled"
    PAUSED = "paused"
    PARKED = "parked"  # a person works on it
    LIMITED = "limited"  # its client has hit a usage limit


class Answer(StrEnum):
    """Its answer to the request in its mailbox. A timeout is recorded as unanswered, never as approved."""

    APPROVED = "approved"
    REJECTED = "rejected"
    UNANSWERED = "unanswered"
    EXITED = "exited"


@dataclass(frozen=True, slots=True)
class Member:
    """One incarnation, as the rules see it."""

    name: str
    generation: int
    role: str = "worker"
    state: State = State.STARTING
    # Counts entries into states and re-armed limits. Results and timeouts of an older epoch are late.
    epoch: int = 0
    activity: Activity = Activity.WORKING
    task: str | None = None
    account: str = ""  # the client and account whose usage limit it shares; "" if none is known
    awaits_review: bool = False
    request: str | None = None  # the open request that it is part of
    ask: str | None = None  # the request id in its mailbox, which its answer must name
    answer: Answer | None = None
    answer_reason: str = ""
    held_done: bool = False  # had signalled done when it was asked; inspected again after a withdrawal
    judging: bool = False  # the witness has its findings; a verdict is due
    attempts: int = 0  # inspections
    head: str = ""  # the commit that its workspace was at when it was last read
    commits: int = 0  # how many commits only its branch had then
    failures: int = 0  # dirty inspections since the counter was reset
    silences: int = 0  # limits that passed since the last new nudge
    waits: int = 0
    issues: tuple[str, ...] = ()
    terminated: bool = False  # SIGTERM was sent; before that it may exit in its own way
    exited: bool = False
    exit_code: int | None = None  # of its own process
    already_gone: bool = False  # dead before anyone asked it
    left_on_approval: bool = False  # it approved, and did not wait until it was told to leave
    cause: str = ""  # why it failed, if it ended by a failure and not by a stand-down
    forced: bool = False  # stopped by force or by a decision
    here: bool = False  # a person decided that its work need not be at the hub
    stuck: bool = False
    alive: tuple[str, ...] = ()  # what is left of it while stuck
    refs: tuple[str, ...] = ()  # salvage refs, oldest first
    escalation: str | None = None  # the open one
    cycle: str | None = None  # the request under which it is cycled
    cycle_by: str = ""
    over_budget: bool = False  # was asked to stand down because of its budget
    failure: str = ""  # why its start failed
    settled: bool = False  # gone, and the last read of its workspace is over
    unread: str = ""  # why the last read failed; the workspace stays then
    outcome: str | None = None

    @property
    def key(self) -> str:
        return f"{self.name}#{self.generation}"

    @property
    def live(self) -> bool:
        return self.state is not State.GONE

    @property
    def ended(self) -> bool:
        """Return whether only a person can change anything about it."""
        return self.settled or self.stuck or self.state is State.ESCALATED

    @property
    def cycled(self) -> bool:
        """Return whether it leaves, or has left, under the request that cycles it."""
        return self.cycle is not None and self.cycle == self.request


def final_outcome(member: Member) -> str | None:
    """Return the first outcome that applies; None if its start failed."""
    if member.stuck:
        return "stuck"
    if member.failure:
        return None
    if member.already_gone:
        return "already_gone"
    if member.forced:
        return "forced"
    return "salvaged" if member.refs else "clean"


def limit_s(member: Member, policy: Policy) -> float | None:
    """Return how long it may stay in its state, or None without a limit.

    The engine counts from the moment at which it sees the epoch. After a crash every member thus gets its
    full time again.
    """
    match member.state:
        case State.STARTING:
            return policy.starting_timeout_s
        case State.RUNNING:
            # A lead and a witness may wait for a long time; so may a paused, parked or limited member.
            watched = member.role not in ("lead", "witness") and member.activity is Activity.WORKING
            return policy.stall_timeout_s if watched else None
        case State.ASKED:
            return policy.answer_timeout_s if member.answer is None else None
        case State.INSPECTING:
            return policy.judging_timeout_s
        case State.NUDGED:
            return policy.nudge_timeout_s
        case State.SALVAGING:
            return policy.salvage_timeout_s
        case State.STOPPING:
            return policy.stop_grace_s if member.terminated else policy.exit_grace_s
        case State.KILLING:
            return None if member.stuck else policy.stop_grace_s
        case State.GONE:
            return None if member.settled else policy.salvage_timeout_s
        case State.VERIFIED | State.ESCALATED:
            return None


def overdue_trigger(member: Member) -> Trigger | None:
    """Return the trigger of a passed limit. `inspecting` has none: an overdue inspection counts as dirty."""
    match member.state:
        case State.STARTING | State.RUNNING:
            return Trigger.STALLED
        case State.ASKED:
            return Trigger.UNANSWERED
        case State.NUDGED:
            return (Trigger.SILENT_ONCE, Trigger.SILENT_TWICE, Trigger.SILENT_THRICE)[min(member.silences, 2)]
        case State.SALVAGING:
            return Trigger.SALVAGE_FAILED
        case State.STOPPING:
            return Trigger.STOP_OVERDUE if member.terminated else Trigger.EXIT_OVERDUE
        case State.KILLING:
            return Trigger.KILL_OVERDUE
        case State.GONE:
            return Trigger.LAST_READ_FAILED
        case _:
            return None
