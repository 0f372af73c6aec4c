"""`headcount run`: run a team's tasks with reviews and gates, stand it down, report. Again: goes on."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from headcount.app.app import open_app
from headcount.app.definition import read_definition
from headcount.app.resident import driving
from headcount.app.run import begin_run, follow_run, take_over_hint
from headcount.cli.terminal import Live, paint, plain

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a .py or .tsx definition with one team and its tasks")


def run(args: argparse.Namespace) -> int:
    definition = read_definition(args.file)
    app = open_app()
    live = Live(sys.stderr)
    now: dict[str, Any] = {}
    try:
        with driving(app):
            team = begin_run(app, definition)
            for now in follow_run(app, team):
                if not args.json:
                    live.show(_lines(now))
    except KeyboardInterrupt:
        print(f"\nStopped. Go on with `headcount run {args.file}`.", file=sys.stderr)
        return 130
    if args.json:
        print(json.dumps(now, ensure_ascii=False))
    else:
        _summary(now)
    return 0 if now["status"] == "complete" else 1


def _lines(now: dict[str, Any]) -> list[str]:
    done = sum(task["state"] == "complete" for task in now["tasks"])
    lines = [
        f"{now['team']}: {now['status'].replace('_', ' ')}, {done} of {len(now['tasks'])} tasks complete"
    ]
    for task in now["tasks"]:
        who = (
            f" ({task['worker']})" if task["worker"] and task["state"] not in ("waiting", "complete") else ""
        )
        why = f": {task['reason']}" if task["reason"] else ""
        lines.append(plain(f"  {task['id']}  {task['state'].ljust(13)} {task['subject']}{who}{why}"))
    return lines


def _summary(now: dict[str, Any]) -> None:
    complete = now["status"] == "complete"
    status = paint(now["status"], "green" if complete else "red", sys.stdout)
    done = sum(task["state"] == "complete" for task in now["tasks"])
    print(f"{now['team']}: {status}. Completed {done} of {len(now['tasks'])} tasks.")
    for item in now["checklist"]:
        print(plain(f"  [{'x' if item['done'] else ' '}] {item['item']}: {item['evidence']}"))
    for note in now["notes"]:
        print(f"  Note: {plain(note)}")
    if now["reason"]:
        print(f"Because: {plain(now['reason'])}")
    print(f"The result is on {now['integration']}. Take it over with `{take_over_hint(now)}`.")
