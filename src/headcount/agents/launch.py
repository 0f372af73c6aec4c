"""From "who is it" to "what is started": one order in, one launch out, whatever client the agent is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from headcount.agents.command import CommandAgent
from headcount.errors import UsageError


@dataclass(frozen=True, slots=True)
class Order:
    """What a member is to be started with."""

    home: str
    team: str
    member: str
    prompt: str
    prompt_file: str
    model: str = ""
    command: tuple[str, ...] = ()
    directory: str = ""
    """Of the definition: what a relative path in `command` is relative to."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What the runtime is given."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bool = False
    exit_text: str | None = None
    """Typed to make it exit; None: SIGTERM is its own way."""
    runtime: str = "plain"


def _launch_command(order: Order) -> Launch:
    agent = CommandAgent(order.command, order.directory)
    return Launch(agent.argv(order.prompt, order.prompt_file, order.model), exit_text=agent.exit_text)


AGENTS: dict[str, Callable[[Order], Launch]] = {
    "command": _launch_command,
}


def plan_launch(agent: str, order: Order) -> Launch:
    check_agent(agent)
    return AGENTS[agent](order)


def check_agent(agent: str) -> None:
    if agent not in AGENTS:
        raise UsageError(
            f"There is no agent {agent!r}",
            f"these are known: {', '.join(AGENTS)}",
            ('Give the worker a command: define_worker("bob", command=["./agent.sh", "bob"])',),
            code="unknown-agent",
        )
