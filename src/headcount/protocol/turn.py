"""One step in the making: the team's parts while they change, and the small deeds that go with each move.

Mutable inside, so that the rules read as what happens; what leaves it (`result`) are values again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from headcount.domain import templates
from headcount.protocol.effects import Act, ActKind, GiveBackTasks, Note, Post, Seal
from headcount.protocol.member import LIMITED, TABLE, Cue, Do, Member, final_outcome
from headcount.protocol.team import Escalation, decisions_now

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.domain.policy import Policy
    from headcount.protocol.effects import Effect
    from headcount.protocol.events import Inspected
    from headcount.protocol.team import Request, Team

# A move that begins or re-arms something opens a new epoch even where the state stays the same; the others
# must not, or the result that is being waited for would count as late.
_REARMS: Final = frozenset((
    Do.RECORD_ANSWER, Do.MARK_IDLE, Do.MARK_WORKING, Do.MARK_STALLED, Do.MARK_STUCK, Do.INSPECT, Do.NUDGE,
    Do.RENUDGE, Do.CAPTURE, Do.SALVAGE, Do.ASK_EXIT, Do.TERMINATE, Do.KILL, Do.SETTLE,
))  # fmt: skip


class Turn:
    def __init__(self, team: Team, policy: Policy) -> None:
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
        self.effects: list[Effect] = []

    def result(self) -> tuple[Team, tuple[Effect, ...]]:
        return self.team_now(), tuple(self.effects)

    def team_now(self) -> Team:
        return replace(
            self.team, status=self.status, members=self.members, generations=self.generations,
            requests=self.requests, last_request=self.last_request, escalations=self.escalations,
            escalation_count=self.escalation_count, close_step=self.close_step, close_epoch=self.close_epoch,
            close_failures=self.close_failures, warnings=self.warnings,
        )  # fmt: skip

    def put(self, member: Member, **changes: Any) -> Member:
        self.members[member.key] = changed = replace(member, **changes)
        return changed

    def note(self, kind: str, about: str, **data: object) -> None:
        self.effects.append(Note(kind, about, data))

    def late(self, about: str, **data: object) -> None:
        """It came too late, twice, or makes no sense: recorded, and nothing else (I6)."""
        self.note("late", about, **data)

    def act(self, kind: ActKind, member: Member, **data: object) -> None:
        self.effects.append(Act(kind, member.key, member.epoch, data))

    def post(self, member: Member, subject: str, body: str, **more: Any) -> None:
        self.effects.append(Post(member.key, subject, body, **more))

    def ended(self, request: Request) -> None:
        if request.whole_team:
            self.last_request = request

    def cue(self, key: str, cue: Cue, **facts: Any) -> None:
        """Move one member by the table; a cue without a row changes nothing."""
        member = self.members[key]
        rule = TABLE.get((member.state, cue))
        if rule is None:
            self.late(key, cue=str(cue), state=str(member.state))
            return
        moved = rule.to is not member.state
        epoch = member.epoch + (1 if moved or not _REARMS.isdisjoint(rule.do) else 0)
        self.put(member, state=rule.to, epoch=epoch)
        self.note("moved", key, **{"from": str(member.state), "to": str(rule.to), "cue": str(cue)})
        facts["cue"] = cue
        for deed in rule.do:
            _DEEDS[deed](self, self.members[key], facts)

    def findings_to_witness(self, event: Inspected) -> None:
        """The witness judges: it gets the findings as mail, and its verdict must come within the limit."""
        body = templates.findings_for_witness(event.key, event.issues)
        self.put(self.members[event.key], judging=True)
        self.effects.append(Post("witness", f"Verdict wanted: {event.key}", body, sender="operator"))


# --- the deeds ---------------------------------------------------------------------------------------------

Facts = dict[str, Any]


def _record_answer(turn: Turn, member: Member, facts: Facts) -> None:
    if member.answer is not None:
        return  # it answered, and exited afterwards
    answer, reason = facts["answer"], facts.get("reason", "")
    turn.put(member, answer=answer, answer_reason=reason)
    turn.note("answered", member.key, answer=answer, reason=reason, request=member.ask)
    if answer == "unanswered":
        turn.note("warning", member.key, text=templates.not_acknowledged(member.name))


def _deliver_request(turn: Turn, member: Member, facts: Facts) -> None:
    request: Request = facts["request"]
    if member.activity == "paused":
        turn.act(ActKind.RESUME, member)
    activity = LIMITED if member.activity == LIMITED else "working"  # asking does not end a limit
    turn.put(member, ask=request.id, answer=None, answer_reason="", activity=activity, silences=0)
    reason = request.reason or "Shutdown requested"
    turn.post(
        member, "Shutdown requested", templates.shutdown_request(request.id, reason),
        type="shutdown_request", request_id=request.id, priority="high", sender=request.by,
    )  # fmt: skip
    turn.act(ActKind.NUDGE, turn.members[member.key], text=templates.shutdown_nudge(request.id, reason))


def _tell_withdrawn(turn: Turn, member: Member, _: Facts) -> None:
    """By the id that its mailbox holds, which is a narrower request's when that one was taken over."""
    turn.post(
        member, "Shutdown withdrawn", f"The request {member.ask} is withdrawn. Go on with your work.",
        type="shutdown_withdrawn", request_id=member.ask,
    )  # fmt: skip


