"""The command line. Thin: parse, call one use case, render.

Members call their commands often, so those are dispatched before anything else is imported. Every other
command NAME is two functions of a module: `configure_NAME(parser)` and `run_NAME(args) -> exit code`.
"""

from __future__ import annotations

import sys

from headcount.cli import streams

# command -> (module below headcount.cli, one line for --help), in the order of --help
COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("setup_commands", "see in ten seconds what this is for"),
    "init": ("setup_commands", "set a repository and a client up, or undo that"),
    "up": ("start_commands", "start a team"),
    "run": ("run_commands", "run a team's tasks with reviews and gates, then stand it down"),
    "abort": ("run_commands", "end a run: nothing new starts, what is under way is stood down"),
    "spawn": ("start_commands", "start one more member"),
    "pause": ("start_commands", "hold a member's processes"),
    "resume": ("start_commands", "let a paused member go on"),
    "cycle": ("start_commands", "hand a member's work over to its next generation"),
    "witness": ("lead_commands", "look, judge, speak, see, hand over"),
    "task": ("lead_commands", "put a task on a team's list"),
    "status": ("status_commands", "who is there, what they do, what waits for somebody"),
    "down": ("stand_down_commands", "stand a team or some of its members down"),
    "escalations": ("stand_down_commands", "what waits for a decision"),
    "salvage": ("report_commands", "what was saved, and getting it back"),
    "decide": ("stand_down_commands", "decide an escalation"),
    "attach": ("status_commands", "a member's terminal"),
    "logs": ("status_commands", "what a member printed"),
    "serve": ("server_commands", "the live page, in a browser"),
    "report": ("report_commands", "what happened, with a timeline, in one HTML file"),
    "trace": ("report_commands", "what happened, as an OpenTelemetry trace"),
    "adopt": ("setup_commands", "take over a state directory that was moved or copied here"),
    "sweep": ("setup_commands", "leftovers of crashed runs"),
    "doctor": ("setup_commands", "what is missing, and how to get it"),
    "explain": ("setup_commands", "an error code in full"),
    "completion": ("command_lists", "completion of commands and names, for bash, zsh or fish"),
    "mcp": ("server_commands", "the tools for agents, as an MCP server"),
    "engine": ("server_commands", "drive the teams of this state directory"),
    "skills": ("definition_commands", "write the instructions for lead, witness and members"),
    "build": ("definition_commands", "compile team definitions to Markdown"),
    "graph": ("definition_commands", "draw a workflow as Mermaid or SVG"),
}

# The members' commands, and which words after them are theirs (none: all).
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


# After these comes a verb.
_WITH_VERBS = ("task", "review", "salvage", "witness")


def main(argv: list[str] | None = None) -> int:
    words = in_order(sys.argv[1:] if argv is None else argv)
    streams.prepare()
    try:
        code = _run(words)
        if sys.stdout is not None:
            sys.stdout.flush()  # while an error can still be told
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
    from headcount.cli import command_parser

    return command_parser.main(words)


def _is_hot(words: list[str]) -> bool:
    """A command may have words for members and others for the operator (`task create`)."""
    if not words or words[0] not in HOT:
        return False
    theirs = HOT[words[0]]
    return not theirs or words[1:2] in [[word] for word in theirs] or words[0] not in COMMANDS


def in_order(words: list[str]) -> list[str]:
    """What every command has may also stand before it: `--json task list` is `task list --json`."""
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
    # What follows two dashes belongs to somebody else.
    end = rest.index("--") if "--" in rest else len(rest)
    return [*names, *rest[:end], *early, *rest[end:]]
