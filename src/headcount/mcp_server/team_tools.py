"""Teams, members and what waits for a decision."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from headcount.app import standing_down
from headcount.domain.names import check_size, show
from headcount.errors import ProcessError, UsageError
from headcount.mcp_server.tool_calls import drive

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headcount.app.app import App
    from headcount.app.stand_down_answer import StandDownAnswer

    Arguments = dict[str, Any]
    Answer = Mapping[str, object]

# How long a tool stays for something that is nearly there. A client waits for a minute or so at most.
_START_S = 10.0
_CLOSE_S = 10.0


def team_create(app: App, args: Arguments) -> Answer:
    from headcount.app.teams import create_team

    team = create_team(
        app, args["team_name"], args.get("description", ""), agent=args.get("agent_type"), environ=os.environ
    )
    return {"teamId": team.id, "teamName": team.name, "status": str(team.status)}


def teammate_spawn(app: App, args: Arguments) -> Answer:
    from headcount.app.member_start import Plan
    from headcount.app.team_start import wait_started
    from headcount.app.teams import spawn

    name = app.pick_team(args.get("team_name"))
    check_size("prompt", args.get("prompt", ""), app.limits.message_bytes)
    plan = Plan(args["name"], args.get("agent"), model=args.get("model"), prompt=args.get("prompt", ""))
    key = spawn(app, name, plan).key
    drive(app)
    member = wait_started(app, name, key, _START_S).members[key]
    if member.failure:
        raise ProcessError(f"Did not start {member.name}", member.failure, code="start-failed")
    return {
        "teammateId": f"{name}/{key}",
        "name": member.name,
        "generation": member.generation,
        "status": str(member.state),
    }


def team_shutdown(app: App, args: Arguments) -> Answer:
    name = app.pick_team(args.get("team_name"))
    report = standing_down.stand_down(app, name, reason=args.get("reason", ""))
    if report["status"] == "shutdown":
        return _shutdown(report)
    drive(app)
    if not report.get("pendingApprovals"):
        report = _wait_closed(app, name, report)
    return _shutdown(report)


def _wait_closed(app: App, name: str, report: StandDownAnswer) -> StandDownAnswer:
    """Wait some seconds for the end. No answer of a member is pending, so there should be no longer wait."""
    from headcount.app.team_start import wait_for

    wait_for(app, name, lambda t: standing_down.is_over(t.status), _CLOSE_S)
    return standing_down.status_of(app, name, report["requestId"])


def _shutdown(report: StandDownAnswer) -> Answer:
    """Return the two short forms that callers know: closed or pending. Anything else is returned whole."""
    known = {"shutdown": ("teamId", "status", "deleted", "warnings"),
             "pending_shutdown": ("teamId", "status", "requestId", "pendingApprovals")}  # fmt: skip
    keys = known.get(report["status"], tuple(report))
    return {key: value for key, value in report.items() if key in keys and (key, value) != ("warnings", [])}


def shutdown_status(app: App, args: Arguments) -> Answer:
    app.check("status")
    wanted = args.get("request_id")
    report = standing_down.status_of(app, app.pick_team(args.get("team_name")), wanted)
    if wanted is not None and report["requestId"] is None:
        raise UsageError(
            f"request_id {show(wanted)} is not known", f"{report['teamId']} was never asked under it",
            ("Leave out request_id for the open or the last one",), code="unknown-request",
        )  # fmt: skip
    return report


def escalation_list(app: App, args: Arguments) -> Answer:
    app.check("status")
    found = standing_down.escalations(app, args.get("team_name"), every=args.get("all", False))
    return {"escalations": found}


def escalation_decide(app: App, args: Arguments) -> Answer:
    decided = standing_down.decide(
        app, args["id"], args["decision"], args.get("reason", ""), args.get("team_name")
    )
    drive(app)
    return decided
