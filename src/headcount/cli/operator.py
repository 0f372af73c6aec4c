"""Every command but the members' hot ones: argparse, one module a command, one way to show an error."""

from __future__ import annotations

import argparse
import importlib
import json
import sys

from headcount import __version__
from headcount.cli import COMMANDS
from headcount.errors import Bug, HeadcountError


def main(words: list[str]) -> int:
    """Run one command; the exit code says yes, no, or why not (0–5, 70)."""
    wants_json = "--json" in words
    if not words or words[0] in ("-h", "--help"):
        from headcount.cli.overview import write_overview

        print(write_overview(), end="", file=sys.stdout if words else sys.stderr)
        return 0 if words else 2
    try:
        args = _parse(words)
        return int(args.run(args))
    except HeadcountError as error:
        return report(error, wants_json)
    except BrokenPipeError:
        # The reader went away (`| head`): nobody is left to tell.
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130


def report(error: HeadcountError, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"error": error.as_dict()}, ensure_ascii=False))
    else:
        print(error.render(), file=sys.stderr)
    return error.exit_code


def _parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="headcount",
        description="Run teams of coding agents and bring every one of them home.",
        epilog="`headcount --help` lists the commands by what one wants",
    )
    parser.add_argument("--version", action="version", version=f"headcount {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    # Only the command that is asked for is imported; the others are one line of help each.
    asked = next((word for word in words if not word.startswith("-")), None)
    for name, (module, summary) in COMMANDS.items():
        sub = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        sub.add_argument("--json", action="store_true", help="answer as JSON on standard output")
        if name == asked:
            _configure(sub, module)
    words, after = _cut(words, asked)
    args = parser.parse_args(words)
    if after:
        args.words = after
    return args


def _cut(words: list[str], command: str | None) -> tuple[list[str], list[str]]:
    """argparse does not find a command line after `--` once an option stood before it: so we take it off."""
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
