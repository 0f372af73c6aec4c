"""`headcount escalations`: what waits for a decision."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from headcount.app.app import open_app
from headcount.app.standing_down import decide_call, escalations
from headcount.cli.options import add_team
from headcount.cli.terminal import plain

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    add_team(parser)
    parser.add_argument("--all", action="store_true", help="also those that are decided")


def run(args: argparse.Namespace) -> int:
    found = escalations(open_app(make=False), args.team, every=args.all)
    if args.json:
        print(json.dumps(found, ensure_ascii=False))
        return 0
    if not found:
        print("Nothing waits for a decision.")
    for one in found:
        print("\n".join(_lines(one, found)))
    return 0


def _lines(one: dict[str, Any], found: list[dict[str, Any]]) -> list[str]:
    decided = f", {one['decision']} by {one['by']}" if one["decision"] else ""
    after = f"{one['attempts']} {'inspection' if one['attempts'] == 1 else 'inspections'}"
    head = f"{one['id']}  {one['team']}/{one['member']}  {one['state']}{decided}, after {after}"
    issues = [f"    {plain(issue)}" for issue in one["issues"]]
    return [head, *issues, *([f"  Decide it with `{_call(one, found)}`."] if one["decisions"] else [])]


def _call(one: dict[str, Any], found: list[dict[str, Any]]) -> str:
    """Teams count their escalations each from one: with the team's name, where another has that one too."""
    namesakes = [other for other in found if other["id"] == one["id"] and other["decisions"]]
    return decide_call(one) + (f" --team {one['team']}" if len(namesakes) > 1 else "")
