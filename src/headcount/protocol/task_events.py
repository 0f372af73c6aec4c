"""Define what can happen to a task, and what must be done for it, as values."""

# Effects of a task are of three kinds. `run.py` carries them out in the same step:
#
# - **orders** (`Spawn`, `StandDown`, `ChangesRequested`, `Escalate`) are events for the team's own rules;
# - **writes** (`Note`, `SetStatus`) become parts of the step's `Ready`;
# - **acts** (`Merge`, `AskReview`) are performed after the step is durable, and may be repeated. Their
#   ids carry the attempt and the commit.
#
# A task knows members only by `key`. An event about an incarnation that has no seat in the task is late.

from __future__ import annotations

from typing import Final

from headcount.protocol.effects import Note, SetStatus
from headcount.protocol.events import ChangesRequested, Spawn, StandDown
from headcount.value_classes import dataclass

LEAD: Final = "lead"
PASS: Final = "pass"
CHANGES: Final = "changes"


# --- events ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TaskEvent:
    """The root of all events of a task. `key` names an incarnation."""


@dataclass(frozen=True, slots=True)
class Begin(TaskEvent):
    """The task begins, with a slot, a worker, and reviewers as pairs of role and name."""

    slot: int
    worker: str
    reviewers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Spawned(TaskEvent):
    """The team started a member for this seat; `key` is the incarnation."""

    name: str
    key: str


@dataclass(frozen=True, slots=True)
class SpawnRefused(TaskEvent):
    name: str
    why: str


@dataclass(frozen=True, slots=True)
class WorkVerified(TaskEvent):
    """Its worker is done and clean; `commits` counts commits that only its branch has."""

    key: str
    commit: str
    commits: int


@dataclass(frozen=True, slots=True)
class MemberLeft(TaskEvent):
    """A member is gone or stuck (`outcome`). `by` stood it down, or is "" if the task did.

    `cycled`: its handover note is stored, and its next generation may start.
    """

    key: str
    outcome: str | None
    salvage: str | None = None
    commit: str = ""
    commits: int = 0
    by: str = ""
    cycled: bool = False
    cause: str = ""  # why it failed, if it did


@dataclass(frozen=True, slots=True)
class MemberEscalated(TaskEvent):
    key: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class MemberBack(TaskEvent):
    """Its escalation was decided with "wait" or "human": it works again."""

    key: str


@dataclass(frozen=True, slots=True)
class Reassigned(TaskEvent):
    """Its escalation was decided with "reassign": another worker will continue from its salvage."""

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
    """The merge failed for another reason than a conflict: git, the disk, the branch."""

    attempt: int
    commit: str
    why: str


@dataclass(frozen=True, slots=True)
class Abort(TaskEvent):
    reason: str
    by: str = LEAD


@dataclass(frozen=True, slots=True)
class Retry(TaskEvent):
    """Retry a blocked task. `attempt` is the one that failed, so a repeated request retries once."""

    attempt: int


# --- effects -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Merge:
    """Merge exactly this commit into the integration branch. A commit that is merged already is a success."""

    task: str
    attempt: int
    commit: str

    @property
    def id(self) -> str:
        return f"{self.task}:{self.attempt}:merge:{self.commit}"


@dataclass(frozen=True, slots=True)
class AskReview:
    """Show this commit to a reviewer: first in its workspace, then by mail."""

    task: str
    attempt: int
    key: str
    commit: str

    @property
    def id(self) -> str:
        return f"{self.task}:{self.attempt}:review:{self.key}:{self.commit}"


@dataclass(frozen=True, slots=True)
class Escalate:
    """Escalate a member that refused to stand down too often."""

    task: str
    attempt: int
    key: str
    reason: str

    @property
    def id(self) -> str:
        return f"{self.task}:{self.attempt}:escalate:{self.key}"


TaskEffect = Spawn | StandDown | ChangesRequested | Note | SetStatus | Merge | AskReview | Escalate
