"""Run every command but the members': common options, one parser, signals, and one way to show an error."""

from __future__ import annotations

import argparse
import importlib
import json
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

from headcount import __version__
from headcount.cli import COMMANDS, HOT
from headcount.cli.streams import complain, is_output
from headcount.errors import HeadcountError, UsageError

if TYPE_CHECKING:
    from types import FrameType

_ONE_IS_ENOUGH = "not needed if there is only one"


def add_verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser], name: str, summary: str
) -> argparse.ArgumentParser:
    """Add a verb, with its summary in the list of verbs and in its own help."""
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
    """Set the team from the argument or from `--team`."""
    named = getattr(args, "team_option", None)
    if named is None:
        return
    if args.team not in (None, named):
        raise UsageError(
            f"Two teams are named: {args.team} and {named}", "this is about one of them", code="usage"
        )
    args.team = named


# --- interrupt -------------------------------------------------------------------------------------------
#
# A command that drives is ended by SIGTERM, and with its terminal, as by Ctrl-C: it says how to go on, and
# leaves in order.


class Terminated(KeyboardInterrupt):
    """By a signal, of this number."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def take_signals() -> None:
    signal.signal(signal.SIGTERM, _terminate)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # not where `nohup` has said otherwise
        signal.signal(signal.SIGHUP, _terminate)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated(number)


def exit_code(stop: KeyboardInterrupt) -> int:
    """Return the exit code of a shell: 128 plus the number of the signal."""
    return 128 + (stop.number if isinstance(stop, Terminated) else signal.SIGINT)


# --- operator --------------------------------------------------------------------------------------------
#
# Every command but the members' hot ones: argparse, one module a command, one way to show an error.


def main(words: list[str]) -> int:
    """Run one command; the exit code says yes, no, or why not (0–5, 70)."""
    # `help` and `help COMMAND`, as with git.
    words = [*words[1:2], "--help"] if words[:1] == ["help"] else words
    wants_json = "--json" in words[: words.index("--") if "--" in words else None]
    if not words or words[0] in ("-h", "--help"):
        from headcount.cli.command_lists import write_overview

        print(write_overview(), end="", file=sys.stdout if words else sys.stderr)
        return 0 if words else 2
    try:
        args = _parse(words)
        return int(args.run(args))
    except HeadcountError as error:
        return report(error, wants_json)
    except KeyboardInterrupt as stop:
        complain("Interrupted.")
        return exit_code(stop)
    except Exception as error:
        if is_output(error):
            raise
        from headcount.cli.streams import explain

        return report(explain(error), wants_json)


def report(error: HeadcountError, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"error": error.as_dict()}, ensure_ascii=False))
    else:
        complain(error.render())
    return error.exit_code


class _Parser(argparse.ArgumentParser):
    """A wrong call is an error like any other: the same words, the same JSON."""

    def error(self, message: str) -> NoReturn:
        usage = " ".join(self.format_usage().split()).replace(" [-h]", "")
        missing = message.removeprefix("the following arguments are required: ")
        what = message if missing == message else f"{missing} is missing"
        raise UsageError(what[0].upper() + what[1:], usage, (f"See `{self.prog} --help`",), code="usage")


def _check_command(name: str | None) -> None:
    if name is None or name in COMMANDS:
        return
    from difflib import get_close_matches

    close = get_close_matches(name, [*COMMANDS, *HOT], n=1)
    raise UsageError(
        f"Unknown command {name!r}",
        "",
        (
            *([f"Did you mean `headcount {close[0]}`?"] if close else []),
            "See all commands with `headcount --help`",
        ),
        code="usage",
    )


def _parse(words: list[str]) -> argparse.Namespace:
    parser = _Parser(
        prog="headcount",
        description="Run teams of coding agents and bring every one of them home.",
        epilog="`headcount --help` lists the commands by purpose",
    )
    parser.add_argument("--version", action="version", version=f"headcount {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, prog="headcount")
    # Only the requested command is imported and has a parser: thirty would cost more than the rest.
    asked = next((word for word in words if not word.startswith("-")), None)
    _check_command(asked)
    if asked is not None:
        summary = COMMANDS[asked][1]
        sub = commands.add_parser(asked, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        add_json(sub)
        configure(sub, asked)
    words, after = _cut(words, asked)
    args, unknown = parser.parse_known_args(words)
    if unknown:
        _refuse(commands.choices[args.command], unknown)
    if after:
        args.words = after
    settle_team(args)
    return args


def _refuse(parser: argparse.ArgumentParser, unknown: list[str]) -> NoReturn:
    """Report unknown words through the parser of the command, so that the error shows its usage."""
    from difflib import get_close_matches

    close = get_close_matches(unknown[0], parser._option_string_actions, n=1)
    meant = f"; did you mean {close[0]}?" if close else ""
    parser.error(f"unexpected {' '.join(map(repr, unknown))}{meant}")


def _cut(words: list[str], command: str | None) -> tuple[list[str], list[str]]:
    """Split off the words after `--`, which argparse does not find when an option precedes them."""
    if command != "spawn" or "--" not in words:
        return words, []
    place = words.index("--")
    return words[:place], words[place + 1 :]


def configure(parser: argparse.ArgumentParser, name: str) -> None:
    """Add the arguments of a command, and the function that runs it."""
    module = importlib.import_module(f"headcount.cli.{COMMANDS[name][0]}")
    getattr(module, f"configure_{name}")(parser)
    parser.set_defaults(run=getattr(module, f"run_{name}"))
