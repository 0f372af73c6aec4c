"""What passes between driver and performer: a job for each act that begins, a report for each that ended."""

from __future__ import annotations

import os
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.domain.environment import build_environment
from headcount.value_classes import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headcount.domain.policy import Policy
    from headcount.ports import (
        Checkpoints,
        Commands,
        Executor,
        Files,
        Handle,
        Hub,
        Judge,
        Runtime,
        Workspaces,
    )
    from headcount.protocol.effects import Act, Note, Post
    from headcount.protocol.events import Event
    from headcount.protocol.member import Member
    from headcount.protocol.phase_events import PhaseEvent
    from headcount.protocol.team import Team


HUB = "hub"  # in `start`: the hub of the team, as a URL; "" without one
PROCESS = "process"  # the fact about an incarnation that says which processes its start made


@dataclass(frozen=True, slots=True)
class World:
    """The adapters that a performer works with, chosen in `app/adapters.py`."""

    home: str  # the state directory
    runtimes: Mapping[str, Runtime]  # plain, tmux
    workspaces: Workspaces
    judge: Judge
    commands: Commands
    files: Files
    executor: Executor
    checkpoints: Checkpoints | None = None  # None: none are taken
    find_hub: Callable[[str], Hub] | None = None  # by its URL; None where there is no git


@dataclass(frozen=True, slots=True)
class Job:
    """One act with all that is needed for it, read from the store beforehand: no performer sees a store."""

    act: Act
    team: Team
    policy: Policy
    world: World
    member: Member | None = None
    handle: Handle | None = None
    # Facts of this incarnation: `start` (how to start it) and `workspace` (where it works).
    start: Mapping[str, Any] = field(default_factory=dict)
    held: Mapping[str, Any] = field(default_factory=dict)  # where the environment of its team is held
    workspace: Mapping[str, Any] | None = None
    # Facts of all members, for the steps of closing.
    everyone: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    token: str = ""
    text: str = ""  # of a request to review another commit
    # What the store knows of its processes, and the secret of the keeper that is to be started.
    process: Mapping[str, Any] = field(default_factory=dict)
    seal: bytes = field(default=b"", repr=False)
    # Of a nudge: how often it was tried before, and whether the mail that goes with it has been read.
    tries: int = 0
    mail_read: bool = False

    @property
    def environment(self) -> dict[str, str]:
        """For commands of the team: its own over the engine's, which has what a team without any needs."""
        return {**build_environment(os.environ), **self.start.get("env", {})}

    @property
    def hub(self) -> Hub | None:
        url = str(self.start.get(HUB) or "")
        return self.world.find_hub(url) if url and self.world.find_hub is not None else None

    @property
    def runtime(self) -> Runtime:
        return self.world.runtimes[str(self.start.get("runtime", "plain"))]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an act led to: events for the next step, facts to keep, lines for the journal."""

    events: tuple[Event | PhaseEvent, ...] = ()
    facts: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)  # by about and name
    notes: tuple[Note, ...] = ()
    handle: Handle | None = None
    mail: tuple[Post, ...] = ()
    again_s: float | None = None  # not done, and nothing changed: to be tried again after so long


class Result(NamedTuple):
    """An act, an exit or a limit led to something. Without `act`, nothing was pending for it."""

    team: str
    key: str
    outcome: Outcome
    act: Act | None = None


class Again(NamedTuple):
    """An act changed nothing, and is to be tried again."""

    act: tuple[str, str]  # team's id, act's id
    seconds: float


Report = Result | Again
