"""What must be done, as values.

Two kinds, and the difference is the ordering law (as in etcd raft's `Ready`):

- **writes** belong to the step's own transaction: mail, notes in the journal, a task given back, a mailbox
  sealed. When the step is durable, so are they; when it is not, they never were.
- **acts** reach the world: they are stored as pending with the step, performed after it is durable, and
  marked done with the event that they lead to. Each has an id and is safe to repeat, because a crash
  between the deed and its record looks exactly like a crash before the deed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class ActKind(StrEnum):
    START = "start"
    NUDGE = "nudge"
    INSPECT = "inspect"
    CAPTURE = "capture"
    SALVAGE = "salvage"
    ASK_EXIT = "ask_exit"
    TERMINATE = "terminate"
    KILL = "kill"
    PAUSE = "pause"
    RESUME = "resume"
    LAST_READ = "last_read"
    CLOSE_STEP = "close_step"
    NOTIFY = "notify"
    # of a run: `about` is a task, or "" for the phase
    MERGE = "merge"
    ASK_REVIEW = "ask_review"
    RUN_GATE = "run_gate"


@dataclass(frozen=True, slots=True)
class Act:
    """Something to do in the world. `about` is an incarnation's key, or the team's own "" ."""

    kind: ActKind
    about: str
    epoch: int
    data: dict[str, object] = field(default_factory=dict)

    @property
    def id(self) -> str:
        tag = f":{self.data['tag']}" if "tag" in self.data else ""
        return f"{self.about}:{self.epoch}:{self.kind}{tag}"


@dataclass(frozen=True, slots=True)
class Post:
    """Mail, from the witness unless it says otherwise; `about` names the incarnation that it is about."""

    to: str
    subject: str
    body: str
    type: str = "message"
    template: str | None = None
    request_id: str | None = None
    priority: str = "normal"
    sender: str = "witness"
    about: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """A line of the journal: what happened, to whom."""

    kind: str
    about: str = ""
    data: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GiveBackTasks:
    """The tasks of an incarnation that is proved gone can be claimed again. With `handed_in` also those that
    it had reported done: it was found dirty and stopped by a decision, so nothing was handed in."""

    key: str
    handed_in: bool = False


@dataclass(frozen=True, slots=True)
class Seal:
    """An incarnation that is gone reads no more: its token is void, unread mail bounces to the lead."""

    key: str


Write = Post | Note | GiveBackTasks | Seal
Effect = Act | Write
