"""`headcount abort`: end a run. What is under way is stood down, nothing new starts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headcount.app.app import open_app
from headcount.app.resident import ensure_driven
from headcount.app.run import abort
from headcount.cli.options import add_team_word

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    add_team_word(parser)
    parser.add_argument("--reason", required=True, metavar="REASON", help="the reason that members read")


def run(args: argparse.Namespace) -> int:
    app = open_app(make=False)
    team = app.pick_team(args.team)
    now = abort(app, team, args.reason)
    if not app.caller.is_member:
        ensure_driven(app)
    if args.json:
        print(json.dumps(now, ensure_ascii=False))
    else:
        print(f"Aborting {team}: what is under way is stood down. Follow it with `headcount status {team}`.")
    return 0
