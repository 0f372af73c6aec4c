"""`headcount diff`, `log`, `compare`, `merge` and `pr`: look at what members made, and take it over."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from headcount.app import review
from headcount.app.app import open_app
from headcount.app.pull_request import publish
from headcount.cli.command_parser import add_member, add_team
from headcount.cli.terminal_output import paint, plain

if TYPE_CHECKING:
    import argparse

_WHO = "a member, or a task: then its owner"
_COLOURS = {"+": "green", "-": "red", "@": "dim"}


def configure_diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("member", metavar="MEMBER", help=_WHO)
    parser.add_argument("--stat", action="store_true", help="only names and numbers")
    add_team(parser)


def run_diff(args: argparse.Namespace) -> int:
    made = review.find_made(open_app(make=False), args.member, args.team)
    text = made.diff("--stat" if args.stat else "--patch")
    if args.json:
        print(json.dumps({**review.describe(made), "diff": text}, ensure_ascii=False))
    else:
        _print_diff(text or f"{made.key} has changed nothing.\n")
    return 0


def _print_diff(text: str) -> None:
    """Print line by line: what a member wrote must not reach the terminal as an order."""
    for line in text.splitlines():
        harmless = "\t".join(plain(part) for part in line.split("\t"))
        colour = _COLOURS.get(line[:1])
        print(paint(harmless, colour, sys.stdout) if colour else harmless)


def configure_log(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("member", metavar="MEMBER", help=_WHO)
    add_team(parser)


def run_log(args: argparse.Namespace) -> int:
    made = review.find_made(open_app(make=False), args.member, args.team)
    about = review.describe(made)
    if args.json:
        print(json.dumps(about, ensure_ascii=False))
        return 0
    if not about["commits"]:
        print(f"{made.key} has no commit of its own.")
    for one in about["commits"]:
        print(f"{one['commit'][:10]} {one['at'][:16].replace('T', ' ')} {plain(one['subject'])}")
    return 0


def configure_compare(parser: argparse.ArgumentParser) -> None:
    add_member(parser)
    parser.add_argument("other", metavar="OTHER", help="another member, such as one with the same task")
    add_team(parser)


def run_compare(args: argparse.Namespace) -> int:
    one, other, text = review.compare(open_app(make=False), args.member, args.other, args.team)
    if args.json:
        both = {"first": review.describe(one), "second": review.describe(other), "diff": text}
        print(json.dumps(both, ensure_ascii=False))
        return 0
    for made in (one, other):
        stat = made.diff("--shortstat").strip() or "nothing changed"
        print(f"{made.key}: {len(made.log())} commits, {stat}")
    print(f"\nFrom {one.key} to {other.key}:\n")
    _print_diff(text or "The commits of both have the same files.\n")
    return 0


def configure_merge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("member", metavar="MEMBER", help=_WHO)
    parser.add_argument("--squash", action="store_true", help="as one commit")
    add_team(parser)
    parser.epilog = (
        "Merges the commits of a member into the branch that is checked out where you call it. A checkout "
        "with changes, or a conflict, is refused and leaves everything as it was."
    )


def run_merge(args: argparse.Namespace) -> int:
    merged = review.merge(open_app(make=False), args.member, args.team, squash=args.squash)
    if args.json:
        print(json.dumps(merged, ensure_ascii=False))
        return 0
    what = _commits(merged["commits"], merged["member"])
    print(f"Merged {what} into {merged['branch']} ({merged['commit'][:10]}).")
    _print_unsaved("merged", merged["unsaved"])
    print(f"Undo it with `git reset --keep {merged['before'][:10]}`.")
    return 0


def _commits(count: int, member: str) -> str:
    return f"{count} commit{'s' * (count != 1)} of {member}"


def _print_unsaved(verb: str, count: int) -> None:
    if count:
        print(f"Not {verb}: {count} file{'s' * (count != 1)} of its workspace, in no commit.")


def configure_pr(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("member", metavar="MEMBER", help=_WHO)
    add("--remote", default="", metavar="REMOTE", help="where to push; default: that of your branch")
    add("--base", default="", metavar="BRANCH", help="the branch to merge into; default: as the host says")
    add("--title", default="", metavar="TITLE", help="default: the subject of its only commit, or its name")
    add_team(parser)
    parser.epilog = (
        "Pushes the commits of a member to a branch of the same name, never by force, and calls `gh` or "
        "`glab`. If neither is installed, it prints the command. git reads the configuration that was "
        "recorded when the team began, and runs no hook."
    )


def run_pr(args: argparse.Namespace) -> int:
    done = publish(
        open_app(make=False), args.member, args.team, remote=args.remote, title=args.title, base=args.base
    )
    if args.json:
        print(json.dumps(done, ensure_ascii=False))
        return 0
    what = _commits(done["commits"], done["member"])
    print(plain(f"Pushed {what} to {done['branch']} on {done['remote']}."))
    _print_unsaved("pushed", done["unsaved"])
    if done["url"]:
        print(plain(done["url"]))
    elif done["command"]:
        print(f"Open the pull request with `{plain(done['command'])}`.")
    return 0
