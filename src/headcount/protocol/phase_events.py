"""What can happen to a run, and what must be done for it, as values.

Acts carry the attempt in their id, and results name the attempt that they belong to: whatever an earlier
attempt left behind is late.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headcount.protocol.task_events import LEAD

if TYPE_CHECKING:
    from headcount.domain.settings import Gates
    from headcount.protocol.phase import Crew
    from headcount.protocol.task import Task
    from headcount.protocol.task_events import TaskEvent


@dataclass(frozen=True, slots=True)
class PhaseEvent:
    """The root of what can happen to a run."""

    at: str  # ISO 8601 with an offset


@dataclass(frozen=True, slots=True)
class RunOpened(PhaseEvent):
    """A team begins to run tasks."""

    tasks: tuple[Task, ...]
    gates: Gates
    crew: Crew


@dataclass(frozen=True, slots=True)
class TaskHappened(PhaseEvent):
    task: str
    event: TaskEvent


@dataclass(frozen=True, slots=True)
class GateEnded(PhaseEvent):
    """`verdict` is passed, failed, or not_run: its tool is missing, it took too long, it could not start."""

    gate: str
    attempt: int
    verdict: str
    evidence: str


@dataclass(frozen=True, slots=True)
class CleanupEnded(PhaseEvent):
    """`alive` are workers and reviewers that are not proved gone."""

    attempt: int
    tries: int
    ok: bool
    detail: str = ""
    alive: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AbortRun(PhaseEvent):
    reason: str
    by: str = LEAD


@dataclass(frozen=True, slots=True)
class NothingMoves(PhaseEvent):
    """No task is under way, none may start, and nobody decides: see `schedule.why_waiting`."""

    why: str


@dataclass(frozen=True, slots=True)
class RetryRun(PhaseEvent):
    """Try a blocked phase again; names the attempt that failed. `gates`: as they are defined now."""

    attempt: int
    gates: Gates | None = None


@dataclass(frozen=True, slots=True)
class RunGate:
    gate: str
    attempt: int
    gates: Gates

    @property
    def id(self) -> str:
        return f"gate:{self.gate}:{self.attempt}"


@dataclass(frozen=True, slots=True)
class CleanUp:
    """Stand the team down, and close it."""

    attempt: int
    tries: int

    @property
    def id(self) -> str:
        return f"cleanup:{self.attempt}:{self.tries}"


PhaseEffect = RunGate | CleanUp
