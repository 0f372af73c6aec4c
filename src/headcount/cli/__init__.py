"""Run the command line: parse, call one use case, render.

Members call their commands often, so `main` dispatches those before it imports anything else. Every other
command NAME is two functions of a module: `configure_NAME(parser)` and `run_NAME(args) -> exit code`.
"""

from __future__ import annotations

import sys

from headcount.cli import streams

# command -> (module below headcount.cli, one line for --help), in the order of --help
COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("setup_commands", "show a stand-down with scripted agents, in ten seconds"),
    "init": ("setup_commands", "set up a repository and a client, or undo it"),
    "up": ("start_commands", "start a team"),
    "run": ("run_commands", "run a team's tasks with reviews and gates, then stand it down"),
    "abort": ("run_commands", "end a run: start nothing new, stand down what is in progress"),
    "spawn": ("start_commands", "start one more member"),
    "pause": ("start_commands", "suspend a member's processes"),
    "resume": ("start_commands", "continue a paused member"),
    "cycle": ("start_commands", "replace a member with its next generation, with a handover note"),
    "witness": ("lead_commands", "inspect a member's workspace and screen, judge it, nudge it"),
    "task": ("lead_commands", "create, list, claim and complete tasks"),
    "status": ("status_commands", "show the members, what they do, and what needs your decision"),
    "teams": ("team_commands", "list open and past teams, here or in all of your repositories"),
    "open": ("team_commands", "open the live pages of all of your repositories in a browser"),
    "todo": ("desk_commands", "list what waits for you: questions, decisions, dialogs, failures"),
    "reply": ("desk_commands", "answer a message from a member"),
    "diff": ("review_commands", "show what a member changed"),
    "log": ("review_commands", "list the commits of a member"),
    "compare": ("review_commands", "compare what two members made"),
    "merge": ("review_commands", "merge the commits of a member into your branch"),
    "pr": ("review_commands", "push the branch of a member and open a pull request"),
    "set": ("team_commands", "show the policy of an open team, or change it"),
    "down": ("stand_down_commands", "stand down a team or some of its members"),
    "escalations": ("stand_down_commands", "list what needs your decision"),
    "asks": ("ask_commands", "list the permissions that members request"),
    "salvage": ("report_commands", "list, check and restore saved work"),
    "checkpoints": (
        "checkpoint_commands",
        "list and restore snapshots that are taken while a member works",
    ),
    "decide": ("stand_down_commands", "decide an escalation, or answer a permission request"),
    "attach": ("status_commands", "open a member's terminal"),
    "logs": ("status_commands", "print a member's output"),
    "serve": ("server_commands", "serve the live page for a browser"),
    "report": ("report_commands", "summarize what a team made and did, as one HTML file or as Markdown"),
    "trace": ("report_commands", "send what happened as an OpenTelemetry trace"),
    "adopt": ("setup_commands", "take over a state directory that was moved or copied here"),
    "sweep": ("setup_commands", "find and remove leftovers of crashed runs"),
    "prune": ("setup_commands", "remove merged branches and old records of closed teams"),
    "hub": ("hub_commands", "make a repository for a second copy of saved work"),
    "doctor": ("setup_commands", "check what is missing, and how to get it"),
    "explain": ("setup_commands", "explain an error code, or list all settings"),
    "completion": ("command_lists", "print shell completion for bash, zsh or fish"),
    "mcp": ("server_commands", "serve the tools for agents over MCP"),
    "engine": ("server_commands", "run the engine of this state directory"),
    "skills": ("definition_commands", "write instructions for lead, witness and members"),
    "build": ("definition_commands", "compile team definitions to Markdown"),
    "graph": ("definition_commands", "draw a workflow as Mermaid or SVG"),
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
_WITH_VERBS = ("task", "review", "salvage", "witness", "hub")


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
    if words == ["mcp"]:  # a client's first turn does not wait for it
        from headcount.mcp_server.stdio import serve

        return serve()
    from headcount.cli import command_parser

    return command_parser.main(words)


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
