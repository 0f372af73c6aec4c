"""What the engine needs from the world, as protocols. Adapters implement them; nothing here does anything.

**Store.** One write transaction at a time, whole or not at all: state, journal, mail, tasks and acts still
to do change together. What members say arrives as *inputs*: durable at once, heard by the next step in the
order in which they came.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from contextlib import AbstractContextManager

    from headcount.protocol.effects import Act, Note
    from headcount.protocol.events import Event
    from headcount.protocol.team import Team


@dataclass(frozen=True, slots=True)
class Mail:
    """A message as it stands in a mailbox. `to` is an incarnation's key, `lead`, `witness` or `operator`."""

    id: str
    team: str
    sender: str
    to: str
    subject: str
    body: str
    type: str = "message"
    template: str | None = None
    request_id: str | None = None
    priority: str = "normal"
    sent_at: float = 0.0
    read_at: float | None = None
    bounced_from: str | None = None  # the sealed mailbox that it was meant for


@dataclass(frozen=True, slots=True)
class Task:
    id: str
    team: str
    subject: str
    description: str = ""
    active_form: str | None = None
    status: str = "pending"  # pending, in_progress, in_review, complete, blocked
    owner: str | None = None  # an incarnation's key
    depends_on: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""  # why it is blocked


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the journal."""

    seq: int
    team: str
    at: float
    kind: str
    about: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a token belongs to."""

    team: str
    key: str
    role: str


@dataclass(frozen=True, slots=True)
class Fence:
    """A lease that was won: every write under it proves that it still holds (B4)."""

    name: str
    token: int


class Tx(Protocol):
    """One transaction. Everything in it is visible to others together, or never."""

    # teams: a closed one keeps its rows; its name may be used again, with the next generation
    def create_team(self, name: str, description: str, settings: Mapping[str, Any]) -> Team: ...
    def load_team(self, name: str) -> Team | None: ...
    def save_team(self, before: Team, after: Team) -> None: ...
    def team_names(self, *, closed: bool = False) -> list[str]: ...
    def team_settings(self, team_id: str) -> Mapping[str, Any]: ...

    # the journal
    def note(self, team_id: str, notes: Iterable[Note]) -> int: ...
    def journal(self, team_id: str, after: int = 0, limit: int = 0) -> list[Entry]: ...

    # what was said, until a step has heard it
    def add_input(self, team_id: str, event: Event) -> None: ...
    def take_inputs(self, team_id: str) -> list[Event]: ...

    # acts still to do
    def add_acts(self, team_id: str, acts: Iterable[Act]) -> None: ...
    def pending_acts(self, team_id: str) -> list[Act]: ...
    def end_act(self, team_id: str, act_id: str) -> None: ...

    # mail
    def post(self, mail: Mail) -> str: ...
    def inbox(self, team_id: str, boxes: Iterable[str], *, unread: bool = False) -> list[Mail]: ...
    def mark_read(self, team_id: str, ids: Iterable[str]) -> None: ...
    def seal(self, team_id: str, key: str) -> int: ...

    # tasks
    def add_task(self, task: Task) -> Task: ...
    def tasks(self, team_id: str, *, status: str | None = None, owner: str | None = None) -> list[Task]: ...
    def claim_task(self, team_id: str, key: str, task_id: str | None = None) -> Task | None: ...
    def save_task(self, task: Task) -> None: ...
    def give_back_tasks(self, team_id: str, key: str) -> list[str]: ...

    # identity; only hashes are kept
    def add_token(self, identity: Identity, token: str) -> None: ...
    def identify(self, token: str) -> Identity | None: ...

    # what else must be remembered about an incarnation or a team: records of the adapters, as JSON
    def put_fact(self, team_id: str, about: str, name: str, value: Mapping[str, Any]) -> None: ...
    def fact(self, team_id: str, about: str, name: str) -> Mapping[str, Any] | None: ...
    def facts(self, team_id: str, name: str) -> dict[str, Mapping[str, Any]]: ...


class Store(Protocol):
    def write(self, fence: Fence | None = None) -> AbstractContextManager[Tx]:
        """Open the one write transaction; raises `FencedOut` when the fence's lease was lost."""

    def read(self) -> AbstractContextManager[Tx]:
        """A consistent look; writing in it is an error."""

    def take_lease(self, name: str, holder: str, ttl_s: float) -> Fence | None: ...
    def renew_lease(self, fence: Fence, ttl_s: float) -> bool: ...
    def release_lease(self, fence: Fence) -> None: ...

    def wait(self, channel: str, timeout_s: float) -> bool:
        """Sleep until somebody rings `channel` (a mailbox, or the engine's), or the time is over."""

    def ring(self, channels: Iterable[str]) -> None: ...
    def close(self) -> None: ...
