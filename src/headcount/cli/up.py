"""`headcount up`: start a team from its definition."""

from __future__ import annotations

import json
import os
import shlex
import sys
from typing import TYPE_CHECKING

from headcount.app.app import open_app
from headcount.app.branches import count_unseen, read_start
from headcount.app.definition import read_definition
from headcount.app.teams import roster, status
from headcount.app.up import check_repository, find_risks, start_team
from headcount.app.world import find_repository
from headcount.cli.status import describe
from headcount.cli.terminal import Live
from headcount.protocol.member import State

if TYPE_CHECKING:
    import argparse

    from headcount.app.app import App
    from headcount.protocol.team import Team

_QUIET_S = 2.0


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a .py or .tsx definition with one team")
    parser.epilog = "Returns when every member has started or failed. The team continues in the background."


def run(args: argparse.Namespace) -> int:
    definition = read_definition(args.file)
    app = open_app()
    check_repository(app, os.getcwd())
    for risk in find_risks(app):
        print(f"Warning: {risk.what}.\nHint: Prevent it with `{risk.do}`", file=sys.stderr)
    live = Live(sys.stderr, after_s=_QUIET_S)
    team = start_team(app, definition, lambda team: None if args.json else live.show(_progress(team)))
    failed = [m for m in team.members.values() if m.failure]
    started = len(team.members) - len(failed) - len(_starting(team))
    if args.json:
        print(json.dumps({"team": team.name, "teamId": team.id, "members": roster(team)}, ensure_ascii=False))
    else:
        print("\n".join(describe(status(app, team.name)[0])))
        print(f"Started {started} of {len(team.members)} members.")
        print("\n".join([*_where_they_begin(app), *_next(team.name, args.file, bool(failed))]))
    return 0 if started == len(team.members) else 1


def _where_they_begin(app: App) -> list[str]:
    if find_repository(app) is None:
        return [
            f"{app.root} is not in a git repository: members start in empty directories, without a branch."
        ]
    start = read_start(app)
    if start is None:
        return ["This repository has no commits: members start with an empty tree."]
    unseen = count_unseen(app)
    files = "1 uncommitted file is" if unseen == 1 else f"{unseen} uncommitted files are"
    return [f"Members start from {start}. Your {files} not included."] if unseen else []


def _next(team: str, file: str, failed: bool) -> list[str]:
    again = f"Fix what NOTES says, then run `headcount down {team} && headcount up {shlex.quote(file)}`."
    watch = f"Watch with `headcount status`, end with `headcount down {team}`."
    return [again, watch] if failed else [watch]


def _starting(team: Team) -> list[str]:
    return [m.key for m in team.members.values() if m.state is State.STARTING]


def _progress(team: Team) -> list[str]:
    starting = _starting(team)
    done = len(team.members) - len(starting)
    waits = f"; waiting for {', '.join(starting[:3])}{' …' if len(starting) > 3 else ''}" if starting else ""
    return [f"{team.name}: {done} of {len(team.members)} started{waits}"]
