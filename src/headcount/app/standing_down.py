"""Standing down: ask, see how far it is, decide what is escalated."""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING, Any

from headcount.domain.names import show
from headcount.errors import Declined, UsageError
from headcount.protocol import events as ev
from headcount.protocol.member import State
from headcount.protocol.team import Status, why_not_decide, why_not_stand_down

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headcount.app.app import App
    from headcount.ports import Entry, Tx
    from headcount.protocol.member import Member
    from headcount.protocol.team import Request, Team

# Which lines of the journal tell how a stand-down went.
_TOLD = (
    "stand_down",
    "stand_down_joined",
    "rejected",
    "stood_down",
    "gone",
    "shutdown",
    "escalated",
    "archived",
)


def stand_down(
    app: App,
    team_name: str,
    names: Iterable[str] | None = None,
    reason: str = "",
    *,
    force: bool = False,
    keep_team: bool = False,
) -> dict[str, Any]:
    """Open a stand-down, or join the one that is open; the answer is how it stands now.

    A team that is closed answers with its receipt: asking twice is no error.
    """
    wanted = tuple(dict.fromkeys(names)) if names is not None else None
    app.check("stand_down_team" if wanted is None else "stand_down_member")
    if force:
        app.check("force")
    request_id = str(uuid.uuid4())
    with app.store.read() as tx:
        team = app.load(tx, team_name)
        if team.status is Status.SHUTDOWN:
            return report(tx, team, None)
        _check_wanted(team, wanted)
    team = app.hear(team_name, ev.StandDown(request_id, wanted, reason, force, keep_team, by=app.caller.who))
    request = _request_for(team, request_id, wanted)
    with app.store.read() as tx:
        return report(tx, team, request)


def status_of(app: App, team_name: str, request_id: str | None = None) -> dict[str, Any]:
    """How a stand-down stands: the named one, the team's open one, or the team's last one."""
    with app.store.read() as tx:
        return report(tx, app.load(tx, team_name), request_id)


def is_over(answer: dict[str, Any]) -> bool:
    """Nothing more happens without somebody doing something."""
    return answer["status"] in ("shutdown", "rejected", "escalated", "stuck", "active")


def decide(
    app: App, escalation_id: str, decision: str, reason: str = "", team: str | None = None
) -> dict[str, Any]:
    """Decide an escalation; the first decision wins, and later ones hear which it was."""
    name = app.pick_team(team)
    app.check("decide")
    with app.turn(name) as (_, found, policy):
        refused = why_not_decide(found, escalation_id, decision, policy)
        if refused:
            kind = UsageError if refused[0].startswith("unknown") else Declined
            raise kind(
                f"Did not decide {show(escalation_id)}",
                refused[1],
                ("See what is open with `headcount escalations`",),
                code=refused[0],
            )
    team_now = app.hear(name, ev.Decided(escalation_id, decision, app.caller.who, reason))
    return _escalation(team_now, escalation_id)


def escalations(app: App, team: str | None = None, *, every: bool = False) -> list[dict[str, Any]]:
    """The open and the parked ones, or `every` one there was."""
    with app.store.read() as tx:
        names = [app.pick_team(team)] if team or app.caller.is_member else tx.team_names()
        teams = [app.load(tx, name) for name in names]
    return [
        _escalation(found, escalation.id)
        for found in teams
        for escalation in found.escalations.values()
        if every or escalation.state in ("open", "parked")
    ]


def _escalation(team: Team, escalation_id: str) -> dict[str, Any]:
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
        "decision": escalation.decision,
        "by": escalation.by,
    }


# --- the answer of `down --json` -------------------------------------------------------------------------


def report(tx: Tx, team: Team, request_id: str | None) -> dict[str, Any]:
    """The answer of `down --json` and of the tools. The journal says when, the state says what."""
    told = tx.journal(team.id, kinds=_TOLD)
    asked = _find_request(told, request_id or _current_request(team))
    targets = _targets(team, asked)
    status = _status(team, told, asked)
    answer: dict[str, Any] = {
        "teamId": team.id,
        "status": status,
        "deleted": status == "shutdown" and team.status is Status.SHUTDOWN and not team.warnings,
        "requestId": asked.data["request"] if asked else None,
        "seconds": _seconds(told, asked),
        "members": [_member_line(m, told, asked) for m in targets],
        "warnings": list(team.warnings),
        "archive": next((e.data["path"] for e in told if e.kind == "archived"), None),
    }
    answer.update(_more(team, told, asked, targets, status))
    return answer


