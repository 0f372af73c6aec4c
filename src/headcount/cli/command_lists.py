"""Lists of all commands: `headcount --help`, and `headcount completion` for the shells."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, NamedTuple

from headcount.app.app import open_app
from headcount.app.permissions import list_asks
from headcount.app.salvages import list_saved
from headcount.app.standing_down import escalations
from headcount.app.team_status import status
from headcount.cli import COMMANDS
from headcount.cli.command_parser import configure
from headcount.cli.member.command_table import COMMANDS as MEMBERS
from headcount.domain.settings import describe
from headcount.errors import HeadcountError
from headcount.protocol.mailboxes import ALL, OFFICES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

GROUPS: dict[str, tuple[str, ...]] = {
    "start here": ("demo", "init", "doctor", "hub"),
    "define a team": ("build", "graph", "skills"),
    "start and lead it": (
        "up",
        "run",
        "spawn",
        "task",
        "pause",
        "resume",
        "cycle",
        "set",
        "witness",
        "abort",
    ),
    "see what it does": (
        "status",
        "teams",
        "todo",
        "reply",
        "serve",
        "open",
        "attach",
        "logs",
        "checkpoints",
        "report",
        "trace",
    ),
    "review it": ("diff", "log", "compare", "merge", "pr"),
    "end it": ("down", "escalations", "asks", "decide", "salvage", "prune", "sweep", "adopt"),
    "for programs, and others": ("mcp", "engine", "explain", "completion"),
}
FOR_CLIENTS = ("client", "hook")  # agent clients call these; people do not type them


def write_overview() -> str:
    width = max(map(len, (*COMMANDS, *MEMBERS))) + 2
    lines = ["usage: headcount COMMAND [--help] [--json] …", ""]
    lines.append("Run teams of coding agents and bring every one of them home.")
    for title, names in GROUPS.items():
        lines += ["", f"{title}:", *(f"  {name.ljust(width)}{COMMANDS[name][1]}" for name in names)]
    lines += ["", "for members, in their own environment:"]
    lines += [
        f"  {name.ljust(width)}{_first_sentence(spec.lines)}"
        for name, (spec, _) in MEMBERS.items()
        if name not in FOR_CLIENTS
    ]
    lines += ["", "`hc` is the same command. Exit codes and errors: `headcount explain`."]
    return "\n".join(lines) + "\n"


def _first_sentence(text: str) -> str:
    """Return the first clause of a help text, like the other summaries."""
    first = text.split("\n")[0].split(". ")[0].split("; ")[0].rstrip(".")
    return first if first[1:2].isupper() else first[0].lower() + first[1:]


# --- completion ------------------------------------------------------------------------------------------
#
# `headcount completion`: what a shell needs to complete our commands, options and names.


# What stands for a name that only the state knows, by how --help writes it.
_KINDS = {"TEAM": "teams", "T": "teams", "MEMBER": "members", "M": "members", "ID": "escalations"}
_KINDS |= {"CODE": "codes", "FILE": "files", "SRC": "files", "DIR": "files"}
_KINDS |= {"REF": "salvages", "TO": "recipients", "OTHER": "members", "KEY=VALUE": "settings"}
NAMES = ("teams", "members", "escalations", "codes", "salvages", "recipients", "settings")


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
    verbs: tuple[Command, ...] = ()
    """What follows each of the choices, if they are verbs."""
    then: str = ""
    """The kind of what follows the first word."""


def configure_completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", metavar="SHELL", type=_known, help=", ".join(SHELLS))
    parser.epilog = (
        'bash: eval "$(headcount completion bash)" in ~/.bashrc. zsh: the same in ~/.zshrc, after compinit. '
        "fish: headcount completion fish > ~/.config/fish/completions/headcount.fish"
    )


def _known(word: str) -> str:
    """Accept a shell, or a list of names that its completion script requests."""
    if word not in (*SHELLS, *NAMES):
        raise argparse.ArgumentTypeError(f"there is no {word!r} here (choose from {', '.join(SHELLS)})")
    return word


def run_completion(args: argparse.Namespace) -> int:
    lines = _names(args.what) if args.what in NAMES else [SHELLS[args.what](read_commands())]
    print(json.dumps(lines, ensure_ascii=False) if args.json else "\n".join(lines))
    return 0


def read_commands() -> list[Command]:
    """Return all commands, from the parsers that read them."""
    members = _words_of_members()
    found = [_describe(name, summary) for name, (_, summary) in COMMANDS.items()]
    found = [c._replace(choices=(*c.choices, *members.pop(c.name, ()))) for c in found]
    both = (Option("--json", "answer as JSON on standard output"), Option("--help", "how it is written"))
    return [
        *found,
        *(
            Command(name, "for members", both, after, _kind_of_member(name))
            for name, after in members.items()
        ),
    ]


def _kind_of_member(name: str) -> str:
    required = MEMBERS[name][0].required if name in MEMBERS else ()
    return _KINDS.get(required[0], "") if required and required[0] != "ID" else ""


def _describe(name: str, summary: str) -> Command:
    parser = argparse.ArgumentParser(prog=name, add_help=False)
    parser.add_argument("--json", action="store_true", help="answer as JSON on standard output")
    parser.add_argument("--help", action="store_true", help="show the usage")
    parser.set_defaults(command=name)
    configure(parser, name)
    return _read_parser(name, summary, parser)


def _read_parser(name: str, summary: str, parser: argparse.ArgumentParser) -> Command:
    options: list[Option] = []
    choices: tuple[str, ...] = ()
    kinds: list[str] = []
    verbs: tuple[Command, ...] = ()
    for action in parser._actions:
        if action.option_strings:
            options.append(Option(action.option_strings[-1], action.help or ""))
            continue
        choices = choices or tuple(map(str, action.choices or ()))
        if isinstance(action, argparse._SubParsersAction):
            verbs = tuple(_read_parser(verb, "", below) for verb, below in action.choices.items())
        elif found := _KINDS.get(str(action.metavar).partition(" ")[0], ""):
            kinds.append(found)
    first, *others = kinds or [""]
    return Command(name, summary, tuple(options), choices, first, verbs, *others[:1])


def _words_of_members() -> dict[str, tuple[str, ...]]:
    """Return the members' commands, each with its verbs."""
    words: dict[str, tuple[str, ...]] = {}
    for written in MEMBERS:
        name, _, after = written.partition(" ")
        if name not in FOR_CLIENTS:
            words[name] = (*words.get(name, ()), *([after] if after else []))
    return words


