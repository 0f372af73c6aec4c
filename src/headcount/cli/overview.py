"""Write `headcount --help`: every command in one line, grouped by purpose."""

from __future__ import annotations

from headcount.cli import COMMANDS
from headcount.cli.member.table import COMMANDS as MEMBERS

GROUPS: dict[str, tuple[str, ...]] = {
    "start here": ("demo", "init", "doctor"),
    "define a team": ("build", "graph", "skills"),
    "start and lead it": ("up", "run", "spawn", "task", "pause", "resume", "cycle", "witness", "abort"),
    "see what it does": ("status", "serve", "attach", "logs", "report", "trace"),
    "end it": ("down", "escalations", "decide", "salvage", "sweep", "adopt"),
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
