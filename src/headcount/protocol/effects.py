"""What a step wants done, as values.

`Ready` is the ordering law (as in etcd raft): its fields say when each part becomes safe.

- **In the transaction** that stores the new state: journal entries, mail, starts to prepare, the task list,
  tasks given back, mailboxes sealed. Mail is posted before a mailbox is sealed. When the step is durable, so
  are they.
- **After it is durable**: acts. They are stored as pending with the step, performed later, and marked done
  together with the event that they lead to. Each has an id and is safe to repeat, because a crash between an
  action and its record looks exactly like a crash before the action.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headcount.protocol.happened import Happened
    from headcount.protocol.task import Task


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
    """Something to do in the world. `about` is an incarnation's key, or the team's own ""."""

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
class PrepareStart:
    """A member that the rules start by themselves: write its plan, its prompt and its first mail.

    It takes a seat of `task`, or, where `task` is None, it follows the incarnation `follows` that was cycled.
    """

    key: str
    task: Task | None = None
    follows: str = ""


@dataclass(frozen=True, slots=True)
class GiveBackTasks:
    """The tasks of an incarnation that is proved gone can be claimed again. With `handed_in` also those that
    it had reported done: it was found dirty and stopped by a decision, so nothing was handed in."""

    key: str
    handed_in: bool = False


@dataclass(frozen=True, slots=True)
class SetStatus:
    """A task as the list shows it."""

    task: str
    attempt: int
    status: str
    owner: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Ready:
    """What one step, or several in one transaction, want done: the transaction's parts first, acts last."""

    happened: tuple[Happened, ...] = ()
    """For whoever listens to the rules: the run inside the step, front ends after it. Written nowhere."""
    entries: tuple[Note, ...] = ()
    mail: tuple[Post, ...] = ()
    starts: tuple[PrepareStart, ...] = ()
    merged_only: tuple[str, ...] = ()
    """Incarnations whose commits count as unsaved from here on unless they are merged."""
    listed: tuple[SetStatus, ...] = ()
    released: tuple[GiveBackTasks, ...] = ()
    sealed: tuple[str, ...] = ()
    """Incarnations that read no more: the token is void, unread mail bounces to the lead."""
    acts: tuple[Act, ...] = ()

    def __add__(self, other: Ready) -> Ready:
        return Ready(
            self.happened + other.happened, self.entries + other.entries, self.mail + other.mail,
            self.starts + other.starts, self.merged_only + other.merged_only, self.listed + other.listed,
            self.released + other.released, self.sealed + other.sealed, self.acts + other.acts,
        )  # fmt: skip

    def __bool__(self) -> bool:
        return self != _NOTHING


_NOTHING = Ready()


class Collected:
    """A `Ready` in the making. The parts of a step add to it; `ready` makes it a value."""

    def __init__(self) -> None:
        self.happened: list[Happened] = []
        self.entries: list[Note] = []
        self.mail: list[Post] = []
        self.starts: list[PrepareStart] = []
        self.merged_only: list[str] = []
        self.listed: list[SetStatus] = []
        self.released: list[GiveBackTasks] = []
        self.sealed: list[str] = []
        self.acts: list[Act] = []

    def happen(self, event: Happened) -> None:
        """Whatever happened is a journal entry too: the line is written from the event, never read back."""
        self.happened.append(event)
        self.entries.append(event.entry())

    def note(self, kind: str, about: str, **data: object) -> None:
        self.entries.append(Note(kind, about, data))

    def ready(self) -> Ready:
        return Ready(
            tuple(self.happened), tuple(self.entries), tuple(self.mail), tuple(self.starts),
            tuple(self.merged_only), tuple(self.listed), tuple(self.released), tuple(self.sealed),
            tuple(self.acts),
        )  # fmt: skip
