"""`headcount cycle`: hand a member's work over to its next generation, in the same workspace."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headcount.app.app import open_app
from headcount.app.cycle import cycle, own_name
from headcount.app.resident import ensure_driven
from headcount.app.up import wait_for
from headcount.cli.options import add_team
from headcount.protocol.member import State

if TYPE_CHECKING:
    import argparse

_PATIENCE_S = 600


def configure(parser: argparse.ArgumentParser) -> None:
    who = parser.add_mutually_exclusive_group(required=True)
    who.add_argument("member", nargs="?", metavar="MEMBER")
    who.add_argument("--self", action="store_true", dest="myself", help="the member that calls this")
    parser.add_argument("--remarks", default="", metavar="R", help="what its successor should know besides")
    add_team(parser)
    parser.add_argument("--no-wait", action="store_true", help="do not wait until the successor runs")


def run(args: argparse.Namespace) -> int:
    app = open_app(make=False)
    name = own_name(app) if args.myself else args.member
    answer = cycle(app, name, args.remarks, args.team)
    if not app.caller.is_member:
        ensure_driven(app)
    following = not args.no_wait and not app.caller.is_member
    if following:
        team = wait_for(app, answer["team"], lambda t: _arrived(t, answer), _PATIENCE_S)
        successor = team.latest(answer["member"])
        answer["successor"] = successor.key if successor else None
        answer["status"] = str(successor.state) if successor else "gone"
    if args.json:
        print(json.dumps(answer, ensure_ascii=False))
    elif following and answer["status"] == "running":
        print(f"Cycled {name}: {answer['successor']} runs in the same workspace, with the handover.")
    else:
        print(f"The handover of {name} is stored; {answer['status'].replace('_', ' ')}.")
    return 0 if not following or answer["status"] == "running" else 1


def _arrived(team: object, answer: dict[str, object]) -> bool:
    """Its successor runs or failed to, or the request was refused."""
    latest = team.latest(answer["member"])  # type: ignore[attr-defined]
    if latest.generation == answer["generation"]:
        return latest.state is State.ESCALATED or (
            latest.state is State.RUNNING and latest.request is None and latest.ask is None
        )
    return latest.state is not State.STARTING
