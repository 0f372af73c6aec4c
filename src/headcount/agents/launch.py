"""Turn an order (who is started) into a launch (what is started), for every client."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial

from headcount.agents.acp.known_agents import find_agent, find_via
from headcount.agents.registry import CLIENTS, check_installed
from headcount.errors import UsageError, WorldError
from headcount.value_classes import dataclass

ACP = "acp"
"""The agent that is any command which speaks the Agent Client Protocol."""

HEADCOUNT = (sys.executable, "-P", "-m", "headcount")
"""`-P`: a member works in its workspace, and no file there may pass for a module of ours."""


@dataclass(frozen=True, slots=True)
class Order:
    """The input of a start: who, where and how."""

    home: str
    team: str
    member: str
    prompt: str
    prompt_file: str
    model: str = ""
    command: tuple[str, ...] = ()
    directory: str = ""
    """Of the definition: what a relative path in `command` is relative to."""
    permissions: str = "edit"
    terminal: bool = False
    """In a terminal that a person can attach to."""
    trusted: str = ""
    """The repository's root, if the user trusts it in this client."""


@dataclass(frozen=True, slots=True)
class Launch:
    """The command, environment and files that the runtime starts."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bool = False
    exit_text: str | None = None
    """Typed to make it exit; None: SIGTERM is its own way."""
    runtime: str = "plain"
    ready: str = ""
    """What its screen shows when it can be spoken to, as a regular expression; "": it is not looked at."""
    dialog: str = ""
    """What its screen shows when it waits for a person."""
    hold: str = ""
    """What its screen shows while nothing may be typed there."""
    conversations: tuple[str, ...] = ()
    """What the archive keeps of the client's directory."""


def _launch_command(order: Order) -> Launch:
    agent = CommandAgent(order.command, order.directory)
    runtime = "tmux" if order.terminal else "plain"
    return Launch(
        agent.argv(order.prompt, order.prompt_file, order.model), exit_text=agent.exit_text, runtime=runtime
    )


def _launch_client(name: str, order: Order) -> Launch:
    """`headcount client` runs it: turn by turn as a plain process, or once, in a terminal."""
    client = CLIENTS[name]
    words = _host_words(name, order)
    if not order.terminal:
        return Launch(tuple(words), stdin=True, conversations=client.conversations)
    return Launch(
        (*words, "--terminal"), exit_text=client.exit_text, runtime="tmux", ready=client.screen.ready,
        dialog=client.screen.dialog, hold=client.screen.hold, conversations=client.conversations,
    )  # fmt: skip


def _host_words(name: str, order: Order) -> list[str]:
    words = [*HEADCOUNT, "client", name, "--permissions", order.permissions]
    if order.trusted:
        words += ["--trusted", order.trusted]
    return [*words, "--model", order.model] if order.model else words


def _launch_acp(order: Order) -> Launch:
    """`headcount client acp` runs an agent that speaks ACP. It has no screen, so it has no terminal."""
    if order.terminal:
        raise UsageError(
            f"{order.member} cannot run in a terminal",
            "an agent that speaks ACP has no screen",
            ("Set `terminal = false` for it, or run its client without ACP",),
            code="wrong-setting",
        )
    argv = CommandAgent(order.command, order.directory).argv(order.prompt, order.prompt_file, order.model)
    words = [*_host_words(ACP, order), "--", *argv]
    return Launch(tuple(words), stdin=True, conversations=find_agent(argv).conversations)


AGENTS: dict[str, Callable[[Order], Launch]] = {
    "command": _launch_command,
    ACP: _launch_acp,
    **{name: partial(_launch_client, name) for name in CLIENTS},
}


def plan_launch(agent: str, order: Order) -> Launch:
    check_agent(agent)
    return AGENTS[agent](order)


def resolve_via(agent: str, command: tuple[str, ...], via: str) -> tuple[str, tuple[str, ...]]:
    """Return what to launch, if `via` decides how a known client is run."""
    return (ACP, find_via(agent).argv) if via == ACP and agent in CLIENTS else (agent, command)


def trusting_client(agent: str, command: tuple[str, ...]) -> str:
    """Return the client that must trust the repository; an adapter runs one of the known clients."""
    return (find_agent(command).client or agent) if agent == ACP else agent


def check_agent(agent: str, command: tuple[str, ...] = (), *, installed: bool = False) -> None:
    """Check that an agent is known and, if requested, installed and new enough."""
    if agent not in AGENTS:
        raise UsageError(
            f"There is no agent {agent!r}",
            f"known ones: {', '.join(AGENTS)}",
            ('Give the worker a command: define_worker("bob", command=["./agent.sh", "bob"])',),
            code="unknown-agent",
        )
    if installed and agent == ACP:
        _check_program(command)
    elif installed and agent in CLIENTS:
        check_installed(agent)


def _check_program(command: tuple[str, ...]) -> None:
    """Refuse an ACP agent without a program on PATH. A path is relative to the definition."""
    if not command:
        raise UsageError(
            "A worker with the agent acp has no command",
            "acp needs the command that starts an agent which speaks ACP",
            ('Add it to the worker: define_worker("bob", agent="acp", command=["opencode", "acp"])',),
            code="empty-command",
        )
    if "/" not in command[0] and shutil.which(command[0]) is None:
        install = find_agent(command).install
        raise WorldError(
            f"{command[0]} is not installed",
            f"there is no {command[0]} on PATH",
            (f"Install it with `{install}`",) if install else (),
            code="client-missing",
        )


# --- command ---------------------------------------------------------------------------------------------
#
# Any program as an agent: how its command line is made, and how it is asked to exit.
#
# `{prompt}`, `{prompt_file}` and `{model}` are filled in, once and in one pass: a prompt that contains
# `{model}` stays as it is, and so do all other braces. A program, or an argument that starts with `./`
# or `../`, is meant relative to the file that defines it, because the agent itself runs in its workspace.


_PLACEHOLDER = re.compile(r"\{(prompt|prompt_file|model)\}")


@dataclass(frozen=True, slots=True)
class CommandAgent:
    command: tuple[str, ...]
    directory: str
    """Of the definition."""
    exit_text: str | None = None
    """Typed to make it exit. None: SIGTERM is its own way."""

    def __post_init__(self) -> None:
        if not self.command or not self.command[0]:
            raise UsageError(
                "A command needs a program",
                "command is empty",
                ('Write it as a list, such as ["./agent.sh", "{prompt_file}"]',),
                code="empty-command",
            )

    def argv(self, prompt: str, prompt_file: str, model: str = "") -> tuple[str, ...]:
        values = {"prompt": prompt, "prompt_file": prompt_file, "model": model}

        def fill(word: str) -> str:
            return _PLACEHOLDER.sub(lambda match: values[match[1]], word)

        program, *arguments = self.command
        if "/" in program:
            program = self._beside_definition(program)
        return (fill(program), *(fill(self._argument(word)) for word in arguments))

    def _argument(self, word: str) -> str:
        return self._beside_definition(word) if word.startswith(("./", "../")) else word

    def _beside_definition(self, path: str) -> str:
        return os.path.normpath(os.path.join(self.directory, path))
