"""`headcount adopt`: take over a state directory that was moved or copied here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from headcount.app.app import open_app
from headcount.app.place import describe_place, preview, write_place

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--yes", action="store_true", help="take it over; without this, only show its content"
    )
    parser.epilog = "Without --yes the command changes nothing and starts no engine."


def run(args: argparse.Namespace) -> int:
    app = open_app(make=False, placed=False)
    app.check("adopt")
    answer = preview(app)
    adopted = args.yes and not answer["here"]
    if adopted:
        write_place(app.home)
    if args.json:
        print(json.dumps({**answer, "adopted": adopted}))
    else:
        _show(answer, adopted)
    return 0 if adopted or answer["here"] else 1


def _show(answer: dict[str, Any], adopted: bool) -> None:
    if answer["here"]:
        print(f"{answer['home']} was made here. There is nothing to take over.")
        return
    print(f"{answer['home']} was made {describe_place(answer['made'] or {})}.")
    for team in answer["teams"]:
        print(f"Team {team['team']} is {team['status']}. An engine would continue it:")
        for label in ("members", "acts", "workspaces"):
            for one in team[label]:
                print(f"    {label.removesuffix('s')} {one}")
    if not answer["teams"]:
        print("No team in it is open, so an engine would have nothing to do.")
    if adopted:
        print("Taken over.")
    else:
        print("Nothing was changed. If this is your own state, take it over with `headcount adopt --yes`.")