def _more(
    team: Team, told: list[Entry], asked: Entry | None, targets: list[Member], status: str
) -> dict[str, Any]:
    if status == "pending_shutdown":
        return {"pendingApprovals": [m.name for m in targets if _is_pending(m)]}
    if status == "rejected" and asked is not None:
        rejected = next(
            e for e in told if e.kind == "rejected" and e.data["request"] == asked.data["request"]
        )
        return {"rejectedBy": [{"name": name, "reason": why} for name, why in rejected.data["rejected_by"]]}
    if status == "escalated":
        found = [_escalation(team, m.escalation) for m in targets if m.escalation]
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


def _request_for(team: Team, request_id: str, names: tuple[str, ...] | None) -> str:
    """The id under which this was taken up: its own, or that of the request it joined (B3)."""
    if request_id in team.requests:
        return request_id
    for request in team.requests.values():
        if request.whole_team or _covers(request, names):
            return request.id
    return request_id


def _covers(request: Request, names: tuple[str, ...] | None) -> bool:
    covered = {key.partition("#")[0] for key in request.targets}
    return names is not None and covered >= set(names)


def _find_request(told: list[Entry], request_id: str | None) -> Entry | None:
    return next((e for e in told if e.kind == "stand_down" and e.data["request"] == request_id), None)


def _targets(team: Team, asked: Entry | None) -> list[Member]:
    if asked is None:
        return []
    keys = set(asked.data["targets"])
    # Who was dead before anyone asked is part of a team's answer, so that nobody is silently missing (A5).
    return [
        m for m in team.members.values() if m.key in keys or (m.already_gone and asked.data.get("whole_team"))
    ]


def _status(team: Team, told: list[Entry], asked: Entry | None) -> str:
    if asked is None or team.status is Status.SHUTDOWN:
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
    ends = [e.at for e in told if e.kind in ("shutdown", "rejected", "stood_down") and e.seq > asked.seq]
    return round(ends[0] - asked.at, 3) if ends else None


def _member_line(member: Member, told: list[Entry], asked: Entry | None) -> dict[str, Any]:
    gone = next((e.at for e in told if e.kind == "gone" and e.about == member.key), None)
    began = asked.at if asked else None
    return {
        "name": member.name,
        "generation": member.generation,
        "answer": member.answer,
        "outcome": "stuck" if member.stuck else member.outcome,
        "attempts": member.attempts,
        "salvage": member.refs[-1] if member.refs else None,
        "seconds": round(max(0.0, gone - began), 3) if gone is not None and began is not None else None,
    }


def _check_wanted(team: Team, names: tuple[str, ...] | None) -> None:
    for name in names or ():
        _check_known(team, name)
    refused = why_not_stand_down(team, names)
    if refused is not None:
        raise Declined(
            f"Did not stand down {', '.join(names or ())}",
            refused[1],
            (f"Stand the whole team down with `headcount down {team.name}`",),
            code=refused[0],
        )


def _check_known(team: Team, name: str) -> None:
    if team.latest(name) is None:
        raise UsageError(
            f"There is no member {show(name)} in {team.name}",
            f"these are: {', '.join(team.generations) or 'none'}",
            (f"See them with `headcount status {team.name}`",),
            code="unknown-member",
        )


def hint_for(answer: dict[str, Any], call: str) -> str:
    """What to do next, for a person; `call` is the command that asks for the same again."""
    match answer["status"]:
        case "escalated":
            first = answer["escalations"][0]["id"] if answer.get("escalations") else "ID"
            return f"Decide it with `headcount decide {first} force-kill|reassign|human|wait`"
        case "stuck":
            return f"Ask again with `{call}`: it goes on with what is alive"
        case "rejected":
            return f"Ask again later, or override with `{call} --force`"
        case "pending_shutdown" | "stopping" | "closing":
            return f"Follow it with `{call}`"
        case _:
            return ""


def archive_of(answer: dict[str, Any]) -> str | None:
    path = answer.get("archive")
    return os.path.relpath(path) if path else None
