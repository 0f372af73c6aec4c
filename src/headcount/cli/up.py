"""`headcount up`: start a team from its definition."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headcount.app.app import open_app
from headcount.app.definition import read_definition
from headcount.app.teams import roster, status
from headcount.app.up import start_team
from headcount.cli.status import describe

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a .py or .tsx definition with one team")


def run(args: argparse.Namespace) -> int:
    definition = read_definition(args.file)
    app = open_app()
    team = start_team(app, definition)
    failed = [m for m in team.members.values() if m.failure]
    if args.json:
        print(json.dumps({"team": team.name, "teamId": team.id, "members": roster(team)}, ensure_ascii=False))
    else:
        print("\n".join(describe(status(app, team.name)[0])))
        print(f"Started {len(team.members) - len(failed)} of {len(team.members)} members.")
        print(f"Watch with `headcount status`, end with `headcount down {team.name}`.")
    return 1 if failed else 0
