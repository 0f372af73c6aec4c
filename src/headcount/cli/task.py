"""`headcount task create|change|release|withdraw`: the lead's side of the task list.

Listing, claiming and completing are members' commands.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headcount.app import tasks
from headcount.app.app import open_app
from headcount.cli.options import add_json, add_team, add_verb
from headcount.errors import UsageError

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Members also have list, claim and complete: see `headcount task list --help`."
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    creating = add_verb(verbs, "create", "create a task")
    creating.add_argument("subject", metavar="SUBJECT", help="its title")
    creating.add_argument("-d", "--description", default="", metavar="TEXT", help="what to do")
    creating.add_argument(
        "--after", action="append", default=[], metavar="ID", help="a task that must be complete first"
    )
    _add_metadata(creating)
    changing = add_verb(verbs, "change", "change a task that is not complete")
    changing.add_argument("id", metavar="ID")
    changing.add_argument("--subject", metavar="SUBJECT", help="its title")
    changing.add_argument("-d", "--description", metavar="TEXT", help="what to do")
    changing.add_argument(
        "--after", action="append", metavar="ID", help="replace its dependencies; '' for none"
    )
    _add_metadata(changing)
    releasing = add_verb(verbs, "release", "take a task from its owner, so that another member can claim it")
    releasing.add_argument("id", metavar="ID")
    withdrawing = add_verb(verbs, "withdraw", "end a task that is no longer needed")
    withdrawing.add_argument("id", metavar="ID")
    withdrawing.add_argument("--reason", required=True, metavar="REASON", help="why; its owner reads it")
    for verb in (creating, changing, releasing, withdrawing):
        add_team(verb)
        add_json(verb)


def _add_metadata(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--metadata",
        action="append",
        metavar="KEY=VALUE",
        help="a value to find it by; KEY= removes it",
    )


def run(args: argparse.Namespace) -> int:
    app = open_app(make=False)
    if args.verb == "create":
        metadata = {key: value for key, value in _metadata(args).items() if value is not None}
        task = tasks.create(
            app, args.subject, args.description, depends_on=args.after, metadata=metadata, team=args.team
        )
        said = f"Created task {task.id}: {task.subject}"
    elif args.verb == "change":
        after = None if args.after is None else [each for each in args.after if each]
        task = tasks.change(
            app,
            args.id,
            args.team,
            subject=args.subject,
            description=args.description,
            depends_on=after,
            metadata=_metadata(args) or None,
        )
        said = f"Changed task {task.id}: {task.subject}"
    elif args.verb == "release":
        task = tasks.release(app, args.id, args.team)
        said = f"Released task {task.id}: it can be claimed again."
    else:
        task = tasks.withdraw(app, args.id, args.reason, args.team)
        said = f"Withdrew task {task.id}: tasks that depend on it no longer wait."
    print(json.dumps(tasks.as_json(task), ensure_ascii=False) if args.json else said)
    return 0


def _metadata(args: argparse.Namespace) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for given in args.metadata or ():
        key, equals, value = given.partition("=")
        if not key or not equals:
            raise UsageError(f"{given!r} is not KEY=VALUE", "metadata has a name and a value", code="usage")
        found[key] = value or None
    return found
