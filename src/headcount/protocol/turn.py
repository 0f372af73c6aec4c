"""Hold one step of a team in progress, with one small function for each action of the member's table."""

# A `Turn` is mutable, so that the rules can be written as a sequence of changes. Its result is a pair of
# values.
#
#     fire      moves one member by the table and runs the actions of the row
#     late      records an event that changes nothing
#     ACTIONS   maps every `Action` of `member.py` to its function
#
# An action changes the member, adds mail, journal entries or acts, and never decides which row is taken.
# The exceptions to "one action, one change" are marked: an escalation that a policy decides fires the
# next trigger.
#
# Not here: the choice of triggers (`team_step.py`) and the progress of requests (`shutdown.py`).

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from headcount.domain import templates
from headcount.protocol.effects import Act, ActKind, Collected, GiveBackTasks, Post, Ready
from headcount.protocol.happened import (
    EscalationDecided,
    MemberEscalated,
    MemberFailed,
    MemberGone,
    MemberMoved,
    MemberStuck,
    MemberVerified,
    StillEscalated,
)
from headcount.protocol.machine import Rule, interpret
from headcount.protocol.member import TABLE, Action, Activity, Answer, Member, State, Trigger, final_outcome
from headcount.protocol.team import Escalation, EscalationState, decisions_now
from headcount.value_classes import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.domain.policy import Policy
    from headcount.protocol.events import Inspected
    from headcount.protocol.team import Request, Team

