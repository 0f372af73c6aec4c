"""`headcount set`, `teams` and `open`: the policy of a team, and all teams of this user."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from headcount.app.all_teams import list_repositories, list_teams, show_row
from headcount.app.app import open_app
from headcount.app.policy_changes import change_policy, list_policy
from headcount.cli.command_parser import add_team, take_signals
from headcount.cli.terminal_output import is_live, plain, table
from headcount.domain.settings import FIXED

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from headcount.app.all_teams import TeamRow


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


# --- teams -----------------------------------------------------------------------------------------------


def configure_teams(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="those of all repositories that you have used")


def run_teams(args: argparse.Namespace) -> int:
    app = open_app(make=False)
    if not args.all:
        rows = list_teams(app)
        if args.json:
            print(json.dumps(rows, ensure_ascii=False))
        else:
            print("\n".join(_team_lines(rows)))
        return 0
    found = list_repositories(app)
    if args.json:
        print(json.dumps(found, ensure_ascii=False))
        return 0
    for one in found:
        print(plain(one["repository"]))
        lines = [f"not read: {plain(one['error'])}"] if one["error"] else _team_lines(one["teams"])
        print("\n".join(f"  {line}" for line in lines))
    if not found:
        print("You have started no team yet.")
    return 0


def _team_lines(rows: Iterable[TeamRow]) -> list[str]:
    shown = list(map(show_row, rows))
    header = ("TEAM", "STATE", "ALIVE", "STARTED", "ENDED", "RESULT")
    return table(shown, header) if shown else ["No team was started here yet."]


# --- open ------------------------------------------------------------------------------------------------


def configure_open(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-browser", action="store_true", help="only print where the page is")
    parser.epilog = (
        "Shows one page with the teams of all your repositories, and serves the live page of each that has "
        "an open team, with a token of its own. Ctrl-C closes the pages, not the teams."
    )


def run_open(args: argparse.Namespace) -> int:
    from headcount.app.all_pages import open_pages

    take_signals()
    with open_pages(open_app(make=False)) as pages:
        if args.json:
            print(json.dumps(pages.as_dict(), ensure_ascii=False), flush=True)
        else:
            for one in pages.served:
                print(plain(f"{one['repository']}: {one['url'] or one['error']}"))
            print(f"All of them: file://{pages.path}", flush=True)
            print("Anyone with these links controls your teams. Ctrl-C closes the pages, not the teams.")
        if is_live(sys.stdout) and not args.json and not args.no_browser:
            import webbrowser

            webbrowser.open(f"file://{pages.path}")
        try:
            pages.wait()
        except KeyboardInterrupt:
            return 0  # Ctrl-C is how it is ended
    return 0
