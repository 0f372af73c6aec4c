"""Compose the answer of `down --json` and of the tools. Times are from the journal, the rest from the state.

The answers are JSON objects with fixed keys, so their types are here, and no code converts them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.app.app import policy_of
from headcount.domain.display import utc
from headcount.protocol.member import State
from headcount.protocol.team import Status, decisions_now

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NotRequired, TypedDict

    from headcount.domain.policy import Policy
    from headcount.ports import Entry, Tx
    from headcount.protocol.member import Member
    from headcount.protocol.team import Request, Team

    class MemberAnswer(TypedDict):
        """One incarnation: its answer to the request, and how it ended."""

        name: str
        generation: int
        answer: str | None
        outcome: str | None
        attempts: int
        salvage: str | None
        seconds: float | None

    class GoneAnswer(TypedDict):
        """The proof about an incarnation that was gone before the request."""

        name: str
        generation: int
        outcome: str | None
        cause: str | None
        at: str | None
        proof: str | None
        processes: int

    class Rejection(TypedDict):
        name: str
        reason: str

    class EscalationAnswer(TypedDict):
        id: str
        team: str
        member: str
        generation: int
        cause: str
        issues: list[str]
        attempts: int
        state: str
        decisions: list[str]
        decision: str | None
        by: str | None

    class StandDownAnswer(TypedDict):
        """The progress of a stand-down. The last keys are there for some statuses only."""

        teamId: str
        status: str
        deleted: bool
        requestId: str | None
        seconds: float | None
        members: list[MemberAnswer]
        warnings: list[str]
        archive: str | None
        stage: NotRequired[str]
        pendingApprovals: NotRequired[list[str]]
        rejectedBy: NotRequired[list[Rejection]]
        escalations: NotRequired[list[EscalationAnswer]]
        alive: NotRequired[dict[str, list[str]]]
        unproved: NotRequired[list[str]]
        alreadyGone: NotRequired[list[GoneAnswer]]


# Which lines of the journal tell how a stand-down went.
_TOLD = (
    "stand_down",
    "stand_down_joined",
    "answered",
    "rejected",
    "stood_down",
    "gone",
    "shutdown",
    "escalated",
    "archived",
)


# A team's states while a stand-down is under way, and what each is called as a stage of it.
UNDER_WAY = {"pending_shutdown": "asking", "stopping": "stopping", "closing": "closing"}


def report(tx: Tx, team: Team, request_id: str | None, gone: Sequence[str] = ()) -> StandDownAnswer:
    """Return the progress of a stand-down. `gone` were also named, but had ended before."""
    told = tx.journal(team.id, kinds=_TOLD)
    asked = _find_request(told, request_id or _current_request(team))
    targets = _targets(team, asked, gone)
    stage = _status(team, told, asked)
    # Whoever reads this knows how a stand-down ends, and that it has not ended; how far it is comes besides.
    status = "pending_shutdown" if stage in UNDER_WAY else stage
    doubts, missing = _reservations(tx, team, targets) if status == "shutdown" else ({}, [])
    answer: StandDownAnswer = {
        "teamId": team.id,
        "status": status,
        "deleted": status == "shutdown" and team.status is Status.SHUTDOWN and not team.warnings,
        "requestId": asked.data["request"] if asked else None,
        "seconds": _seconds(told, asked),
        "members": _member_lines(targets, told, asked),
        "warnings": [*team.warnings, *doubts.values(), *missing],
        "archive": next((e.data["path"] for e in told if e.kind == "archived"), None),
    }
    if status == "pending_shutdown":
        answer["pendingApprovals"] = [m.name for m in targets if _is_pending(m)]
        answer["stage"] = UNDER_WAY[stage]
    elif status == "rejected" and (rejected := _rejection(told, asked)) is not None:
        answer["rejectedBy"] = [{"name": name, "reason": why} for name, why in rejected.data["rejected_by"]]
    elif status == "escalated":
        policy = policy_of(tx.team_settings(team.id))
        found = [describe_escalation(team, m.escalation, policy) for m in targets if m.escalation]
        answer["escalations"] = found
    elif status == "stuck":
        answer["alive"] = {m.name: list(m.alive) for m in targets if m.stuck}
    elif doubts:
        answer["unproved"] = [m.name for m in targets if m.key in doubts]
    covered = _covered(asked)
    early = [m for m in targets if _was_gone(m, covered)]
    if early:
        answer["alreadyGone"] = [_proof(tx, team, m) for m in early]
    return answer


def _reservations(tx: Tx, team: Team, members: list[Member]) -> tuple[dict[str, str], list[str]]:
    """Return a sentence for each member without a full proof, by key, and for what is not where it should be.

    The salvage of a member whose directory was removed has what git kept elsewhere, and no file.
    """
    from headcount.domain.findings import Kind
    from headcount.engine.hub_copies import FACT
    from headcount.engine.receipt import saved_here, unproved

    doubts = unproved(members, tx.facts(team.id, "proof"))
    found = {key: fact.get("items", ()) for key, fact in tx.facts(team.id, "findings").items()}
    return doubts, saved_here(members, tx.facts(team.id, FACT)) + [
        f"{m.name}: {item['what']} was removed or moved away; what stood in it is not in a salvage, "
        f"but `headcount checkpoints {m.name}` may have it"
        for m in members
        for item in found.get(m.key, ())
        if item["kind"] == Kind.MISSING
    ]


def report_gone(tx: Tx, team: Team, gone: Sequence[str]) -> StandDownAnswer:
    """Return the proofs for members that were all gone before. No request is sent."""
    told = tx.journal(team.id, kinds=_TOLD)
    ended_by = [e for e in told if e.kind == "stand_down" and set(gone) & set(e.data["targets"])]
    members = [team.members[key] for key in gone]
    standing = report(tx, team, None)
    answer: StandDownAnswer = {
        "teamId": team.id,
        "status": "shutdown",
        "deleted": standing["deleted"],
        "requestId": ended_by[-1].data["request"] if ended_by else None,
        "seconds": 0.0,
        "members": _member_lines(members, told, None),
        "warnings": standing["warnings"],
        "archive": standing["archive"],
        "alreadyGone": [_proof(tx, team, m) for m in members],
    }
    if "unproved" in standing:
        answer["unproved"] = standing["unproved"]
    return answer


def describe_escalation(team: Team, escalation_id: str, policy: Policy) -> EscalationAnswer:
    escalation = team.escalations[escalation_id]
    return {
        "id": escalation.id,
        "team": team.name,
        "member": escalation.key.partition("#")[0],
        "generation": team.members[escalation.key].generation,
        "cause": escalation.cause,
        "issues": list(escalation.issues),
        "attempts": escalation.attempts,
        "state": escalation.state,
        "decisions": can_decide(team, escalation_id, policy),
        "decision": escalation.decision,
        "by": escalation.by,
    }


def can_decide(team: Team, escalation_id: str, policy: Policy) -> list[str]:
    """The decisions about it that would be taken at this moment; none when it is decided."""
    refusals = decisions_now(team, escalation_id, policy)
    return [decision for decision, refused in refusals.items() if refused is None]


def _is_pending(member: Member) -> bool:
    return member.state is State.STARTING or (member.state is State.ASKED and member.answer is None)


def _current_request(team: Team) -> str | None:
    open_one = team.team_request()
    if open_one is not None:
        return open_one.id
    return team.last_request.id if team.last_request else None


def _find_request(told: list[Entry], request_id: str | None) -> Entry | None:
    return next((e for e in told if e.kind == "stand_down" and e.data["request"] == request_id), None)


def _targets(team: Team, asked: Entry | None, gone: Sequence[str]) -> list[Member]:
    if asked is None:
        return []
    keys = {*asked.data["targets"], *gone}
    # Who was gone before anyone asked is part of a team's answer, so that nobody is silently missing (A5).
    everyone = bool(asked.data.get("whole_team"))
    return [m for m in team.members.values() if m.key in keys or (everyone and _is_missed(team, m))]


def _is_missed(team: Team, member: Member) -> bool:
    """Gone, and no later incarnation speaks for it; or it died without having been asked."""
    home = member.settled and member.outcome is not None
    return home and (member.already_gone or team.latest(member.name) is member)


def _covered(asked: Entry | None) -> frozenset[str]:
    return frozenset(asked.data["targets"]) if asked is not None else frozenset()


def _was_gone(member: Member, covered: frozenset[str]) -> bool:
    """Gone before this request; whatever it was asked before belongs to another one."""
    return member.settled and (member.already_gone or member.key not in covered)


def _status(team: Team, told: list[Entry], asked: Entry | None) -> str:
    if asked is None:
        return str(team.status)
    request_id = asked.data["request"]
    for entry in told:
        if entry.kind == "rejected" and entry.data["request"] == request_id:
            return "rejected"
        if entry.kind == "stood_down" and entry.data["request"] == request_id:
            return "shutdown"
    request = team.requests.get(request_id)
    if request is None or request.whole_team:
        return str(team.status)
    return _status_of_members(team, request)


def _status_of_members(team: Team, request: Request) -> str:
    """A stand-down of single members goes through the same stages; the team stays active."""
    if request.asking:
        return "pending_shutdown"
    members = [team.members[key] for key in request.targets]
    if not all(m.ended for m in members):
        return "stopping"
    return "escalated" if any(m.state is State.ESCALATED for m in members) else "stuck"


def _seconds(told: list[Entry], asked: Entry | None) -> float | None:
    if asked is None:
        return None
    ends = [e.at for e in told if e.seq > asked.seq and _ends(e, asked.data["request"])]
    return round(ends[0] - asked.at, 3) if ends else None


def _ends(entry: Entry, request_id: str) -> bool:
    """Several may be under way at once, each for others; only what closes the team ends all of them."""
    if entry.kind == "shutdown":
        return True
    return entry.kind in ("rejected", "stood_down") and entry.data["request"] == request_id


def _member_lines(members: list[Member], told: list[Entry], asked: Entry | None) -> list[MemberAnswer]:
    covered = _covered(asked)
    ends = {e.about: e.at for e in reversed(told) if e.kind == "gone"}
    lines = [_member_line(m, ends.get(m.key), asked, _was_gone(m, covered)) for m in members]
    void = _void_answers(told, asked)
    if void is not None:
        for member, line in zip(members, lines, strict=True):
            line["answer"] = void.get(member.key)
    return lines


def _void_answers(told: list[Entry], asked: Entry | None) -> dict[str, str] | None:
    """What was said to a request that somebody refused. The members have forgotten it; None of another."""
    rejected = _rejection(told, asked)
    if asked is None or rejected is None:
        return None
    said = (e for e in told if e.kind == "answered" and asked.seq < e.seq < rejected.seq)
    return {e.about: e.data["answer"] for e in said}


def _rejection(told: list[Entry], asked: Entry | None) -> Entry | None:
    request = asked.data["request"] if asked is not None else None
    return next((e for e in told if e.kind == "rejected" and e.data["request"] == request), None)


def _member_line(member: Member, gone_at: float | None, asked: Entry | None, was_gone: bool) -> MemberAnswer:
    """Return one outcome for each incarnation and request (I6). `was_gone`: it ended before this request."""
    seconds = gone_at - asked.at if gone_at is not None and asked is not None else None
    line: MemberAnswer = {
        "name": member.name,
        "generation": member.generation,
        "answer": member.answer,
        "outcome": "stuck" if member.stuck else member.outcome,
        "attempts": member.attempts,
        "salvage": member.refs[-1] if member.refs else None,
        "seconds": None if seconds is None else round(max(0.0, seconds), 3),
    }
    if was_gone:
        return {**line, "answer": None, "outcome": "already_gone", "attempts": 0, "seconds": 0.0}
    return line


def _proof(tx: Tx, team: Team, member: Member) -> GoneAnswer:
    """How it ended then, and what was seen: a claim is worth what stands behind it."""
    seen = tx.fact(team.id, member.key, "proof") or {}
    return {
        "name": member.name,
        "generation": member.generation,
        "outcome": member.outcome,
        "cause": member.cause or None,
        "at": utc(seen["at"]) if "at" in seen else None,
        "proof": seen.get("method"),
        "processes": len(seen.get("processes", ())),
    }
