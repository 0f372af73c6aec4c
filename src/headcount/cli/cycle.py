"""`headcount cycle`: hand a member's work over to its next generation, in the same workspace."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from headcount.app.app import open_app
from headcount.app.cycle import cycle, own_name
from headcount.app.progress import waits_for
from headcount.app.resident import ensure_driven
from headcount.app.standing_down import status_of
from headcount.app.up import wait_for
from headcount.cli.options import add_team
from headcount.cli.terminal import Live
from headcount.protocol.member import State

if TYPE_CHECKING:
    import argparse

    from headcount.app.app import App
    from headcount.protocol.team import Team

_PATIENCE_S = 600
_QUIET_S = 2.0


def configure(parser: argparse.ArgumentParser) -> None:
    who = parser.add_mutually_exclusive_group(required=True)
    who.add_argument("member", nargs="?", metavar="MEMBER", help="its name")
    who.add_argument("--self", action="store_true", dest="myself", help="the calling member")
    parser.add_argument("--remarks", default="", metavar="TEXT", help="a note for its successor")
    add_team(parser)
    parser.add_argument("--no-wait", action="store_true", help="do not wait for the successor")


def run(args: argparse.Namespace) -> int:
    app = open_app(make=False)
    name = own_name(app) if args.myself else args.member
    answer = cycle(app, name, args.remarks, args.team)
    following = not args.no_wait and not app.caller.is_member
    if not app.caller.is_member:
        ensure_driven(app)
    if following:
        answer.update(_follow(app, answer, quiet=args.json))
    if args.json:
        print(json.dumps(answer, ensure_ascii=False))
    elif answer["status"] == "running":
        print(
            f"Cycled {answer['member']}: {answer['successor']} runs in the same workspace, with the handover."
        )
    else:
        print(f"The handover of {answer['member']} is stored; {answer['status'].replace('_', ' ')}.")
        if answer["status"] == "escalated":
            print("Hint: See what can be decided with `headcount escalations`")
    return 0 if not following or answer["status"] == "running" else 1


def _follow(app: App, answer: dict[str, Any], quiet: bool) -> dict[str, Any]:
    """What came of it: how its successor stands or, while there is none, the request to leave."""
    live = Live(sys.stderr, after_s=_QUIET_S)

    def arrived(team: Team) -> bool:
        latest = team.latest(answer["member"])
        if latest is not None and latest.state is not State.RUNNING and not quiet:
            live.show([f"{latest.key}: {waits_for(latest)}"])
        return _arrived(team, answer)

    team = wait_for(app, answer["team"], arrived, _PATIENCE_S)
    latest = team.latest(answer["member"])
    if latest is not None and latest.generation > answer["generation"]:
        return {"successor": latest.key, "status": str(latest.state)}
    return {"successor": None, "status": status_of(app, answer["team"], answer["requestId"])["status"]}


def _arrived(team: Team, answer: dict[str, Any]) -> bool:
    """Its successor runs or failed to; or it refused, is escalated, or is gone and nobody follows."""
    latest = team.latest(answer["member"])
    assert latest is not None
    if latest.generation > answer["generation"]:
        return latest.state is not State.STARTING
    refused = latest.state is State.RUNNING and latest.request is None and latest.ask is None
    return latest.ended or refused
