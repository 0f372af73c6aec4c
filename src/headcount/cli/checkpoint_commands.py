"""`headcount checkpoints`: list, show and restore snapshots of workspaces."""

from __future__ import annotations

import json
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

from headcount.app.app import open_app
from headcount.cli.command_parser import add_team
from headcount.cli.terminal_output import plain, table
from headcount.errors import UsageError

if TYPE_CHECKING:
    import argparse

_DAY_S = 86_400


def configure_checkpoints(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("what", nargs="?", metavar="MEMBER", help="list those of this member; or a verb: show or restore")
    add("which", nargs="?", metavar="ID", help="for show: an id such as alice@3; for restore: the member")
    add("--at", metavar="ID|TIME", help="for restore: 3, alice@3, 10:42, 2026-11-17T10:42, or 5m (ago)")
    add(
        "--path", action="append", default=[], metavar="PATH", help="for restore: only this file or directory"
    )
    add("--into", metavar="DIR", help="for restore: a new or empty directory")
    add(
        "--in-place",
        action="store_true",
        help="for restore: into the workspace, while the member is paused or gone",
    )
    add_team(parser)


def run_checkpoints(args: argparse.Namespace) -> int:
    restoring = args.what == "restore"
    if not restoring and (args.at or args.path or args.into or args.in_place):
        raise _usage("--at, --path, --into and --in-place belong to `headcount checkpoints restore MEMBER`")
    if args.what in ("show", "restore"):
        if args.which is None:
            raise _usage(f"`headcount checkpoints {args.what}` needs {'a MEMBER' if restoring else 'an ID'}")
        return _restore(args) if restoring else _show(args)
    if args.which is not None:
        raise _usage(f"{args.which!r} is one word too many; the verbs are show and restore")
    return _list(args)


def _usage(what: str) -> UsageError:
    return UsageError(what[0].upper() + what[1:], "", ("See `headcount checkpoints --help`",), code="usage")


def _list(args: argparse.Namespace) -> int:
    from headcount.app.member_checkpoints import list_checkpoints

    found = list_checkpoints(open_app(make=False), args.what, args.team)
    if args.json:
        print(json.dumps(found, ensure_ascii=False))
        return 0
    if args.what is not None:
        rows = [
            (p["id"], _clock(p["at"]), str(p["files"]), p["why"] + (", not all" if p["leftOut"] else ""))
            for store in found
            for p in store["points"]
        ]
        print("\n".join(table(rows, ("ID", "TAKEN", "FILES", "OCCASION"))))
    elif found:
        print("\n".join(table([_summary(store) for store in found], _HEADER)))
    else:
        print("There are no checkpoints here.")
    for store in found:
        if store["failed"]:
            print(f"The last checkpoint of {store['member']} failed: {plain(store['failed'])}")
    return 0


_HEADER = ("TEAM", "MEMBER", "CHECKPOINTS", "FIRST", "LAST", "MB")


def _summary(store: dict[str, Any]) -> tuple[str, ...]:
    points = store["points"]
    first, last = (_clock(points[0]["at"]), _clock(points[-1]["at"])) if points else ("", "")
    who = f"{store['member']}#{store['generation']}"
    return store["team"], who, str(len(points)), first, last, f"{store['bytes'] / 1e6:.1f}"


def _clock(at: str) -> str:
    """Return a time of day, with the date if it is older than a day."""
    moment = datetime.fromisoformat(at).astimezone()
    recent = time.time() - moment.timestamp() < _DAY_S
    return f"{moment:%H:%M:%S}" if recent else f"{moment:%Y-%m-%d %H:%M}"


def _show(args: argparse.Namespace) -> int:
    from headcount.app.member_checkpoints import show_checkpoint

    shown = show_checkpoint(open_app(make=False), args.which, args.team)
    if args.json:
        print(json.dumps(shown, ensure_ascii=False))
        return 0
    print(f"{shown['id']} of {shown['team']}, taken {_clock(shown['at'])} ({shown['why']})")
    for path in shown["leftOut"]:
        print(f"  left out, too large: {plain(path)}")
    for line in (*shown["stat"].splitlines(), "", *shown["diff"].splitlines()):
        print(plain(line.replace("\t", "    ")))
    return 0


def _restore(args: argparse.Namespace) -> int:
    from headcount.app.member_checkpoints import restore_checkpoint

    if not args.at:
        raise _usage("restore needs --at ID|TIME")
    if bool(args.into) is args.in_place:
        raise _usage("restore needs either --into DIR or --in-place")
    done = restore_checkpoint(
        open_app(make=False), args.which, args.at, paths=args.path, into=args.into, team=args.team
    )
    if args.json:
        print(json.dumps(done, ensure_ascii=False))
        return 0
    files = "1 file" if done["files"] == 1 else f"{done['files']} files"
    print(f"Restored {files} of {done['id']}, taken {_clock(done['at'])}, to {done['path']}.")
    for note in done["notes"]:
        print(f"  {plain(note)}")
    if done["before"]:
        print(f"Undo it with `headcount checkpoints restore {args.which} --at {done['before']} --in-place`.")
    return 0
