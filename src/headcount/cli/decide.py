"""`headcount decide`: decide an escalation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from headcount.app.app import open_app
from headcount.app.resident import ensure_driven
from headcount.app.standing_down import decide
from headcount.cli.options import add_team

if TYPE_CHECKING:
    import argparse

_THEN = {
    "force-kill": "Its work is saved first, then it is stopped",
    "reassign": "Its work is saved, it is stopped, and its task goes to another member",
    "human": "You fix it by hand; nothing is stopped until you decide again, or stand it down",
    "wait": "It is sent back once more, with the full time limit",
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="as in `headcount escalations`")
    parser.add_argument("decision", choices=tuple(_THEN), help="see below")
    parser.add_argument("--reason", default="", metavar="REASON", help="why; the report shows it")
    add_team(parser)
    parser.epilog = " ".join(f"{decision}: {then[0].lower()}{then[1:]}." for decision, then in _THEN.items())


def run(args: argparse.Namespace) -> int:
    app = open_app(make=False)
    decided = decide(app, args.id, args.decision, args.reason, args.team)
    if not app.caller.is_member:
        ensure_driven(app)
    if args.json:
        print(json.dumps(decided, ensure_ascii=False))
    else:
        print(f"Decided {args.id}: {args.decision} for {decided['member']}. {_then(decided, args.decision)}.")
    return 0


def _then(decided: dict[str, Any], decision: str) -> str:
    """Return what follows. `human` closes the escalation of a member that is not being stood down."""
    if decision == "human" and decided["state"] == "decided":
        name = decided["member"]
        return (
            "It continues. Fix it by hand and tell it to signal done "
            f"(`headcount send {name} …`), or stand it down with `headcount down --member {name}`"
        )
    return _THEN[decision]