def _forget_answer(turn: Turn, member: Member, _: Facts) -> None:
    turn.put(member, ask=None, answer=None, answer_reason="", held_done=False)


def _mark(**changes: Any) -> Callable[[Turn, Member, Facts], None]:
    def deed(turn: Turn, member: Member, _: Facts) -> None:
        turn.put(member, **changes)

    return deed


def _mark_working(turn: Turn, member: Member, facts: Facts) -> None:
    """Words of others wake nobody who sleeps, and end no limit; a claim is its own."""
    held = facts["cue"] is Cue.CHANGES and member.activity in ("paused", LIMITED)
    activity = member.activity if held else "working"
    turn.put(member, activity=activity, task=facts.get("task") or member.task)


def _mark_stalled(turn: Turn, member: Member, _: Facts) -> None:
    """Shown as stalled, and nudged once: the limit is not armed again before it gives a sign of life."""
    member = turn.put(member, activity="stalled")
    turn.post(member, "No sign of progress", templates.STALLED, priority="high")
    turn.act(ActKind.NUDGE, member, text=templates.STALLED)


def _mark_exited(turn: Turn, member: Member, facts: Facts) -> None:
    """Dead before anyone asked, unless it had signalled done or was part of a stand-down already."""
    before = member.request is None and member.attempts == 0
    turn.put(member, exited=True, already_gone=member.already_gone or before)
    turn.note("exited", member.key, detail=facts.get("detail", ""))


def _mark_failed(turn: Turn, member: Member, facts: Facts) -> None:
    turn.put(member, failure=facts.get("reason") or "did not register in time")
    turn.note("start_failed", member.key, reason=turn.members[member.key].failure)


def _mark_verified(turn: Turn, member: Member, _: Facts) -> None:
    turn.put(member, failures=0, issues=())
    turn.note("verified_clean", member.key)


def _mark_stuck(turn: Turn, member: Member, facts: Facts) -> None:
    turn.put(member, stuck=True, alive=tuple(facts.get("alive", ())))
    turn.note("stuck", member.key, alive=list(facts.get("alive", ())))


def _count_dirty(turn: Turn, member: Member, facts: Facts) -> None:
    member = turn.put(member, issues=tuple(facts["issues"]), failures=member.failures + 1)
    turn.note("found_dirty", member.key, issues=list(member.issues), attempt=member.attempts)


def _count_wait(turn: Turn, member: Member, _: Facts) -> None:
    turn.put(member, waits=member.waits + 1, failures=0, silences=0)


def _inspect(turn: Turn, member: Member, _: Facts) -> None:
    forced = member.forced or member.answer == "rejected"
    member = turn.put(member, attempts=member.attempts + 1, forced=forced, held_done=False, judging=False)
    turn.act(ActKind.INSPECT, member, attempt=member.attempts)


