"""Run the command line: parse, call one use case, render.

Members call their commands often, so `main` dispatches those before it imports anything else. Every other
command is a module of this package with `configure(parser)` and `run(args) -> exit code`.
"""

from __future__ import annotations

import sys

from headcount.cli import streams

# command -> (module below headcount.cli, one line for --help), in the order of --help
COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("demo", "show a stand-down with scripted agents, in ten seconds"),
    "init": ("init", "set up a repository and a client, or undo it"),
    "up": ("up", "start a team"),
    "run": ("run", "run a team's tasks with reviews and gates, then stand it down"),
    "abort": ("abort", "end a run: start nothing new, stand down what is in progress"),
    "spawn": ("spawn", "start one more member"),
    "pause": ("pause", "suspend a member's processes"),
    "resume": ("pause", "continue a paused member"),
    "cycle": ("cycle", "replace a member with its next generation, with a handover note"),
    "witness": ("witness", "inspect a member's workspace and screen, judge it, nudge it"),
    "task": ("task", "create, list, claim and complete tasks"),
    "status": ("status", "show the members, what they do, and what needs your decision"),
    "down": ("down", "stand down a team or some of its members"),
    "escalations": ("escalations", "list what needs your decision"),
    "salvage": ("salvage", "list, check and restore saved work"),
    "decide": ("decide", "decide an escalation"),
    "attach": ("attach", "open a member's terminal"),
    "logs": ("logs", "print a member's output"),
    "serve": ("serve", "serve the live page for a browser"),
    "report": ("report", "write what happened, with a timeline, to one HTML file"),
    "trace": ("trace", "send what happened as an OpenTelemetry trace"),
    "adopt": ("adopt", "take over a state directory that was moved or copied here"),
    "sweep": ("sweep", "find and remove leftovers of crashed runs"),
    "doctor": ("doctor", "check what is missing, and how to get it"),
    "explain": ("explain", "explain an error code"),
    "completion": ("completion", "print shell completion for bash, zsh or fish"),
    "mcp": ("mcp", "serve the tools for agents over MCP"),
    "engine": ("engine", "run the engine of this state directory"),
    "skills": ("skills", "write instructions for lead, witness and members"),
    "build": ("build", "compile team definitions to Markdown"),
    "graph": ("graph", "draw a workflow as Mermaid or SVG"),
}

# The members' commands, and their verbs (empty: the command has none, or all are for members).
HOT: dict[str, tuple[str, ...]] = {
    "inbox": (),
    "read": (),
    "send": (),
    "done": (),
    "idle": (),
    "approve": (),
    "reject": (),
    "task": ("list", "claim", "complete"),
    "review": ("pass", "changes"),
    "client": (),
    "hook": (),
}


# These commands take a verb.
_WITH_VERBS = ("task", "review", "salvage", "witness")


def main(argv: list[str] | None = None) -> int:
    words = in_order(sys.argv[1:] if argv is None else argv)
    streams.prepare()
    try:
        code = _run(words)
        if sys.stdout is not None:
            sys.stdout.flush()  # while an error can still be reported
        return code
    except OSError as error:
        if streams.is_output(error):
            return streams.not_taken(error)
        raise
    except KeyboardInterrupt:
        return 130  # while a command was still being imported


def _run(words: list[str]) -> int:
    if _is_hot(words):
        from headcount.cli import member

        return member.main(words)
    from headcount.cli import operator

    return operator.main(words)


def _is_hot(words: list[str]) -> bool:
    """Return whether the members' path serves this command: `task list`, but not `task create`."""
    if not words or words[0] not in HOT:
        return False
    theirs = HOT[words[0]]
    return not theirs or words[1:2] in [[word] for word in theirs] or words[0] not in COMMANDS


def in_order(words: list[str]) -> list[str]:
    """Move common options behind the command: `--json task list` becomes `task list --json`."""
    names: list[str] = []
    early: list[str] = []
    rest = list(words)
    while rest and len(names) < (2 if names and names[0] in _WITH_VERBS else 1):
        if rest[0] == "--json" or rest[0].startswith("--team="):
            early.append(rest.pop(0))
        elif rest[0] == "--team" and len(rest) > 1:
            early += (rest.pop(0), rest.pop(0))
        elif rest[0].startswith("-"):
            break
        else:
            names.append(rest.pop(0))
    # Words after two dashes belong to another program.
    end = rest.index("--") if "--" in rest else len(rest)
    return [*names, *rest[:end], *early, *rest[end:]]
