"""Define what a step wants done, as values: the output of the rules."""

# `Ready` defines the order in which effects become safe, as in etcd raft:
#
# - **In the transaction** that stores the new state: journal entries, mail, starts to prepare, the task
#   list, returned tasks, sealed mailboxes. Mail is posted before a mailbox is sealed. They are durable
#   together with the step.
# - **After the transaction**: acts. They are stored as pending with the step, performed later, and marked
#   done together with the event that they lead to. Each has an id and is safe to repeat, because a crash
#   between an act and its record looks like a crash before the act.

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING

from headcount.value_classes import dataclass

if TYPE_CHECKING:
    from headcount.protocol.happened import Happened
    from headcount.protocol.task import Task


class ActKind(StrEnum):
    START = "start"  # create workspace and process
    NUDGE = "nudge"  # type a text into its terminal or input
    INSPECT = "inspect"  # read findings and judge them
    CAPTURE = "capture"  # capture its screen
    SALVAGE = "salvage"  # suspend, save and read back
    ASK_EXIT = "ask_exit"  # let the client exit in its own way
    TERMINATE = "terminate"  # SIGTERM to its tree
    KILL = "kill"  # SIGKILL until its tree is empty
    PAUSE = "pause"  # suspend its processes
    RESUME = "resume"  # continue them
    LAST_READ = "last_read"  # save what changed after the first salvage
    CLOSE_STEP = "close_step"  # one of `CLOSE_STEPS`
    NOTIFY = "notify"  # run the user's command
    # of a run: `about` is a task, or "" for the phase
    MERGE = "merge"  # merge exactly this commit
    ASK_REVIEW = "ask_review"  # show a commit to a reviewer
    RUN_GATE = "run_gate"  # run a gate on the integration branch


@dataclass(frozen=True, slots=True)
class Act:
    """An action outside the rules. `about` is an incarnation's key, or "" for the team."""

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
    """A mail, by default from the witness. `about` names the incarnation concerned."""

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
    """A journal entry: what happened, to which member."""

    kind: str
    about: str = ""
    data: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PrepareStart:
    """Write plan, prompt and first mail of a member that the rules start by themselves.

    It takes a seat of `task`. If `task` is None, it follows the cycled incarnation `follows`.
    """

    key: str
    task: Task | None = None
    follows: str = ""


@dataclass(frozen=True, slots=True)
class GiveBackTasks:
    """Make the tasks of a gone incarnation available again.

    With `handed_in` also those that it had reported done: it was dirty and stopped by a decision.
    """

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
    """The effects of one or several steps in one transaction. Acts come last."""

    happened: tuple[Happened, ...] = ()
    """For other rules inside the step, and for front ends after it. Not stored."""
    entries: tuple[Note, ...] = ()
    mail: tuple[Post, ...] = ()
    starts: tuple[PrepareStart, ...] = ()
    merged_only: tuple[str, ...] = ()
    """Incarnations whose unmerged commits count as unsaved from here on."""
    listed: tuple[SetStatus, ...] = ()
    released: tuple[GiveBackTasks, ...] = ()
    sealed: tuple[str, ...] = ()
    """Incarnations that are gone: their token is void, and unread mail bounces to the lead."""
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
    """A `Ready` in progress. The parts of a step add to it; `ready` returns the value."""

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
        """Add an event and its journal entry. The rules never read an entry back."""
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