def _nudge(turn: Turn, member: Member, _: Facts) -> None:
    member = turn.put(member, silences=0)
    turn.post(
        member, "Verification failed", templates.verification_failed(member.issues),
        template=templates.VERIFICATION_FAILED, priority="high",
    )  # fmt: skip
    turn.act(ActKind.NUDGE, member, text=templates.witness_check(member.issues))


def _renudge(turn: Turn, member: Member, _: Facts) -> None:
    member = turn.put(member, silences=member.silences + 1)
    text = templates.witness_check(member.issues, urgent=True)
    turn.act(ActKind.NUDGE, member, text=text, urgent=True)


def _capture(turn: Turn, member: Member, _: Facts) -> None:
    turn.act(ActKind.CAPTURE, turn.put(member, silences=member.silences + 1))


_CAUSES: Final = {
    Cue.DIRTY_AGAIN: "dirty",
    Cue.SILENT_THRICE: "silence",
    Cue.REFUSES: "refusal",
    Cue.SALVAGE_FAILED: "salvage",
}


def _escalate(turn: Turn, member: Member, facts: Facts) -> None:
    """Opened and mailed once; a salvage that fails again leaves the one that is open (I9)."""
    cause = _CAUSES[facts["cue"]]
    issues = member.issues
    if cause == "salvage":
        issues = (f"salvage failed: {facts['reason']}",)
    elif cause == "refusal":
        issues = (f"refuses to stand down: {facts['reason']}",)
    member = turn.put(member, issues=issues)
    open_one = turn.escalations.get(member.escalation or "")
    if open_one is not None:
        turn.escalations[open_one.id] = replace(open_one, cause=cause, issues=issues, state="open")
        turn.note("still_escalated", member.key, escalation=open_one.id, issues=list(issues))
        return
    turn.escalation_count += 1
    escalation = Escalation(f"e{turn.escalation_count}", member.key, cause, issues, member.attempts)
    turn.escalations[escalation.id] = escalation
    member = turn.put(member, escalation=escalation.id)
    turn.note("escalated", member.key, escalation=escalation.id, cause=cause, issues=list(issues))
    subject, body = templates.worker_escalation(
        turn.team.name, member.name, member.task or "no task", member.attempts, issues, escalation.id,
        decisions_now(turn.team_now(), escalation.id, turn.policy),
    )  # fmt: skip
    escalated = templates.WORKER_ESCALATION
    turn.effects.append(Post("lead", subject, body, template=escalated, priority="high", about=member.key))
    if turn.policy.notify:
        turn.act(ActKind.NOTIFY, member, escalation=escalation.id)
    # A policy may decide, and is recorded as the decider; never about a salvage that failed.
    if turn.policy.on_escalation == "force-kill" and cause != "salvage":
        turn.cue(member.key, Cue.FORCE_KILL, decision="force-kill", by="policy")


def _decide(turn: Turn, member: Member, facts: Facts) -> None:
    """Closes the escalation, unless it is about a salvage: that one closes when the salvage succeeds."""
    escalation = turn.escalations[str(member.escalation)]
    decision, by = facts.get("decision", "force"), facts["by"]
    keeps_open = escalation.cause == "salvage"
    turn.escalations[escalation.id] = replace(
        escalation, state="open" if keeps_open else "decided", decision=decision, by=by
    )
    turn.note("decided", member.key, escalation=escalation.id, decision=decision, by=by, **_why(facts))
    if not keeps_open:
        turn.put(member, escalation=None)


def _park(turn: Turn, member: Member, facts: Facts) -> None:
    """A person works on it now: it runs on, is not watched for stalls, and may signal done as ever."""
    _decide(turn, member, facts)
    turn.put(turn.members[member.key], activity="parked", failures=0, silences=0)


def _hold(turn: Turn, member: Member, facts: Facts) -> None:
    """Somebody looks at it; until they decide, it stands as it is and the stand-down has ended here."""
    escalation = turn.escalations[str(member.escalation)]
    turn.escalations[escalation.id] = replace(escalation, state="parked", decision="human", by=facts["by"])
    turn.note("parked", member.key, escalation=escalation.id, by=facts["by"], **_why(facts))


def _why(facts: Facts) -> dict[str, str]:
    """What whoever decided had to say about it, if anything."""
    return {"reason": facts["reason"]} if facts.get("reason") else {}


