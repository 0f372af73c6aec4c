"""`headcount pause` and `headcount resume`: hold a member's processes, and let them go on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headcount.app.app import open_app
from headcount.app.members import pause
from headcount.app.resident import ensure_driven

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("member", metavar="MEMBER")
    parser.add_argument("--team", metavar="T")


def run(args: argparse.Namespace) -> int:
    app = open_app()
    ensure_driven(app)
    answer = pause(app, args.member, args.team, resume=args.command == "resume")
    if args.json:
        print(json.dumps(answer))
    else:
        done = "Paused" if answer["paused"] else "Resumed"
        seen = (
            "every process was seen to obey"
            if answer["confirmed"]
            else "NOT confirmed: look at `headcount status`"
        )
        print(f"{done} {answer['member']}: {seen}.")
    return 0 if answer["confirmed"] else 1
