"""Write docs/reference/commands.md from the commands: python scripts/write_commands.py

A test compares the committed page with the result. Names and options come from argparse and from the members'
table, because the text of --help differs between versions of Python.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from headcount.cli import COMMANDS
from headcount.cli.command_parser import configure
from headcount.cli.member.command_line import Spec
from headcount.cli.member.command_table import COMMANDS as OF_MEMBERS

PAGE = Path(__file__).parents[1] / "docs/reference/commands.md"

_HEAD = """\
# Commands

The command is `headcount`, or `hc` for short. Every command has `--help` and `--json`. With `--json` the
answer or the error is one JSON value on standard output ([its fields](json.md)). The answer is on standard
output, everything else on standard error. `scripts/write_commands.py` generates this page.

| exit code | |
|---|---|
| 0 | success |
| 1 | it ran, and the result is negative |
| 2 | a wrong call: an unknown name, id, option or setting |
| 3 | the definition does not compile |
| 4 | the machine failed: store, git, tmux, process |
| 5 | not allowed |
| 70 | a bug in headcount |
| 129 | `run` or `engine` ended with its terminal |
| 130 | interrupted with Ctrl-C; the engine continues |
| 141 | the reader of the output closed it, as `head` does |
| 143 | `run` or `engine` ended by SIGTERM |

An error names what happened, its cause, and what to do next. See [all error codes](errors.md).

You can omit the name of the team if there is only one. A member can always omit it. `--json` and
`--team TEAM` may also precede the command: `headcount --json status`.

## For the operator
"""

_MEMBERS = """
## For a member

A member's identity is in its [environment](environment.md). These commands start in about the time that
Python needs to start and open SQLite. [Commands for members](member-commands.md) describes their answers and
who else may use them. Each also has `--team TEAM`, for an operator with several teams.
"""


def render() -> str:
    operator = "".join(_operator_command(name) for name in COMMANDS)
    members = "".join(_member_command(spec) for spec, _ in OF_MEMBERS.values())
    return f"{_HEAD}{operator}{_MEMBERS}{members}"


def parser_of(name: str) -> argparse.ArgumentParser:
    _, summary = COMMANDS[name]
    parser = argparse.ArgumentParser(
        prog=f"headcount {name}", description=f"{summary[0].upper()}{summary[1:]}."
    )
    configure(parser, name)
    return parser


def _operator_command(name: str) -> str:
    parser = parser_of(name)
    parts = [f"\n### headcount {name}\n\n{parser.description}"]
    verbs = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    if verbs:
        parts += [_verb(name, *verb) for verb in _verbs(verbs[0])]
    else:
        parts.append(_usage(f"headcount {name}", parser))
        parts.append(_options(parser))
    parts.append(" ".join((parser.epilog or "").split()))
    return "\n\n".join(part for part in parts if part) + "\n"


def _verbs(action: Any) -> list[tuple[str, argparse.ArgumentParser, str]]:
    helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
    return [(word, parser, helps.get(word, "")) for word, parser in action.choices.items()]


def _verb(name: str, word: str, parser: argparse.ArgumentParser, summary: str) -> str:
    parts = [f"**`headcount {name} {word}`**: {summary}.", _usage(f"headcount {name} {word}", parser)]
    return "\n\n".join(part for part in (*parts, _options(parser)) if part)


def _usage(called: str, parser: argparse.ArgumentParser) -> str:
    words = [word for action in _shown(parser) for word in [_written(action)] if word]
    return f"```\n{' '.join([called, *words, '[--json]'])}\n```"


def _shown(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Without --help and --json, which every command has; options after what they are about."""
    own = [a for a in parser._actions if a.dest not in ("help", "json") and a.help != argparse.SUPPRESS]
    return sorted(own, key=lambda action: bool(action.option_strings))


def _written(action: argparse.Action) -> str:
    if not action.option_strings:
        return _words(action, _value(action))
    name = action.option_strings[0]
    text = name if action.nargs == 0 else f"{name} {_value(action)}"
    if isinstance(action, argparse._AppendAction):
        return f"[{text}]…"
    return text if action.required else f"[{text}]"


def _words(action: argparse.Action, value: str) -> str:
    return {"?": f"[{value}]", "*": f"[{value}…]", "+": f"{value}…"}.get(str(action.nargs), value)


def _value(action: argparse.Action) -> str:
    if action.choices and not action.metavar:
        return "|".join(str(choice) for choice in action.choices)
    return str(action.metavar or action.dest.upper())


def _options(parser: argparse.ArgumentParser) -> str:
    rows = [f"| {_names(action)} | {_about(action)} |" for action in _shown(parser) if action.help]
    return "\n".join(["| | |", "|---|---|", *rows]) if rows else ""


def _names(action: argparse.Action) -> str:
    names = action.option_strings or [_value(action)]
    value = f" {_value(action)}" if action.option_strings and action.nargs != 0 else ""
    return ", ".join(f"`{name}{value}`" for name in names).replace("|", "\\|")


def _about(action: argparse.Action) -> str:
    return str(action.help).replace("%%", "%").replace("|", "\\|")


def _member_command(spec: Spec) -> str:
    name = spec.usage.partition(" [")[0].partition(" -")[0]
    words = " ".join(word for word in name.split() if not word.isupper())
    return f"\n### headcount {words}\n\n```\nheadcount {spec.usage} [--json]\n```\n\n{spec.lines}\n"


def main() -> None:
    PAGE.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
