"""`headcount completion`: what a shell needs to complete our commands, options and names."""

from __future__ import annotations

import argparse
import importlib
import json
from typing import NamedTuple

from headcount.app.app import open_app
from headcount.app.standing_down import escalations
from headcount.app.teams import status
from headcount.cli import COMMANDS
from headcount.cli.completion_scripts import SHELLS
from headcount.cli.member.table import COMMANDS as MEMBERS
from headcount.cli.overview import FOR_CLIENTS
from headcount.errors import HeadcountError

# What stands for a name that only the state knows, by how --help writes it.
_KINDS = {"TEAM": "teams", "T": "teams", "MEMBER": "members", "M": "members", "ID": "escalations"}
_KINDS |= {"CODE": "codes", "FILE": "files", "SRC": "files", "DIR": "files"}
NAMES = ("teams", "members", "escalations", "codes")


class Option(NamedTuple):
    name: str
    summary: str


class Command(NamedTuple):
    """What its words can be: the listed `choices`, and names of a `kind`, or files."""

    name: str
    summary: str
    options: tuple[Option, ...]
    choices: tuple[str, ...] = ()
    kind: str = ""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", metavar="SHELL", type=_known, help=", ".join(SHELLS))
    parser.epilog = (
        'bash: eval "$(headcount completion bash)" in ~/.bashrc. zsh: the same in ~/.zshrc, after compinit. '
        "fish: headcount completion fish > ~/.config/fish/completions/headcount.fish"
    )


def _known(word: str) -> str:
    """A shell; or the names that its script asks for, which nobody types."""
    if word not in (*SHELLS, *NAMES):
        raise argparse.ArgumentTypeError(f"there is no {word!r} here (choose from {', '.join(SHELLS)})")
    return word


def run(args: argparse.Namespace) -> int:
    lines = _names(args.what) if args.what in NAMES else [SHELLS[args.what](read_commands())]
    print(json.dumps(lines, ensure_ascii=False) if args.json else "\n".join(lines))
    return 0


def read_commands() -> list[Command]:
    """From the very parsers that read the commands, so that nothing can be forgotten."""
    members = _words_of_members()
    found = [_describe(name, *about) for name, about in COMMANDS.items()]
    found = [c._replace(choices=(*c.choices, *members.pop(c.name, ()))) for c in found]
    both = (Option("--json", "answer as JSON on standard output"), Option("--help", "how it is written"))
    return [*found, *(Command(name, "for members", both, after) for name, after in members.items())]


def _describe(name: str, module: str, summary: str) -> Command:
    parser = argparse.ArgumentParser(prog=name, add_help=False)
    parser.add_argument("--json", action="store_true", help="answer as JSON on standard output")
    parser.add_argument("--help", action="store_true", help="show the usage")
    parser.set_defaults(command=name)
    importlib.import_module(f"headcount.cli.{module}").configure(parser)
    options: list[Option] = []
    choices: tuple[str, ...] = ()
    kind = ""
    for action in parser._actions:
        if action.option_strings:
            options.append(Option(action.option_strings[-1], action.help or ""))
        else:
            choices = choices or tuple(map(str, action.choices or ()))
            kind = kind or _KINDS.get(str(action.metavar).partition(" ")[0], "")
    return Command(name, summary, tuple(options), choices, kind)


def _words_of_members() -> dict[str, tuple[str, ...]]:
    """Each command of theirs, and the words that may follow it."""
    words: dict[str, tuple[str, ...]] = {}
    for written in MEMBERS:
        name, _, after = written.partition(" ")
        if name not in FOR_CLIENTS:
            words[name] = (*words.get(name, ()), *([after] if after else []))
    return words


def _names(kind: str) -> list[str]:
    """What there is now; nothing where there is no state, because a shell cannot use an error."""
    if kind == "codes":
        from headcount.app.explain import read_pages

        return list(read_pages())
    try:
        app = open_app(make=False)
        if kind == "escalations":
            return [one["id"] for one in escalations(app)]
        teams = status(app)
    except HeadcountError:
        return []
    if kind == "teams":
        return [team["team"] for team in teams]
    return list(dict.fromkeys(member["name"] for team in teams for member in team["members"]))
