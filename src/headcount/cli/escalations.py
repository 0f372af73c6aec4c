"""`headcount escalations`: what waits for a decision."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headcount.app.app import open_app
from headcount.app.standing_down import escalations
from headcount.cli.options import add_team
from headcount.cli.terminal import plain
from headcount.protocol.team import ONE_OF_DECISIONS

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    add_team(parser)
    parser.add_argument("--all", action="store_true", help="also those that were decided")


def run(args: argparse.Namespace) -> int:
    found = escalations(open_app(make=False), args.team, every=args.all)
    if args.json:
        print(json.dumps(found, ensure_ascii=False))
        return 0
    if not found:
        print("Nothing waits for a decision.")
    for one in found:
        decided = f", {one['decision']} by {one['by']}" if one["decision"] else ""
        who = f"{one['team']}/{one['member']}"
        after = f"{one['attempts']} {'inspection' if one['attempts'] == 1 else 'inspections'}"
        print(f"{one['id']}  {who}  {one['state']}{decided}, after {after}")
        for issue in one["issues"]:
            print(f"    {plain(issue)}")
    if any(one["state"] in ("open", "parked") for one in found):
        print(f"Decide with `headcount decide ID {ONE_OF_DECISIONS}`.")
    return 0
