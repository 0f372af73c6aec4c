"""What can happen to a task, and what must be done for it, as values.

What a task wants is of three kinds. `run.py` carries them out inside the same step:

- **orders** (`Spawn`, `StandDown`, `ChangesRequested`, `Escalate`) are for the team's own rules;
- **writes** (`Note`, `SetStatus`) become parts of the step's `Ready`;
- **acts** (`Merge`, `AskReview`) reach the world after the step is durable, and may be repeated: their ids
carry
  the attempt and what they are about.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headcount.protocol.effects import Note, SetStatus
from headcount.protocol.events import ChangesRequested, Spawn, StandDown

LEAD: Final = "lead"
PASS: Final = "pass"
CHANGES: Final = "changes"


# --- what can happen ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TaskEvent:
    """The root of what can happen to a task. `key` names an incarnation; one without a seat here is late."""


@dataclass(frozen=True, slots=True)
class Begin(TaskEvent):
    """It is its turn: a slot, a worker, and reviewers as pairs of role and name."""

    slot: int
    worker: str
    reviewers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Spawned(TaskEvent):
    """The team took the order for this seat; `key` is the incarnation."""

    name: str
    key: str


@dataclass(frozen=True, slots=True)
class SpawnRefused(TaskEvent):
    name: str
    why: str


@dataclass(frozen=True, slots=True)
class WorkVerified(TaskEvent):
    """Its worker's done was inspected and is clean; `commits` are those that only its branch has."""

    key: str
    commit: str
    commits: int


@dataclass(frozen=True, slots=True)
class MemberLeft(TaskEvent):
    """Proved gone, or stuck (`outcome`), with what stood in its workspace. `by` stood it down, if not we.

    `cycled`: it is gone because it was cycled, its handover is stored, and its next generation may start.
    """

    key: str
    outcome: str | None
    salvage: str | None = None
    commit: str = ""
    commits: int = 0
    by: str = ""
    cycled: bool = False


@dataclass(frozen=True, slots=True)
class MemberEscalated(TaskEvent):
    key: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class MemberBack(TaskEvent):
    """Its escalation was answered with "wait": it is at work again."""

    key: str


@dataclass(frozen=True, slots=True)
class Reassigned(TaskEvent):
    """Its escalation was decided so: when it is gone, another takes over from its salvage."""

    key: str
    by: str = LEAD


@dataclass(frozen=True, slots=True)
class Refused(TaskEvent):
    """It rejected this request to stand down."""

    key: str
    request_id: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Reviewed(TaskEvent):
    key: str
    commit: str
    verdict: str  # pass or changes
    words: str = ""


@dataclass(frozen=True, slots=True)
class Merged(TaskEvent):
    attempt: int
    commit: str


@dataclass(frozen=True, slots=True)
class Conflicted(TaskEvent):
    attempt: int
    commit: str
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MergeFailed(TaskEvent):
    """The merge could not be tried: git, the disk, the branch."""

    attempt: int
    commit: str
    why: str


@dataclass(frozen=True, slots=True)
class Abort(TaskEvent):
    reason: str
    by: str = LEAD


@dataclass(frozen=True, slots=True)
class Retry(TaskEvent):
    """Try a blocked task afresh. Names the attempt that failed, so that asking twice retries once."""

    attempt: int


# --- what must be done -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Merge:
    """Merge exactly this commit into the integration branch; merging what is merged already is a success."""

    task: str
    attempt: int
    commit: str

    @property
    def id(self) -> str:
        return f"{self.task}:{self.attempt}:merge:{self.commit}"


@dataclass(frozen=True, slots=True)
class AskReview:
    """Put this commit in front of a reviewer that is there: its workspace, then its mail."""

    task: str
    attempt: int
    key: str
    commit: str

    @property
    def id(self) -> str:
        return f"{self.task}:{self.attempt}:review:{self.key}:{self.commit}"


@dataclass(frozen=True, slots=True)
class Escalate:
    """A member refuses to stand down for good: somebody must decide about it."""

    task: str
    attempt: int
    key: str
    reason: str

    @property
    def id(self) -> str:
        return f"{self.task}:{self.attempt}:escalate:{self.key}"


TaskEffect = Spawn | StandDown | ChangesRequested | Note | SetStatus | Merge | AskReview | Escalate
