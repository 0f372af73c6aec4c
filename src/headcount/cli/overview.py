"""`headcount --help`: every command in one line, by what one wants."""

from __future__ import annotations

from headcount.cli import COMMANDS
from headcount.cli.member.table import COMMANDS as MEMBERS

GROUPS: dict[str, tuple[str, ...]] = {
    "begin here": ("demo", "init", "doctor"),
    "define a team": ("build", "graph", "skills"),
    "start and lead it": ("up", "run", "spawn", "task", "pause", "resume", "cycle", "witness", "abort"),
    "see how it stands": ("status", "serve", "attach", "logs", "report", "trace"),
    "bring everyone home": ("down", "escalations", "decide", "salvage", "sweep", "adopt"),
    "for programs, and the rest": ("mcp", "engine", "explain", "completion"),
}
FOR_CLIENTS = ("client", "hook")  # what agent clients are started and configured with: nobody types them


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
    """As the other summaries are: not a sentence of its own."""
    first = text.split("\n")[0].split(". ")[0].split("; ")[0].rstrip(".")
    return first if first[1:2].isupper() else first[0].lower() + first[1:]