def _names(kind: str) -> list[str]:
    """Return current names; empty without state, because a shell cannot show an error."""
    if kind == "codes":
        from headcount.app.explain import read_pages

        return list(read_pages())
    try:
        app = open_app(make=False)
        if kind == "escalations":
            asks = [one["id"] for one in list_asks(app) if one["id"]]
            return [*(one["id"] for one in escalations(app)), *asks]
        if kind == "salvages":
            return [one["name"] for one in list_saved(app)]
        if kind == "settings":
            return [f"{key.name.partition('.')[2]}=" for key in describe() if key.name.startswith("policy.")]
        teams = status(app, work={})
    except HeadcountError:
        return []
    if kind == "teams":
        return [team["team"] for team in teams]
    names = list(dict.fromkeys(member["name"] for team in teams for member in team["members"]))
    return [*OFFICES, ALL, *names] if kind == "recipients" else names


# --- completion_scripts ----------------------------------------------------------------------------------
#
# The scripts that the shells read, written from the list of commands.


_BASH = """\
_headcount() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} options= choices= kind=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{names} --help --version" -- "$current"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{cases}
  esac
  case $current in
    -*) COMPREPLY=($(compgen -W "$options" -- "$current")); return ;;
  esac
  case $kind in
    files) COMPREPLY=($(compgen -f -- "$current")) ;;
    "") COMPREPLY=($(compgen -W "$choices" -- "$current")) ;;
    *) COMPREPLY=($(compgen -W "$choices $(headcount completion "$kind" 2>/dev/null)" -- "$current")) ;;
  esac
}}
complete -o filenames -F _headcount headcount hc"""

