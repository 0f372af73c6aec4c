"""`headcount task create`: put a task on a team's list. Listing, claiming, completing are members'."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headcount.app import tasks
from headcount.app.app import open_app
from headcount.cli.options import add_json, add_team, add_verb

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Members list, claim and complete them: see `headcount task list --help` and so on."
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    creating = add_verb(verbs, "create", "put a task on the list")
    creating.add_argument("subject", metavar="SUBJECT", help="what it is called")
    creating.add_argument("-d", "--description", default="", metavar="D", help="what is to be done")
    creating.add_argument(
        "--after", action="append", default=[], metavar="ID", help="a task that must be complete first"
    )
    add_team(creating)
    add_json(creating)


def run(args: argparse.Namespace) -> int:
    app = open_app(make=False)
    task = tasks.create(app, args.subject, args.description, depends_on=args.after, team=args.team)
    if args.json:
        print(json.dumps(tasks.as_json(task), ensure_ascii=False))
    else:
        print(f"Created task {task.id}: {task.subject}")
    return 0
