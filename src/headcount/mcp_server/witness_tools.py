"""Looking, judging, speaking, handing over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.app import witness
from headcount.mcp_server.tool_calls import drive

if TYPE_CHECKING:
    from headcount.app.app import App

    Arguments = dict[str, Any]
    Answer = dict[str, Any]


def witness_findings(app: App, args: Arguments) -> Answer:
    return witness.findings(app, args["member"], args.get("team_name"), live=args.get("live", True))


def witness_verdict(app: App, args: Arguments) -> Answer:
    clean = args["verdict"] == "clean"
    answer = witness.verdict(app, args["member"], clean, args.get("issues", ()), args.get("team_name"))
    drive(app)
    return answer


def witness_nudge(app: App, args: Arguments) -> Answer:
    return witness.nudge(app, args["member"], args["text"], args.get("team_name"))


def witness_capture(app: App, args: Arguments) -> Answer:
    return witness.capture(app, args["member"], args.get("team_name"))


def witness_handoff(app: App, args: Arguments) -> Answer:
    return witness.handoff(
        app, args.get("member"), args.get("remarks", ""), args.get("next_steps", ()), args.get("team_name")
    )
