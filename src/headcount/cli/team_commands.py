"""`headcount set`: what holds for a whole team."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from headcount.app.app import open_app
from headcount.app.policy_changes import change_policy, list_policy
from headcount.cli.command_parser import add_team
from headcount.cli.terminal_output import plain, table
from headcount.domain.settings import FIXED

if TYPE_CHECKING:
    import argparse


def configure_set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "changes", nargs="*", metavar="KEY=VALUE", help="a key of [policy], as in headcount.toml"
    )
    add_team(parser)
    parser.epilog = (
        "Without KEY=VALUE it shows all values and where each comes from. A change holds for this team until "
        "it closes, also for what is in progress. `headcount explain settings` describes the keys."
    )


def run_set(args: argparse.Namespace) -> int:
    app = open_app(make=False)
    if not args.changes:
        team, listed = list_policy(app, args.team)
        if args.json:
            print(json.dumps({"team": team, "policy": listed}, ensure_ascii=False))
        else:
            rows = [(one["key"], _shown(one["value"]), _origin(one["key"], one["origin"])) for one in listed]
            print("\n".join(table(rows, ("KEY", "VALUE", "FROM"))))
        return 0
    team, changed = change_policy(app, args.changes, args.team)
    if args.json:
        print(json.dumps({"team": team, "changed": changed}, ensure_ascii=False))
        return 0
    for one in changed:
        print(plain(f"{team}: {one['key']} is {_shown(one['new'])} now; it was {_shown(one['old'])}."))
    if not changed:
        print(f"{team} has these values already.")
    return 0


def _origin(key: str, origin: str) -> str:
    return f"{origin}; fixed while the team is open" if f"policy.{key}" in FIXED else origin


def _shown(value: Any) -> str:
    """Return a value as `headcount set` takes it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
