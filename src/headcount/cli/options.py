"""Options that many commands have, so that they are written and told alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.errors import UsageError

if TYPE_CHECKING:
    import argparse

_ONE_IS_ENOUGH = "not needed if there is only one"


def add_verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser], name: str, summary: str
) -> argparse.ArgumentParser:
    """What the list of verbs says of one stands at the top of its own help, too."""
    return verbs.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="answer as JSON on standard output")


def add_team(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--team", metavar="TEAM", help=f"which team; {_ONE_IS_ENOUGH}")


def add_team_word(parser: argparse.ArgumentParser, about: str = _ONE_IS_ENOUGH) -> None:
    """Add TEAM as an argument, and `--team TEAM` with the same meaning."""
    parser.add_argument("team", nargs="?", metavar="TEAM", help=about)
    parser.add_argument("--team", dest="team_option", metavar="TEAM", help="the same as TEAM")


def add_member(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("member", metavar="MEMBER", help="its name; NAME#1 is its first incarnation")


def settle_team(args: argparse.Namespace) -> None:
    """One team, whichever way it was named."""
    named = getattr(args, "team_option", None)
    if named is None:
        return
    if args.team not in (None, named):
        raise UsageError(
            f"Two teams are named: {args.team} and {named}", "this is about one of them", code="usage"
        )
    args.team = named