_ZSH = """\
_headcount() {{
  local -a commands options choices
  local kind=
  commands=(
{described}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case $words[2] in
{cases}
  esac
  if [[ $words[CURRENT] == -* ]]; then
    _describe option options
    return
  fi
  case $kind in
    files) _files ;;
    "") compadd -a choices ;;
    *) choices+=(${{(f)"$(headcount completion $kind 2>/dev/null)"}}); compadd -a choices ;;
  esac
}}
compdef _headcount headcount hc"""


def write_bash(commands: Sequence[Command]) -> str:
    def case(c: Command, position: str = "2") -> str:
        own = f'options="{" ".join(o.name for o in c.options)}" choices="{" ".join(c.choices)}" kind={c.kind}'
        if c.then:
            own += f'; [ "$COMP_CWORD" -gt {position} ] && kind={c.then}'
        verbs = " ".join(case(verb, "3") for verb in c.verbs)
        own += f'; [ "$COMP_CWORD" -gt 2 ] && case ${{COMP_WORDS[2]}} in {verbs} esac' if verbs else ""
        return f"{c.name}) {own} ;;"

    cases = "\n".join(f"    {case(c)}" for c in commands)
    return _BASH.format(names=" ".join(c.name for c in commands), cases=cases)


def write_zsh(commands: Sequence[Command]) -> str:
    described = "\n".join(f"    {_quote(f'{c.name}:{c.summary}')}" for c in commands)

    def case(c: Command, position: str = "3") -> str:
        options = " ".join(_quote(f"{o.name}:{o.summary}") for o in c.options)
        own = f"options=({options}); choices=({' '.join(c.choices)}); kind={c.kind}"
        own += f"; (( CURRENT > {position} )) && kind={c.then}" if c.then else ""
        verbs = " ".join(case(verb, "4") for verb in c.verbs)
        own += f"; if (( CURRENT > 3 )); then case $words[3] in {verbs} esac; fi" if verbs else ""
        return f"{c.name}) {own} ;;"

    cases = "\n".join(f"    {case(c)}" for c in commands)
    return _ZSH.format(described=described, cases=cases)


def write_fish(commands: Sequence[Command]) -> str:
    lines = ["complete -c hc -w headcount", "complete -c headcount -f"]
    for c in commands:
        first, after = "__fish_use_subcommand", f"__fish_seen_subcommand_from {c.name}"
        lines.append(f"complete -c headcount -n {first} -a {c.name} -d {_quote(c.summary)}")
        for option in c.options:
            name = f"-l {option.name[2:]}" if option.name.startswith("--") else f"-s {option.name[1:]}"
            lines.append(f"complete -c headcount -n {_quote(after)} {name} -d {_quote(option.summary)}")
        if c.verbs:
            any_verb = f"{after}; and not __fish_seen_subcommand_from {' '.join(c.choices)}"
            lines.append(f"complete -c headcount -n {_quote(any_verb)} -a {_quote(' '.join(c.choices))}")
        for place, one in [(f"{after}; and __fish_seen_subcommand_from {v.name}", v) for v in c.verbs] or [
            (after, c)
        ]:
            words = " ".join([*one.choices, *(_fish_names(one.kind))])
            if words:
                lines.append(f"complete -c headcount -n {_quote(place)} -a {_quote(words)}")
            if "files" in (one.kind, one.then):
                lines.append(f"complete -c headcount -n {_quote(place)} -F")
    return "\n".join(lines)


def _fish_names(kind: str) -> list[str]:
    return [f"(headcount completion {kind})"] if kind not in ("", "files") else []


def _quote(text: str) -> str:
    r"""Return text in single quotes for a shell. It contains none, because shells escape them differently."""
    return "'" + text.replace("'", "’").replace("%%", "%") + "'"


SHELLS: dict[str, Callable[[Sequence[Command]], str]] = {
    "bash": write_bash,
    "zsh": write_zsh,
    "fish": write_fish,
}
