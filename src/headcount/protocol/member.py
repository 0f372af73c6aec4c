"""How one incarnation is stood down: states, triggers, actions and one table.

A member moves only by a **trigger**. The team's rules (`step.py`, `shutdown.py`) turn events into triggers:
they know the request, the policy and the other members, and pick among triggers that differ only by that
(`dirty`, `dirty_again`, `dirty_forced`). So the table itself has no conditions, and can be read, drawn and
checked row by row (`machine.py`).

Four laws hold for every row; the tests check them against the table itself:

1. A row that leads to `stopping` comes from `spotless` or `saved` (I1), one to `killing` from `stopping`.
2. From every state before `salvaging`, `exited` leads to `salvaging`: a death never skips the inspection.
3. Every state that waits has a limit (`limit_s`), and the trigger of that limit has a row (I8).
4. The actions of a row settle what is open, then record what happened, then begin what comes next (`Action`).

A trigger without a row is late or strange. It changes nothing, and the journal says so (I6).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from headcount.protocol.machine import Rule

if TYPE_CHECKING:
    from headcount.domain.policy import Policy


class State(StrEnum):
    STARTING = "starting"
    RUNNING = "running"
    ASKED = "asked"
    INSPECTING = "inspecting"
    VERIFIED = "verified"
    NUDGED = "nudged"
    ESCALATED = "escalated"
    SALVAGING = "salvaging"
    STOPPING = "stopping"
    KILLING = "killing"
    GONE = "gone"


class Trigger(StrEnum):
    # seen by the runtime
    REGISTERED = "registered"
    START_FAILED = "start_failed"
    EXITED = "exited"
    TREE_EMPTY = "tree_empty"
    NOT_EMPTY = "not_empty"
    # a stand-down
    REQUEST = "request"
    APPROVED = "approved"
    REJECTED = "rejected"
    UNANSWERED = "unanswered"
    WITHDRAWN = "withdrawn"
    WITHDRAWN_DONE = "withdrawn_done"
    PROCEED = "proceed"
    FORCED = "forced"
    AGAIN = "again"
    # its work
    DONE = "done"
    IDLE = "idle"
    CLAIMED = "claimed"
    STALLED = "stalled"
    RELEASED = "released"
    CHANGES = "changes"
    REFUSES = "refuses"
    # findings
    SPOTLESS = "spotless"
    CLEAN = "clean"
    CLEAN_FOR_REVIEW = "clean_for_review"
    DIRTY = "dirty"
    DIRTY_AGAIN = "dirty_again"
    DIRTY_FORCED = "dirty_forced"
    # silence after a nudge
    SILENT_ONCE = "silent_once"
    SILENT_TWICE = "silent_twice"
    SILENT_THRICE = "silent_thrice"
    # a decision
    FORCE_KILL = "force_kill"
    REASSIGN = "reassign"
    HUMAN = "human"
    HUMAN_HOLDS = "human_holds"
    WAIT = "wait"
    WAIT_SALVAGE = "wait_salvage"
    # salvage and the end
    SAVED = "saved"
    SALVAGE_FAILED = "salvage_failed"
    EXIT_OVERDUE = "exit_overdue"
    STOP_OVERDUE = "stop_overdue"
    KILL_OVERDUE = "kill_overdue"
    LAST_READ = "last_read"
    LAST_READ_FAILED = "last_read_failed"


class Action(StrEnum):
    """What goes with a move. Each is one small function in `turn.py`. A row has them in this order."""

    # what is open about it is settled
    KEEP_REF = "keep_ref"
    MOOT = "moot"
    DECIDE = "decide"
    PARK = "park"
    HOLD = "hold"
    # what happened is written down
    RECORD_ANSWER = "record_answer"
    HOLD_DONE = "hold_done"
    TELL_WITHDRAWN = "tell_withdrawn"
    FORGET_ANSWER = "forget_answer"
    EXCUSE_REVIEW = "excuse_review"
    COUNT_DIRTY = "count_dirty"
    COUNT_WAIT = "count_wait"
    MARK_IDLE = "mark_idle"
    MARK_WORKING = "mark_working"
    MARK_STALLED = "mark_stalled"
    MARK_EXITED = "mark_exited"
    MARK_FAILED = "mark_failed"
    MARK_VERIFIED = "mark_verified"
    MARK_FORCED = "mark_forced"
    MARK_STUCK = "mark_stuck"
    UNSTICK = "unstick"
    # what comes next is told and begun
    DELIVER_REQUEST = "deliver_request"
    MAIL_CHANGES = "mail_changes"
    NUDGE_CHANGES = "nudge_changes"
    INSPECT = "inspect"
    NUDGE = "nudge"
    RENUDGE = "renudge"
    CAPTURE = "capture"
    ESCALATE = "escalate"
    SALVAGE = "salvage"
    ASK_EXIT = "ask_exit"
    TERMINATE = "terminate"
    KILL = "kill"
    LAST_READ = "last_read"
    SETTLE = "settle"


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
        # nudged: told what is dirty; waits for a new done signal
        (s.NUDGED, c.DONE): r(s.INSPECTING, (d.INSPECT,)),
        (s.NUDGED, c.SILENT_ONCE): r(s.NUDGED, (d.RENUDGE,)),
        (s.NUDGED, c.SILENT_TWICE): r(s.NUDGED, (d.CAPTURE,)),
        (s.NUDGED, c.SILENT_THRICE): r(s.ESCALATED, (d.ESCALATE,)),
        (s.NUDGED, c.RELEASED): r(s.NUDGED, (d.EXCUSE_REVIEW,)),
        (s.NUDGED, c.CHANGES): r(s.RUNNING, (d.MARK_WORKING, d.MAIL_CHANGES, d.NUDGE_CHANGES)),
        (s.NUDGED, c.REQUEST): r(s.ASKED, (d.DELIVER_REQUEST,)),
        (s.NUDGED, c.FORCED): r(s.SALVAGING, (d.MARK_FORCED, d.SALVAGE)),
        (s.NUDGED, c.EXITED): r(s.SALVAGING, (d.MARK_EXITED, d.SALVAGE)),
        # escalated: the lead has the mail; nothing is stopped before somebody decides
        (s.ESCALATED, c.FORCE_KILL): r(s.SALVAGING, (d.DECIDE, d.MARK_FORCED, d.SALVAGE)),
        (s.ESCALATED, c.REASSIGN): r(s.SALVAGING, (d.DECIDE, d.MARK_FORCED, d.SALVAGE)),
        (s.ESCALATED, c.HUMAN): r(s.RUNNING, (d.PARK,)),
        (s.ESCALATED, c.HUMAN_HOLDS): r(s.ESCALATED, (d.HOLD,)),
        (s.ESCALATED, c.WAIT): r(s.NUDGED, (d.DECIDE, d.COUNT_WAIT, d.NUDGE)),
        (s.ESCALATED, c.WAIT_SALVAGE): r(s.SALVAGING, (d.DECIDE, d.COUNT_WAIT, d.SALVAGE)),
        (s.ESCALATED, c.FORCED): r(s.SALVAGING, (d.DECIDE, d.MARK_FORCED, d.SALVAGE)),
        (s.ESCALATED, c.EXITED): r(s.SALVAGING, (d.MOOT, d.MARK_EXITED, d.SALVAGE)),
        # salvaging: frozen, snapshot to refs, read back; if that fails nothing is killed
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
        # gone: proved; the workspace is read once more, and what changed since is salvaged too
        (s.GONE, c.LAST_READ): r(s.GONE, (d.KEEP_REF, d.SETTLE)),
        (s.GONE, c.LAST_READ_FAILED): r(s.GONE, (d.SETTLE,)),
    }


TABLE: Final = _rules()


class Activity(StrEnum):
    """What `running` is shown as."""

    WORKING = "working"
    IDLE = "idle"
    STALLED = "stalled"
    PAUSED = "paused"
    PARKED = "parked"  # a person works on it
    LIMITED = "limited"  # its client has hit a usage limit


class Answer(StrEnum):
    """To the request in its mailbox. A timeout is recorded as unanswered, never as approved."""

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
    # Counts entries into states and re-armed limits: results and timeouts of an older epoch are late.
    epoch: int = 0
    activity: Activity = Activity.WORKING
    task: str | None = None
    awaits_review: bool = False
    request: str | None = None  # the open request that it is part of
    ask: str | None = None  # the request id that its mailbox holds, and answers must name
    answer: Answer | None = None
    answer_reason: str = ""
    held_done: bool = False  # had signalled done when it was asked: inspected again if that is withdrawn
    judging: bool = False  # the witness has its findings, and a verdict is wanted
    attempts: int = 0  # inspections
    head: str = ""  # the commit that its workspace was at when it was last read
    commits: int = 0  # how many commits only its branch had then
    failures: int = 0  # inspections that found it dirty, since it was last let off
    silences: int = 0  # limits that passed since it was last nudged afresh
    waits: int = 0
    issues: tuple[str, ...] = ()
    terminated: bool = False  # SIGTERM was sent; before that it may leave its own way
    exited: bool = False
    exit_code: int | None = None  # of its own process
    already_gone: bool = False  # dead before anyone asked it
    forced: bool = False  # stopped by force or by a decision
    stuck: bool = False
    alive: tuple[str, ...] = ()  # what is left of it while stuck
    refs: tuple[str, ...] = ()  # salvage refs, oldest first
    escalation: str | None = None  # the open one
    cycle: str | None = None  # the request under which it leaves in order to be followed
    cycle_by: str = ""
    over_budget: bool = False  # was asked to stand down for what it has cost
    failure: str = ""  # why its start failed
    settled: bool = False  # gone, and its workspace read for the last time
    unread: str = ""  # why that last read failed: then the workspace stays
    outcome: str | None = None

    @property
    def key(self) -> str:
        return f"{self.name}#{self.generation}"

    @property
    def live(self) -> bool:
        return self.state is not State.GONE

    @property
    def ended(self) -> bool:
        """Nothing more will happen to it by itself."""
        return self.settled or self.stuck or self.state is State.ESCALATED

    @property
    def cycled(self) -> bool:
        """Whether it leaves, or has left, in order to be followed: under that very request."""
        return self.cycle is not None and self.cycle == self.request


def final_outcome(member: Member) -> str | None:
    """The first that fits; None for one whose start failed."""
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
    """How long it may stay as it is, or None when nothing is waited for.

    Limits are counted by the engine from the moment it sees the epoch, so after a crash everyone gets
    the full time again.
    """
    match member.state:
        case State.STARTING:
            return policy.starting_timeout_s
        case State.RUNNING:
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
    """The trigger of a limit that passed. `inspecting` has none: an overdue inspection is a dirty one."""
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
