"""`headcount asks`, and the part of `headcount decide` that answers a permission request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headcount.app.app import open_app
from headcount.app.permissions import decide_ask, list_asks
from headcount.cli.command_parser import add_team
from headcount.cli.terminal_output import list_item, plain

if TYPE_CHECKING:
    import argparse

    from headcount.app.permissions import AskAnswer

_SHOWN_LINES = 20


def configure_asks(parser: argparse.ArgumentParser) -> None:
    add_team(parser)
    parser.add_argument("--all", action="store_true", help="also those that are answered")


def run_asks(args: argparse.Namespace) -> int:
    found = list_asks(open_app(make=False), args.team, every=args.all)
    if args.json:
        print(json.dumps(found, ensure_ascii=False))
        return 0
    if not found:
        print("No permission is requested.")
    for one in found:
        print("\n".join(_ask_lines(one)))
    return 0


def _ask_lines(one: AskAnswer) -> list[str]:
    answered = f", {one['state']} by {one['by']}" if one["by"] else ""
    why = f" ({one['reason']})" if one["reason"] else ""
    details: list[str] = []
    for text in (one["command"], one["detail"]):
        rows = text.splitlines()
        details += rows[:_SHOWN_LINES]
        details += [f"… {len(rows) - _SHOWN_LINES} more lines"] if len(rows) > _SHOWN_LINES else []
    if one["directory"]:
        details.append(f"in {one['directory']}")
    hints = [f"Answer it with `headcount decide {one['id']} allow|deny`."] if one["options"] else []
    hints += [f"Answer it in its terminal: `{one['attach']}`."] if one["attach"] else []
    what = f"{one['title']}{answered}{why}"
    return list_item(one["id"], f"{one['team']}/{one['member']}", what, details, hints)


def run_decide_ask(args: argparse.Namespace) -> int:
    answered = decide_ask(
        open_app(make=False), args.id, args.decision, args.reason, always=args.always, team=args.team
    )
    if args.json:
        print(json.dumps(answered, ensure_ascii=False))
        return 0
    always = f" The team's list has it now: {plain(answered['command'])}." if args.always else ""
    print(f"Answered {args.id}: {answered['state']} for {answered['member']}.{always}")
    return 0
