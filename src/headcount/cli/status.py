"""`headcount status`: who is there, what they do, what waits for somebody."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from headcount.app.app import open_app
from headcount.app.teams import status
from headcount.cli.terminal import plain, table

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "team", nargs="?", metavar="TEAM", help="also a closed one; default: all that are open"
    )


def run(args: argparse.Namespace) -> int:
    teams = status(open_app(), args.team)
    if args.json:
        print(json.dumps(teams, ensure_ascii=False))
        return 0
    if not teams:
        print("No team is open. Start one with `headcount up FILE`.")
    for team in teams:
        print("\n".join(describe(team)))
    return 0


def describe(team: dict[str, Any]) -> list[str]:
    lines = [f"{team['team']}: {team['status']}"]
    rows = [_row(member, team["unread"]) for member in team["members"]]
    if rows:
        lines += [f"  {line}" for line in table(rows, ("MEMBER", "STATE", "TASK", "UNREAD", "NOTES"))]
    for task in team["tasks"]:
        why = f" ({plain(task['reason'])})" if task["reason"] else ""
        owner = f", {task['owner']}" if task["owner"] else ""
        lines.append(f"  task {task['id']}: {plain(task['subject'])} - {task['status']}{owner}{why}")
    if team["escalations"]:
        lines.append(f"  Escalations: {', '.join(team['escalations'])}. See `headcount escalations`.")
    return lines + [f"  Warning: {plain(warning)}" for warning in team["warnings"]]


def _row(member: dict[str, Any], unread: dict[str, int]) -> tuple[str, ...]:
    key = f"{member['name']}#{member['generation']}"
    state = member["state"]
    if state == "running" and member["activity"] != "working":
        state = member["activity"]
    notes = member["outcome"] or member["failure"] or "; ".join(member["issues"] or member["alive"])
    return key, state, member["task"] or "-", str(unread.get(key, 0) or "-"), notes or ""
