"""`headcount salvage`: what was saved, whether it is whole, and how to get it back."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

from headcount.app.app import open_app
from headcount.app.salvages import list_saved, restore_saved, show_saved, verify_saved
from headcount.cli.options import add_json, add_team, add_verb
from headcount.cli.terminal import plain, table

if TYPE_CHECKING:
    import argparse

_WHICH = "a ref, or a member (bob) or incarnation (bob#2) that has only one salvage"


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    listing = add_verb(verbs, "list", "list all salvages")
    add_team(listing)
    showing = add_verb(verbs, "show", "show what a salvage contains")
    showing.add_argument("ref", metavar="REF", help=_WHICH)
    checking = add_verb(verbs, "verify", "check that salvages are complete")
    checking.add_argument("ref", nargs="?", metavar="REF", help="default: all")
    add_team(checking)
    restoring = add_verb(verbs, "restore", "restore a workspace as it was")
    restoring.add_argument("ref", metavar="REF", help=_WHICH)
    restoring.add_argument("dir", metavar="DIR", help="a new or empty directory")
    for verb in (listing, showing, checking, restoring):
        add_json(verb)


def run(args: argparse.Namespace) -> int:
    return {"list": _list, "show": _show, "verify": _verify, "restore": _restore}[args.verb](args)


def _list(args: argparse.Namespace) -> int:
    found = list_saved(open_app(make=False), args.team)
    if args.json:
        print(json.dumps(found))
    elif not found:
        print("Nothing was salvaged here.")
    else:
        rows = [(s["team"], f"{s['member']}#{s['generation']}", _ref(s), s["commit"][:12]) for s in found]
        print("\n".join(table(rows, ("TEAM", "MEMBER", "REF", "COMMIT"))))
    return 0


def _ref(saved: dict[str, Any]) -> str:
    return f"{saved['ref']} (gone)" if saved["lost"] else str(saved["ref"])


def _show(args: argparse.Namespace) -> int:
    shown = show_saved(open_app(make=False), args.ref)
    print(json.dumps(shown) if args.json else "\n".join(describe(shown)))
    return 0


def describe(shown: dict[str, Any]) -> list[str]:
    """What a person wants to know of one; the whole manifest is for programs."""
    ref, manifest = shown["ref"], shown["manifest"]
    lines = [f"{ref} of {shown['team']}/{shown['member']}"]
    lines += [f"  {plain(found)}" for found in shown["found"]]
    lines += [f"  left out: {plain(path)}: {why}" for path, _, why in manifest.get("left_out", ())]
    lines += [f"Get all of it back with `headcount salvage restore {shlex.quote(ref)} DIR`."]
    if "entries" not in manifest:
        lines += [f"Get a file back with `git show {shlex.quote(ref)}:files/PATH`."]
    return lines


def _verify(args: argparse.Namespace) -> int:
    checked = verify_saved(open_app(make=False), args.ref, args.team)
    broken = [one for one in checked if not one["ok"]]
    if args.json:
        print(json.dumps(checked))
        return 1 if broken else 0
    for one in broken:
        print(f"{one['ref']}: {plain('; '.join(one['problems']))}")
    print(f"Verified {len(checked) - len(broken)} of {len(checked)} salvages.")
    return 1 if broken else 0


def _restore(args: argparse.Namespace) -> int:
    restored = restore_saved(open_app(make=False), args.ref, args.dir)
    if args.json:
        print(json.dumps(restored))
    else:
        on = f" on branch {restored['branch']}" if restored["branch"] else ""
        print(f"Restored {restored['ref']} to {restored['path']}{on}.")
        for note in restored["notes"]:
            print(f"  {plain(note)}")
    return 0
