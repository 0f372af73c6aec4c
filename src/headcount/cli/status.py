"""`headcount status`: who is there, what they do, what waits for somebody."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from headcount.app.app import open_app
from headcount.app.native_teams import observe
from headcount.app.progress import outcome_words
from headcount.app.report import pick_any
from headcount.app.run_state import OVER
from headcount.app.teams import status
from headcount.cli.limits import describe_dialogs, describe_limits
from headcount.cli.native import describe_native
from headcount.cli.options import add_team_word
from headcount.cli.terminal import Live, is_live, plain, table
from headcount.protocol.team import Status

if TYPE_CHECKING:
    import argparse

    from headcount.app.app import App


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_team_word(parser, "open or closed; default: all open teams")
    add("--watch", action="store_true", help="show one team live, with keys to act on it")


def run(args: argparse.Namespace) -> int:
    app = open_app(make=False)
    if args.watch:
        return _watch(app, args.team, args.json)
    teams = status(app, args.team)
    native = [] if args.team else [team.as_dict() for team in observe(os.environ)]
    if args.json:
        print(json.dumps(teams + native, ensure_ascii=False))
        return 0
    if not teams:
        print("No team is open. Start one with `headcount up FILE`.")
    for team in teams:
        print("\n".join(describe(team)))
    for team in native:
        print("\n".join(describe_native(team)))
    return 0


def _watch(app: App, team: str | None, as_json: bool) -> int:
    """On a terminal the live table; else what is new, or with JSON each change, until the team is closed."""
    name = pick_any(app, team)
    if not as_json and is_live(sys.stdout) and sys.stdin.isatty():
        from headcount.cli.watch import watch

        return watch(app, name)
    live, last = Live(sys.stdout), None
    while True:
        (now,) = status(app, name)
        if as_json and now != last:
            print(json.dumps(now, ensure_ascii=False), flush=True)
        elif not as_json:
            live.show(describe(now))
        last = now
        if now["status"] == "shutdown":
            return 0
        app.store.wait(f"team/{name}", 1.0)


def describe(team: dict[str, Any]) -> list[str]:
    lines = [f"{team['team']}: {team['status']}"]
    rows = [_row(member, team["unread"], team["usage"]) for member in team["members"]]
    if rows:
        lines += [f"  {line}" for line in table(rows, ("MEMBER", "STATE", "TASK", "UNREAD", "NOTES"))]
    for task in team["tasks"]:
        why = f" ({plain(task['reason'])})" if task["reason"] else ""
        owner = f", {task['owner']}" if task["owner"] else ""
        lines.append(f"  task {task['id']}: {plain(task['subject'])} - {task['status']}{owner}{why}")
    lines += describe_limits(team["team"], team["limits"])
    lines += describe_dialogs(team["dialogs"])
    lines += _run(team)
    lines += _driver(team)
    if team["escalations"]:
        lines.append(f"  Your decision: {', '.join(team['escalations'])}. See `headcount escalations`.")
    return lines + [f"  Warning: {plain(warning)}" for warning in team["warnings"]]


def _driver(team: dict[str, Any]) -> list[str]:
    """Return why nothing happens although members are left."""
    if all(member["state"] == "gone" for member in team["members"]):
        return []
    if not team["driven"]:
        return ["  No engine runs this team. Continue it with `headcount sweep`."]
    lines = []
    if team["suspended"] is not None:
        lines.append(f"  Its engine is suspended. Continue it with `kill -CONT {team['suspended']}`.")
    if team["broken"]:
        lines.append(f"  Its engine cannot continue: {plain(team['broken'])}. See .headcount/engine.log.")
    return lines


def _run(team: dict[str, Any]) -> list[str]:
    """Return the status of its run, and how to continue it."""
    run = team["run"]
    if run is None:
        return []
    why = f": {plain(run['reason'])}" if run["reason"] else ""
    lines = [f"  run: {run['status'].replace('_', ' ')}{why}"]
    if team["status"] != Status.SHUTDOWN and (run["status"] in OVER or not team["driven"]):
        lines.append("  Continue it with `headcount run FILE`.")
    return lines


def _used(tokens: int, turns: int) -> str:
    return f"{tokens:,} tokens in {turns} turn{'s' * (turns != 1)}"


def _row(member: dict[str, Any], unread: dict[str, int], usage: dict[str, Any]) -> tuple[str, ...]:
    key = f"{member['name']}#{member['generation']}"
    state = member["state"]
    if state == "running" and member["activity"] != "working":
        state = member["activity"]
    outcome = member["outcome"] and outcome_words(member["outcome"])
    notes = [outcome or member["failure"] or "; ".join(member["issues"] or member["alive"])]
    if key in usage:
        notes.append(_used(usage[key]["tokens"], usage[key]["turns"]))
    return key, state, member["task"] or "-", str(unread.get(key, 0) or "-"), "; ".join(filter(None, notes))
