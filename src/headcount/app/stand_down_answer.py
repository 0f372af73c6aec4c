"""The answer of `down --json` and of the tools. The journal says when, the state says what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.app.app import policy_of
from headcount.domain.display import utc
from headcount.protocol.member import State
from headcount.protocol.team import Status, decisions_now

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headcount.domain.policy import Policy
    from headcount.ports import Entry, Tx
    from headcount.protocol.member import Member
    from headcount.protocol.team import Request, Team

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


_OF_THE_TEAM = ("teamId", "deleted", "warnings", "archive", "unproved")

# A team's states while a stand-down is under way, and what each is called as a stage of it.
UNDER_WAY = {"pending_shutdown": "asking", "stopping": "stopping", "closing": "closing"}


def report(tx: Tx, team: Team, request_id: str | None, gone: Sequence[str] = ()) -> dict[str, Any]:
    """How a stand-down stands. `gone`: incarnations that were asked for, too, and needed nothing any more."""
    told = tx.journal(team.id, kinds=_TOLD)
    asked = _find_request(told, request_id or _current_request(team))
    targets = _targets(team, asked, gone)
    stage = _status(team, told, asked)
    # Whoever reads this knows how a stand-down ends, and that it has not ended; how far it is comes besides.
    status = "pending_shutdown" if stage in UNDER_WAY else stage
    doubts, missing = _reservations(tx, team, targets) if status == "shutdown" else ({}, [])
    answer: dict[str, Any] = {
        "teamId": team.id,
        "status": status,
        "deleted": status == "shutdown" and team.status is Status.SHUTDOWN and not team.warnings,
        "requestId": asked.data["request"] if asked else None,
        "seconds": _seconds(told, asked),
        "members": _member_lines(targets, told, asked),
        "warnings": [*team.warnings, *doubts.values(), *missing],
        "archive": next((e.data["path"] for e in told if e.kind == "archived"), None),
    }
    answer.update(_more(tx, team, told, asked, targets, status))
    if doubts:
        answer["unproved"] = [m.name for m in targets if m.key in doubts]
    if status == "pending_shutdown":
        answer["stage"] = UNDER_WAY[stage]
    covered = _covered(asked)
    early = [m for m in targets if _was_gone(m, covered)]
    return {**answer, "alreadyGone": [_proof(tx, team, m) for m in early]} if early else answer


def _reservations(tx: Tx, team: Team, members: list[Member]) -> tuple[dict[str, str], list[str]]:
    """Return a sentence for each member without a full proof, by key, and for each lost directory.

    The salvage of a member whose directory was removed has what git kept elsewhere, and no file.
    """
    from headcount.domain.findings import Kind
    from headcount.engine.receipt import unproved

    doubts = unproved(members, tx.facts(team.id, "proof"))
    found = {key: fact.get("items", ()) for key, fact in tx.facts(team.id, "findings").items()}
    return doubts, [
        f"{m.name}: {item['what']} was removed or moved away; what stood in it is not in a salvage"
        for m in members
        for item in found.get(m.key, ())
        if item["kind"] == Kind.MISSING
    ]


def report_gone(tx: Tx, team: Team, gone: Sequence[str]) -> dict[str, Any]:
    """All that were asked for had gone before: nothing is asked again, and the proof is shown."""
    told = tx.journal(team.id, kinds=_TOLD)
    ended_by = [e for e in told if e.kind == "stand_down" and set(gone) & set(e.data["targets"])]
    members = [team.members[key] for key in gone]
    standing = report(tx, team, None)
    return {
        **{key: standing[key] for key in _OF_THE_TEAM if key in standing},
        "status": "shutdown",
        "requestId": ended_by[-1].data["request"] if ended_by else None,
        "seconds": 0.0,
        "members": _member_lines(members, told, None),
        "alreadyGone": [_proof(tx, team, m) for m in members],
    }


def describe_escalation(team: Team, escalation_id: str, policy: Policy) -> dict[str, Any]:
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


def _more(
    tx: Tx, team: Team, told: list[Entry], asked: Entry | None, targets: list[Member], status: str
) -> dict[str, Any]:
    if status == "pending_shutdown":
        return {"pendingApprovals": [m.name for m in targets if _is_pending(m)]}
    if status == "rejected" and (rejected := _rejection(told, asked)) is not None:
        return {"rejectedBy": [{"name": name, "reason": why} for name, why in rejected.data["rejected_by"]]}
    if status == "escalated":
        policy = policy_of(tx.team_settings(team.id))
        found = [describe_escalation(team, m.escalation, policy) for m in targets if m.escalation]
        return {"escalations": found}
    if status == "stuck":
        return {"alive": {m.name: list(m.alive) for m in targets if m.stuck}}
    return {}


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


def _member_lines(members: list[Member], told: list[Entry], asked: Entry | None) -> list[dict[str, Any]]:
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


def _member_line(
    member: Member, gone_at: float | None, asked: Entry | None, was_gone: bool
) -> dict[str, Any]:
    """One outcome for each incarnation and request (I6): of a later one, that nobody was there to ask."""
    line: dict[str, Any] = {"name": member.name, "generation": member.generation}
    salvage = member.refs[-1] if member.refs else None
    if was_gone:
        line |= {"answer": None, "outcome": "already_gone", "attempts": 0, "salvage": salvage, "seconds": 0.0}
        return line
    seconds = gone_at - asked.at if gone_at is not None and asked is not None else None
    line |= {
        "answer": member.answer,
        "outcome": "stuck" if member.stuck else member.outcome,
        "attempts": member.attempts,
        "salvage": salvage,
        "seconds": None if seconds is None else round(max(0.0, seconds), 3),
    }
    return line


def _proof(tx: Tx, team: Team, member: Member) -> dict[str, Any]:
    """How it ended then, and what was seen: a claim is worth what stands behind it."""
    seen = tx.fact(team.id, member.key, "proof") or {}
    return {
        "name": member.name,
        "generation": member.generation,
        "outcome": member.outcome,
        "at": utc(seen["at"]) if "at" in seen else None,
        "proof": seen.get("method"),
        "processes": len(seen.get("processes", ())),
    }