# A transition that begins or re-arms something opens a new epoch even if the state stays the same. Other
# transitions must not: the result that the state waits for would count as late.
_REARMS: Final = frozenset((
    Action.RECORD_ANSWER, Action.MARK_IDLE, Action.MARK_WORKING, Action.MARK_STALLED, Action.MARK_STUCK,
    Action.INSPECT, Action.NUDGE, Action.RENUDGE, Action.CAPTURE, Action.SALVAGE, Action.ASK_EXIT,
    Action.TERMINATE, Action.KILL, Action.SETTLE,
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Facts:
    """The data of a trigger, for the actions of its row. Each trigger fills in what its actions read."""

    reason: str = ""
    answer: Answer | None = None
    request: Request | None = None
    task: str | None = None
    detail: str = ""
    code: int | None = None
    cause: str = ""
    left: bool = False  # it did not wait for the order to leave
    issues: tuple[str, ...] = ()
    alive: tuple[str, ...] = ()
    ref: str | None = None
    text: str = ""
    decision: str = "force"
    by: str = ""
    here: bool = False


_NONE: Final = Facts()


class Turn(Collected):
    """A team while one step changes it."""

    def __init__(self, team: Team, policy: Policy) -> None:
        super().__init__()
        self.team = team
        self.policy = policy
        self.members: dict[str, Member] = dict(team.members)
        self.generations: dict[str, int] = dict(team.generations)
        self.requests: dict[str, Request] = dict(team.requests)
        self.escalations: dict[str, Escalation] = dict(team.escalations)
        self.escalation_count = team.escalation_count
        self.last_request = team.last_request
        self.close_step = team.close_step
        self.close_epoch = team.close_epoch
        self.close_failures = team.close_failures
        self.warnings = team.warnings
        self.status = team.status
        self.closed = False

    def result(self) -> tuple[Team, Ready]:
        return self.team_now(), self.ready()

    def team_now(self) -> Team:
        return replace(
            self.team, status=self.status, members=self.members, generations=self.generations,
            requests=self.requests, last_request=self.last_request, escalations=self.escalations,
            escalation_count=self.escalation_count, close_step=self.close_step, close_epoch=self.close_epoch,
            close_failures=self.close_failures, warnings=self.warnings,
        )  # fmt: skip

    def put(self, member: Member) -> Member:
        self.members[member.key] = member
        return member

    def late(self, about: str, **data: object) -> None:
        """Record an event that is late, repeated or does not apply. Nothing else changes (I6)."""
        self.note("late", about, **data)

    def act(self, kind: ActKind, member: Member, **data: object) -> None:
        self.acts.append(Act(kind, member.key, member.epoch, data))

    def ended(self, request: Request) -> None:
        if request.whole_team:
            self.last_request = request

    def fire(self, key: str, trigger: Trigger, facts: Facts = _NONE) -> None:
        """Move one member by the table. A trigger without a row changes nothing."""
        member = self.members[key]
        interpret(
            TABLE,
            member.state,
            trigger,
            ignore=lambda: self.late(key, cue=str(trigger), state=str(member.state)),
            move=lambda rule: self._move(member, rule, trigger),
            act=lambda action: ACTIONS[action](self, self.members[key], trigger, facts),
        )

    def _move(self, member: Member, rule: Rule[State, Action], trigger: Trigger) -> None:
        opens_epoch = rule.to is not member.state or not _REARMS.isdisjoint(rule.do)
        self.put(replace(member, state=rule.to, epoch=member.epoch + (1 if opens_epoch else 0)))
        self.happen(MemberMoved(member.key, member.state, rule.to, trigger))

    def findings_to_witness(self, event: Inspected) -> None:
        """Mail the findings to the witness, whose verdict must arrive within the limit."""
        body = templates.findings_for_witness(event.key, event.issues)
        self.put(replace(self.members[event.key], judging=True))
        self.mail.append(Post("witness", f"Verdict wanted: {event.key}", body, sender="operator"))


# --- the actions -------------------------------------------------------------------------------------------


def _record_answer(turn: Turn, member: Member, _: Trigger, facts: Facts) -> None:
    if member.answer is not None:
        return  # it answered before it exited
    turn.put(replace(member, answer=facts.answer, answer_reason=facts.reason))
    turn.note("answered", member.key, answer=facts.answer, reason=facts.reason, request=member.ask)
    if facts.answer is Answer.UNANSWERED:
        turn.note("warning", member.key, text=templates.not_acknowledged(member.name))


def _deliver_request(turn: Turn, member: Member, _: Trigger, facts: Facts) -> None:
    request = facts.request
    assert request is not None
    # A paused member is continued first, because it must be able to answer.
    if member.activity is Activity.PAUSED:
        turn.act(ActKind.RESUME, member)
    # A request does not end a usage limit.
    activity = Activity.LIMITED if member.activity is Activity.LIMITED else Activity.WORKING
    member = turn.put(
        replace(member, ask=request.id, answer=None, answer_reason="", activity=activity, silences=0)
    )
    reason = request.reason or "Shutdown requested"
    turn.mail.append(Post(
        member.key, "Shutdown requested", templates.shutdown_request(request.id, reason),
        type="shutdown_request", request_id=request.id, priority="high", sender=request.by,
    ))  # fmt: skip
    turn.act(ActKind.NUDGE, member, text=templates.shutdown_nudge(request.id, reason))


def _tell_withdrawn(turn: Turn, member: Member, _: Trigger, __: Facts) -> None:
    """Name the request in its mailbox. That may be a narrower request that was taken over."""
    turn.mail.append(Post(
        member.key, "Shutdown withdrawn", f"The request {member.ask} is withdrawn. Continue your work.",
        type="shutdown_withdrawn", request_id=member.ask,
    ))  # fmt: skip


def _forget_answer(turn: Turn, member: Member, _: Trigger, __: Facts) -> None:
    turn.put(replace(member, ask=None, answer=None, answer_reason="", held_done=False))


def _hold_done(turn: Turn, member: Member, _: Trigger, __: Facts) -> None:
    turn.put(replace(member, held_done=True))


def _excuse_review(turn: Turn, member: Member, _: Trigger, __: Facts) -> None:
    turn.put(replace(member, awaits_review=False))


def _mark_idle(turn: Turn, member: Member, _: Trigger, __: Facts) -> None:
    turn.put(replace(member, activity=Activity.IDLE))


def _mark_working(turn: Turn, member: Member, trigger: Trigger, facts: Facts) -> None:
    """Mark it working. Requested changes do not resume a paused member or end a usage limit; a claim does."""
    held = trigger is Trigger.CHANGES and member.activity in (Activity.PAUSED, Activity.LIMITED)
    activity = member.activity if held else Activity.WORKING
    turn.put(replace(member, activity=activity, task=facts.task or member.task))


def _mark_stalled(turn: Turn, member: Member, _: Trigger, __: Facts) -> None:
    """Nudge a stalled member once. The limit is armed again only after its next activity."""
    member = turn.put(replace(member, activity=Activity.STALLED))
    turn.mail.append(Post(member.key, "No sign of progress", templates.STALLED, priority="high"))
    turn.act(ActKind.NUDGE, member, text=templates.STALLED)


def _mark_exited(turn: Turn, member: Member, _: Trigger, facts: Facts) -> None:
    """Record its exit. It counts as already gone if no request and no inspection came before."""
    # A member that was inspected or asked before is not "already gone": its end belongs to that request.
    before = member.request is None and member.attempts == 0
    already_gone = member.already_gone or before
    member = replace(
        member, exited=True, exit_code=facts.code, already_gone=already_gone, cause=facts.cause,
        left_on_approval=facts.left,
    )  # fmt: skip
    turn.put(member)
    early = {"left": "on its approval"} if facts.left else {}
    turn.note("exited", member.key, detail=facts.detail, **early)
    if member.cause:
        _tell_failure(turn, member)


def _tell_failure(turn: Turn, member: Member) -> None:
    """Mail a failure to the lead, and run the user's command for it. Its work is saved next."""
    turn.happen(MemberFailed(member.key, member.cause))
    body = templates.member_failed(member.key, member.cause)
    turn.mail.append(Post("lead", f"{member.name} failed", body, priority="high", about=member.key))
    if turn.policy.notifies("failure"):
        turn.act(ActKind.NOTIFY, member, failure=member.cause, tag="failure")


def _mark_failed(turn: Turn, member: Member, _: Trigger, facts: Facts) -> None:
    member = turn.put(replace(member, failure=facts.reason or "did not register in time"))
    turn.note("start_failed", member.key, reason=member.failure)


def _mark_verified(turn: Turn, member: Member, _: Trigger, __: Facts) -> None:
    turn.put(replace(member, failures=0, issues=()))
    turn.happen(MemberVerified(member.key))


def _mark_forced(turn: Turn, member: Member, _: Trigger, __: Facts) -> None:
    turn.put(replace(member, forced=True))


def _mark_here(turn: Turn, member: Member, _: Trigger, __: Facts) -> None:
    turn.put(replace(member, here=True))


def _mark_stuck(turn: Turn, member: Member, _: Trigger, facts: Facts) -> None:
    turn.put(replace(member, stuck=True, alive=facts.alive))
    turn.happen(MemberStuck(member.key, facts.alive))


def _unstick(turn: Turn, member: Member, _: Trigger, __: Facts) -> None:
    turn.put(replace(member, stuck=False, alive=()))


def _count_dirty(turn: Turn, member: Member, _: Trigger, facts: Facts) -> None:
    member = turn.put(replace(member, issues=facts.issues, failures=member.failures + 1))
    turn.note("found_dirty", member.key, issues=list(member.issues), attempt=member.attempts)


def _count_wait(turn: Turn, member: Member, _: Trigger, __: Facts) -> None:
    turn.put(replace(member, waits=member.waits + 1, failures=0, silences=0))


def _inspect(turn: Turn, member: Member, _: Trigger, __: Facts) -> None:
    # A refusal that force overrides: the outcome is `forced`, however clean the workspace is.
    forced = member.forced or member.answer is Answer.REJECTED
    member = turn.put(
        replace(member, attempts=member.attempts + 1, forced=forced, held_done=False, judging=False)
    )
    turn.act(ActKind.INSPECT, member, attempt=member.attempts)


def _nudge(turn: Turn, member: Member, _: Trigger, __: Facts) -> None:
    member = turn.put(replace(member, silences=0))
    turn.mail.append(Post(
        member.key, "Verification failed", templates.verification_failed(member.issues),
        template=templates.VERIFICATION_FAILED, priority="high",
    ))  # fmt: skip
    turn.act(ActKind.NUDGE, member, text=templates.witness_check(member.issues))


def _renudge(turn: Turn, member: Member, _: Trigger, __: Facts) -> None:
    member = turn.put(replace(member, silences=member.silences + 1))
    text = templates.witness_check(member.issues, urgent=True)
    turn.act(ActKind.NUDGE, member, text=text, urgent=True)


def _capture(turn: Turn, member: Member, _: Trigger, __: Facts) -> None:
    turn.act(ActKind.CAPTURE, turn.put(replace(member, silences=member.silences + 1)))


_CAUSES: Final = {
    Trigger.DIRTY_AGAIN: "dirty",
    Trigger.SILENT_THRICE: "silence",
    Trigger.REFUSES: "refusal",
    Trigger.SALVAGE_FAILED: "salvage",
}


def _escalate(turn: Turn, member: Member, trigger: Trigger, facts: Facts) -> None:
    """Open an escalation and mail it, once. A salvage that fails again updates the open one (I9)."""
    cause = _CAUSES[trigger]
    issues = member.issues
    if cause == "salvage":
        issues = (f"salvage failed: {facts.reason}",)
    elif cause == "refusal":
        issues = (f"refuses to stand down: {facts.reason}",)
    member = turn.put(replace(member, issues=issues))
    # I9: one escalation, one mail. A second failure updates the escalation that is open.
    open_one = turn.escalations.get(member.escalation or "")
    if open_one is not None:
        reopened = replace(open_one, cause=cause, issues=issues, state=EscalationState.OPEN, here=facts.here)
        turn.escalations[open_one.id] = reopened
        turn.happen(StillEscalated(member.key, open_one.id, issues))
        return
    turn.escalation_count += 1
    escalation = Escalation(
        f"e{turn.escalation_count}", member.key, cause, issues, member.attempts, here=facts.here
    )
    turn.escalations[escalation.id] = escalation
    member = turn.put(replace(member, escalation=escalation.id))
    turn.happen(MemberEscalated(member.key, escalation.id, cause, issues))
    subject, body = templates.worker_escalation(
        turn.team.name, member.name, member.task or "no task", member.attempts, issues, escalation.id,
        decisions_now(turn.team_now(), escalation.id, turn.policy),
    )  # fmt: skip
    escalated = templates.WORKER_ESCALATION
    turn.mail.append(Post("lead", subject, body, template=escalated, priority="high", about=member.key))
    if turn.policy.notifies("escalation"):
        turn.act(ActKind.NOTIFY, member, escalation=escalation.id)
    # A policy may decide, and is recorded as the decider; never about a salvage that failed.
    if turn.policy.on_escalation == "force-kill" and cause != "salvage":
        turn.fire(member.key, Trigger.FORCE_KILL, Facts(decision="force-kill", by="policy"))


def _decide(turn: Turn, member: Member, _: Trigger, facts: Facts) -> None:
    """Close the escalation. One about a salvage stays open until the salvage succeeds."""
    escalation = turn.escalations[str(member.escalation)]
    keeps_open = escalation.cause == "salvage"
    state = EscalationState.OPEN if keeps_open else EscalationState.DECIDED
    turn.escalations[escalation.id] = replace(escalation, state=state, decision=facts.decision, by=facts.by)
    turn.happen(EscalationDecided(member.key, escalation.id, facts.decision, facts.by, facts.reason))
    if not keeps_open:
        turn.put(replace(member, escalation=None))


def _park(turn: Turn, member: Member, trigger: Trigger, facts: Facts) -> None:
    """Leave it to a person. It keeps running, is not watched for stalls, and may signal done."""
    _decide(turn, member, trigger, facts)
    turn.put(replace(turn.members[member.key], activity=Activity.PARKED, failures=0, silences=0))


def _hold(turn: Turn, member: Member, _: Trigger, facts: Facts) -> None:
    """Leave it to a person. Nothing changes until they decide, and the stand-down ends here."""
    escalation = turn.escalations[str(member.escalation)]
    parked = replace(escalation, state=EscalationState.PARKED, decision="human", by=facts.by)
    turn.escalations[escalation.id] = parked
    why = {"reason": facts.reason} if facts.reason else {}
    turn.note("parked", member.key, escalation=escalation.id, by=facts.by, **why)


def _moot(turn: Turn, member: Member, _: Trigger, __: Facts) -> None:
    """Close an escalation without a decision: the member exited, or its work was saved after all."""
    if member.escalation is None:
        return
    escalation = turn.escalations[member.escalation]
    state = EscalationState.DECIDED if escalation.decision else EscalationState.MOOT
    turn.escalations[escalation.id] = replace(escalation, state=state)
    turn.put(replace(member, escalation=None))
    turn.note("escalation_closed", member.key, escalation=escalation.id)


def _mail_changes(turn: Turn, member: Member, _: Trigger, facts: Facts) -> None:
    turn.put(replace(member, held_done=False))
    turn.mail.append(Post(member.key, "Changes requested", facts.text, priority="high", sender="lead"))


def _nudge_changes(turn: Turn, member: Member, _: Trigger, facts: Facts) -> None:
    turn.act(ActKind.NUDGE, member, text=facts.text)


def _keep_ref(turn: Turn, member: Member, _: Trigger, facts: Facts) -> None:
    if facts.ref:
        turn.put(replace(member, refs=(*member.refs, facts.ref)))
        turn.note("salvaged", member.key, ref=facts.ref)


def _begin(kind: ActKind) -> Callable[[Turn, Member, Trigger, Facts], None]:
    def action(turn: Turn, member: Member, _: Trigger, __: Facts) -> None:
        turn.act(kind, member)

    return action


def _ask_exit(turn: Turn, member: Member, trigger: Trigger, facts: Facts) -> None:
    """Let it exit in its own way. If its own process is dead, terminate the rest of its tree at once."""
    if member.exited:
        _terminate(turn, member, trigger, facts)
    else:
        turn.act(ActKind.ASK_EXIT, turn.put(replace(member, terminated=False)))


def _terminate(turn: Turn, member: Member, _: Trigger, __: Facts) -> None:
    turn.act(ActKind.TERMINATE, turn.put(replace(member, terminated=True)))


def _settle(turn: Turn, member: Member, trigger: Trigger, facts: Facts) -> None:
    # The outcome is final from here on (I6): tasks are given back, and unread mail bounces to the lead.
    unread = facts.reason if trigger is Trigger.LAST_READ_FAILED else ""
    member = replace(member, settled=True, unread=unread)
    member = turn.put(replace(member, outcome=final_outcome(member)))
    turn.happen(MemberGone(member.key, member.outcome, member.unread))
    turn.released.append(GiveBackTasks(member.key, handed_in=member.forced and bool(member.issues)))
    turn.sealed.append(member.key)


ACTIONS: Final[dict[Action, Callable[[Turn, Member, Trigger, Facts], None]]] = {
    Action.RECORD_ANSWER: _record_answer,
    Action.DELIVER_REQUEST: _deliver_request,
    Action.TELL_WITHDRAWN: _tell_withdrawn,
    Action.FORGET_ANSWER: _forget_answer,
    Action.HOLD_DONE: _hold_done,
    Action.EXCUSE_REVIEW: _excuse_review,
    Action.MARK_IDLE: _mark_idle,
    Action.MARK_WORKING: _mark_working,
    Action.MARK_STALLED: _mark_stalled,
    Action.MARK_EXITED: _mark_exited,
    Action.MARK_FAILED: _mark_failed,
    Action.MARK_VERIFIED: _mark_verified,
    Action.MARK_FORCED: _mark_forced,
    Action.MARK_HERE: _mark_here,
    Action.MARK_STUCK: _mark_stuck,
    Action.UNSTICK: _unstick,
    Action.COUNT_DIRTY: _count_dirty,
    Action.COUNT_WAIT: _count_wait,
    Action.INSPECT: _inspect,
    Action.NUDGE: _nudge,
    Action.RENUDGE: _renudge,
    Action.CAPTURE: _capture,
    Action.ESCALATE: _escalate,
    Action.DECIDE: _decide,
    Action.PARK: _park,
    Action.HOLD: _hold,
    Action.MOOT: _moot,
    Action.MAIL_CHANGES: _mail_changes,
    Action.NUDGE_CHANGES: _nudge_changes,
    Action.SALVAGE: _begin(ActKind.SALVAGE),
    Action.KEEP_REF: _keep_ref,
    Action.ASK_EXIT: _ask_exit,
    Action.TERMINATE: _terminate,
    Action.KILL: _begin(ActKind.KILL),
    Action.LAST_READ: _begin(ActKind.LAST_READ),
    Action.SETTLE: _settle,
}