def _moot(turn: Turn, member: Member, _: Facts) -> None:
    """What was escalated has settled itself: the member is dead, or its work is safe after all."""
    if member.escalation is None:
        return
    escalation = turn.escalations[member.escalation]
    turn.escalations[escalation.id] = replace(escalation, state="decided" if escalation.decision else "moot")
    turn.put(member, escalation=None)
    turn.note("escalation_closed", member.key, escalation=escalation.id)


def _mail_changes(turn: Turn, member: Member, facts: Facts) -> None:
    turn.put(member, held_done=False)
    turn.post(member, "Changes requested", facts["text"], priority="high", sender="lead")


def _nudge_changes(turn: Turn, member: Member, facts: Facts) -> None:
    turn.act(ActKind.NUDGE, member, text=facts["text"])


def _keep_ref(turn: Turn, member: Member, facts: Facts) -> None:
    if facts.get("ref"):
        turn.put(member, refs=(*member.refs, facts["ref"]))
        turn.note("salvaged", member.key, ref=facts["ref"])


def _begin(kind: ActKind, **changes: Any) -> Callable[[Turn, Member, Facts], None]:
    def deed(turn: Turn, member: Member, _: Facts) -> None:
        turn.act(kind, turn.put(member, **changes))

    return deed


def _ask_exit(turn: Turn, member: Member, facts: Facts) -> None:
    """One whose own process is dead cannot be asked: the rest of its tree is terminated at once."""
    if member.exited:
        _DEEDS[Do.TERMINATE](turn, member, facts)
    else:
        turn.act(ActKind.ASK_EXIT, turn.put(member, terminated=False))


def _settle(turn: Turn, member: Member, facts: Facts) -> None:
    failed = facts["cue"] is Cue.LAST_READ_FAILED
    member = turn.put(member, settled=True, unread=str(facts.get("reason")) if failed else "")
    member = turn.put(member, outcome=final_outcome(member))
    turn.note("gone", member.key, outcome=member.outcome, unread=member.unread)
    turn.effects.append(GiveBackTasks(member.key, handed_in=member.forced and bool(member.issues)))
    turn.effects.append(Seal(member.key))


_DEEDS: Final[dict[Do, Callable[[Turn, Member, Facts], None]]] = {
    Do.RECORD_ANSWER: _record_answer,
    Do.DELIVER_REQUEST: _deliver_request,
    Do.TELL_WITHDRAWN: _tell_withdrawn,
    Do.FORGET_ANSWER: _forget_answer,
    Do.HOLD_DONE: _mark(held_done=True),
    Do.EXCUSE_REVIEW: _mark(awaits_review=False),
    Do.MARK_IDLE: _mark(activity="idle"),
    Do.MARK_WORKING: _mark_working,
    Do.MARK_STALLED: _mark_stalled,
    Do.MARK_EXITED: _mark_exited,
    Do.MARK_FAILED: _mark_failed,
    Do.MARK_VERIFIED: _mark_verified,
    Do.MARK_FORCED: _mark(forced=True),
    Do.MARK_STUCK: _mark_stuck,
    Do.UNSTICK: _mark(stuck=False, alive=()),
    Do.COUNT_DIRTY: _count_dirty,
    Do.COUNT_WAIT: _count_wait,
    Do.INSPECT: _inspect,
    Do.NUDGE: _nudge,
    Do.RENUDGE: _renudge,
    Do.CAPTURE: _capture,
    Do.ESCALATE: _escalate,
    Do.DECIDE: _decide,
    Do.PARK: _park,
    Do.HOLD: _hold,
    Do.MOOT: _moot,
    Do.MAIL_CHANGES: _mail_changes,
    Do.NUDGE_CHANGES: _nudge_changes,
    Do.SALVAGE: _begin(ActKind.SALVAGE),
    Do.KEEP_REF: _keep_ref,
    Do.ASK_EXIT: _ask_exit,
    Do.TERMINATE: _begin(ActKind.TERMINATE, terminated=True),
    Do.KILL: _begin(ActKind.KILL),
    Do.LAST_READ: _begin(ActKind.LAST_READ),
    Do.SETTLE: _settle,
}
