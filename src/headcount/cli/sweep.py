"""`headcount sweep`: leftovers of crashed runs."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from headcount.app.app import open_app
from headcount.app.native_teams import end_native, observe, salvage_native
from headcount.app.sweep import sweep
from headcount.cli.native import describe_native
from headcount.errors import UsageError

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--dry-run", action="store_true", help="only print what the command would do")
    add(
        "--native",
        metavar="TEAM",
        help="save unsaved work of this team that Claude Code created itself",
    )
    add("--end", type=int, metavar="PID", help="with --native: end this teammate if its lead is dead")


def run(args: argparse.Namespace) -> int:
    if args.native:
        return _sweep_native(args)
    if args.end is not None:
        raise UsageError("--end goes with --native TEAM", "a process is ended only by name", code="usage")
    answer = sweep(open_app(make=not args.dry_run), dry_run=args.dry_run)
    answer["nativeTeams"] = [team.as_dict() for team in observe(os.environ)]
    problems = [one for one in answer.get("ended", ()) if one["problem"]]
    if args.json:
        print(json.dumps(answer))
        return 1 if problems else 0
    verb = "Would adopt" if args.dry_run else "Adopted"
    for team in answer["adopted"]:
        print(f"{verb} team {team}: it is open and had no engine.")
    for orphan in answer["orphans"] if args.dry_run else answer["ended"]:
        _tell(orphan, args.dry_run)
    for place in answer["checkouts"]:
        print(f"{place}: a gate's checkout, left by a killed engine")
    for team in answer["nativeTeams"]:
        print("\n".join(describe_native(team)))
    count = len(answer["orphans"]) + len(answer["checkouts"])
    if args.dry_run:
        print(f"Found {count} leftovers.")
    else:
        kept = f", kept {len(problems)}" if problems else ""
        print(f"Removed {count - len(problems)} leftovers{kept}.")
    return 1 if problems else 0


def _sweep_native(args: argparse.Namespace) -> int:
    app = open_app()
    if args.end is not None:
        ended = end_native(app, args.native, args.end, os.environ)
        print(json.dumps(ended) if args.json else f"Asked {ended['member']} ({args.end}) to end.")
        return 0 if ended["signalled"] else 1
    saved = salvage_native(app, args.native, os.environ)
    if args.json:
        print(json.dumps(saved))
    else:
        for one in saved:
            print(f"{one['member']}: {one['salvage'] or one.get('problem', 'nothing to save')}")
        print(f"Saved {sum(bool(one['salvage']) for one in saved)} of {len(saved)} dirty worktrees.")
    return 1 if any("problem" in one for one in saved) else 0


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
