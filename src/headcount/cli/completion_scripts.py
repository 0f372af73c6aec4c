"""The scripts that the shells read, written from the list of commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headcount.cli.completion import Command

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
    cases = "\n".join(
        f'    {c.name}) options="{" ".join(o.name for o in c.options)}" '
        f'choices="{" ".join(c.choices)}" kind={c.kind} ;;'
        for c in commands
    )
    return _BASH.format(names=" ".join(c.name for c in commands), cases=cases)


def write_zsh(commands: Sequence[Command]) -> str:
    described = "\n".join(f"    {_quote(f'{c.name}:{c.summary}')}" for c in commands)
    cases = "\n".join(
        f"    {c.name}) options=({' '.join(_quote(f'{o.name}:{o.summary}') for o in c.options)}); "
        f"choices=({' '.join(c.choices)}); kind={c.kind} ;;"
        for c in commands
    )
    return _ZSH.format(described=described, cases=cases)


def write_fish(commands: Sequence[Command]) -> str:
    lines = ["complete -c hc -w headcount", "complete -c headcount -f"]
    for c in commands:
        first, after = "__fish_use_subcommand", f"__fish_seen_subcommand_from {c.name}"
        lines.append(f"complete -c headcount -n {first} -a {c.name} -d {_quote(c.summary)}")
        for option in c.options:
            name = f"-l {option.name[2:]}" if option.name.startswith("--") else f"-s {option.name[1:]}"
            lines.append(f"complete -c headcount -n {_quote(after)} {name} -d {_quote(option.summary)}")
        names = [f"(headcount completion {c.kind})"] if c.kind not in ("", "files") else []
        words = " ".join([*c.choices, *names])
        if c.kind == "files":
            lines.append(f"complete -c headcount -n {_quote(after)} -F")
        elif words:
            lines.append(f"complete -c headcount -n {_quote(after)} -a {_quote(words)}")
    return "\n".join(lines)


def _quote(text: str) -> str:
    r"""For a shell: in single quotes. The three have different ways to write one inside, so there is none."""
    return "'" + text.replace("'", "’").replace("%%", "%") + "'"


SHELLS: dict[str, Callable[[Sequence[Command]], str]] = {
    "bash": write_bash,
    "zsh": write_zsh,
    "fish": write_fish,
}
