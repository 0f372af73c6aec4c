"""Every command but the members' hot ones: argparse, one module a command, one way to show an error."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from typing import NoReturn

from headcount import __version__
from headcount.cli import COMMANDS, HOT
from headcount.cli.interrupt import exit_code
from headcount.cli.options import add_json, settle_team
from headcount.cli.streams import complain, is_output
from headcount.errors import Bug, HeadcountError, UsageError


def main(words: list[str]) -> int:
    """Run one command; the exit code says yes, no, or why not (0–5, 70)."""
    words = _without_help(words)
    wants_json = "--json" in words[: words.index("--") if "--" in words else None]
    if not words or words[0] in ("-h", "--help"):
        from headcount.cli.overview import write_overview

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
        from headcount.cli.unforeseen import explain

        return report(explain(error), wants_json)


def _without_help(words: list[str]) -> list[str]:
    """`help` and `help COMMAND`, as with git."""
    return [*words[1:2], "--help"] if words[:1] == ["help"] else words


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
        f"did you mean {close[0]}?" if close else "",
        ("See all commands with `headcount --help`",),
        code="usage",
    )


def _parse(words: list[str]) -> argparse.Namespace:
    parser = _Parser(
        prog="headcount",
        description="Run teams of coding agents and bring every one of them home.",
        epilog="`headcount --help` lists the commands by purpose",
    )
    parser.add_argument("--version", action="version", version=f"headcount {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    # Import only the requested command; the others are one line of help each.
    asked = next((word for word in words if not word.startswith("-")), None)
    _check_command(asked)
    for name, (module, summary) in COMMANDS.items():
        sub = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        add_json(sub)
        if name == asked:
            _configure(sub, module)
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


def _configure(parser: argparse.ArgumentParser, module_name: str) -> None:
    module = importlib.import_module(f"headcount.cli.{module_name}")
    if not hasattr(module, "run"):
        raise Bug(f"The command module {module_name} has no run()", code="bug")
    module.configure(parser)
    parser.set_defaults(run=module.run)
