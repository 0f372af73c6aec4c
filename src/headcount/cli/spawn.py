"""`headcount spawn`: start one more member in a team."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from headcount.app.app import open_app
from headcount.app.resident import ensure_driven
from headcount.app.starting import Plan
from headcount.app.teams import spawn
from headcount.app.up import wait_started
from headcount.cli.options import add_team
from headcount.cli.terminal import plain

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("name", metavar="NAME", help="a new name, or the name of a member that is gone")
    add("words", nargs="*", default=[], metavar="COMMAND", help="after --: the program and its arguments")
    add_team(parser)
    add("--agent", metavar="AGENT", help="the name of a client, instead of a command")
    add("--model", metavar="MODEL", help="the model that the client should use")
    add("--prompt", default="", metavar="PROMPT", help="its task; also its first mail")
    add(
        "--role",
        default="worker",
        choices=("worker", "spec-reviewer", "code-quality-reviewer", "lead", "witness"),
        help="its role in the team; default: worker",
    )
    add("--at", metavar="WHERE", help="start from a commit, or from a member's last inspected commit")
    add("--reviewed", action="store_true", help="keep it running after `done` until it is reviewed")
    add("--tmux", action="store_true", help="run it in a terminal that you can attach to")


def run(args: argparse.Namespace) -> int:
    app = open_app(make=False)
    team = app.pick_team(args.team)
    plan = Plan(
        args.name, args.agent, tuple(args.words) or None, args.model, args.prompt, args.role,
        awaits_review=args.reviewed, base=args.at, directory=os.getcwd(),
        runtime="tmux" if args.tmux else None,
    )  # fmt: skip
    key = spawn(app, team, plan).key
    ensure_driven(app)
    member = wait_started(app, team, key).members[key]
    if args.json:
        print(json.dumps({"teammateId": f"{team}/{key}", "name": member.name, "generation": member.generation,
                          "status": str(member.state), "failure": member.failure or None}))  # fmt: skip
    elif member.failure:
        print(f"{key} did not start: {plain(member.failure)}")
    else:
        print(f"Started {key} in {team}.")
    return 1 if member.failure else 0
