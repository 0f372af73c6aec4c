"""Define what can happen to a run, and what must be done for it, as values."""

# Acts carry the attempt in their id, and results name the attempt that they belong to. Results of an
# earlier attempt are therefore late. Every event carries its time, because a run records when it started
# and ended.

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.protocol.task_events import LEAD
from headcount.value_classes import dataclass

if TYPE_CHECKING:
    from headcount.domain.settings import Gates
    from headcount.protocol.phase import Crew
    from headcount.protocol.task import Task
    from headcount.protocol.task_events import TaskEvent


@dataclass(frozen=True, slots=True)
class PhaseEvent:
    """The root of all events of a run."""

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
    """A gate ended. `verdict` is passed, failed, or not_run (tool missing, too slow, not started)."""

    gate: str
    attempt: int
    verdict: str
    evidence: str


@dataclass(frozen=True, slots=True)
class CleanupEnded(PhaseEvent):
    """A cleanup ended. `alive` are members that are not proved gone."""

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
    """No task is in progress, none may start, and no decision is open; see `schedule.why_waiting`."""

    why: str


@dataclass(frozen=True, slots=True)
class RetryRun(PhaseEvent):
    """Retry a blocked run. `attempt` is the one that failed, `gates` are the current ones."""

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
