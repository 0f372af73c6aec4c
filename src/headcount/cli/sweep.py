"""`headcount sweep`: leftovers of crashed runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headcount.app.app import open_app
from headcount.app.sweep import sweep

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")


def run(args: argparse.Namespace) -> int:
    answer = sweep(open_app(), dry_run=args.dry_run)
    problems = [one for one in answer.get("ended", ()) if one["problem"]]
    if args.json:
        print(json.dumps(answer))
        return 1 if problems else 0
    verb = "Would adopt" if args.dry_run else "Adopted"
    for team in answer["adopted"]:
        print(f"{verb} team {team}: it is open, and nobody drove it.")
    for orphan in answer["orphans"] if args.dry_run else answer["ended"]:
        _tell(orphan, args.dry_run)
    print(f"{'Found' if args.dry_run else 'Swept'} {len(answer['orphans'])} leftovers.")
    return 1 if problems else 0


def _tell(orphan: dict[str, object], dry_run: bool) -> None:
    processes = orphan["processes"]
    what = ", ".join(processes) if isinstance(processes, list) and processes else "no process"
    print(f"{orphan['mark'] or 'a workspace'}: {what}; {orphan['workspace'] or 'no workspace'}")
    if dry_run:
        print("    would be salvaged, ended and removed")
    elif orphan["problem"]:
        print(f"    kept: {orphan['problem']}")
    else:
        print(f"    gone{', saved to ' + str(orphan['salvage']) if orphan['salvage'] else ''}")
