"""`headcount pause` and `headcount resume`: hold a member's processes, and let them go on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headcount.app.app import open_app
from headcount.app.members import pause
from headcount.cli.options import add_member, add_team

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    add_member(parser)
    add_team(parser)


def run(args: argparse.Namespace) -> int:
    answer = pause(open_app(make=False), args.member, args.team, resume=args.command == "resume")
    if args.json:
        print(json.dumps(answer))
    else:
        done = "Paused" if answer["paused"] else "Resumed"
        seen = (
            "all of its processes are " + ("stopped" if answer["paused"] else "running")
            if answer["confirmed"]
            else "NOT confirmed: see `headcount status`"
        )
        print(f"{done} {answer['member']}: {seen}.")
    return 0 if answer["confirmed"] else 1
