"""Define what the engine needs from the world, as protocols. Adapters implement them.

The driver uses the **Store** alone. The performer uses all the others; the **Executor** calls it back in
workers, one call at a time for each lane.

**Store.** One write transaction at a time, whole or not at all: state, journal, mail, tasks and acts still
to do change together. What members say arrives as *inputs*: durable at once, heard by the next step in the
order in which they came.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from headcount.domain.records import Identity as Identity
from headcount.domain.records import Mail as Mail
from headcount.domain.records import MemberCard, TeamCard
from headcount.domain.records import Task as Task
from headcount.value_classes import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from subprocess import CompletedProcess

    from headcount.domain.asks import Ask
    from headcount.domain.findings import Findings, GoneProof, Salvage, Verdict, Workspace
    from headcount.domain.policy import Policy
    from headcount.protocol.effects import Act, Note
    from headcount.protocol.events import Event
    from headcount.protocol.member import Member
    from headcount.protocol.team import Team

Item = TypeVar("Item")
Made = TypeVar("Made")


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
    def change_settings(self, team_id: str, settings: Mapping[str, Any]) -> None: ...
    def notifies_of(self, team_id: str, kind: str) -> bool:
        """Whether the policy notifies of this kind, for callers that do not parse the settings."""

    def team_card(self, name: str) -> TeamCard | None:
        """A team at a glance, by its name or id, without the values of the rules."""

    def member_card(self, team_id: str, key: str) -> MemberCard | None:
        """An incarnation by its key, or the latest of a name."""

    def member_cards(self, team_id: str) -> list[MemberCard]:
        """Every incarnation, in the order in which they were started."""

    # the journal
    def add_entry(self, team_id: str, kind: str, about: str, data: Mapping[str, object]) -> int: ...
    def note(self, team_id: str, notes: Iterable[Note]) -> int: ...
    def journal(
        self, team_id: str, after: int = 0, limit: int = 0, kinds: Iterable[str] | None = None
    ) -> list[Entry]: ...
    def recent(self, team_id: str, limit: int) -> list[Entry]:
        """The last entries, oldest first."""

    # what members reported, until a step has applied it
    def add_input(self, team_id: str, event: Event) -> None: ...
    def add_report(self, team_id: str, kind: str, fields: Mapping[str, object]) -> None:
        """An input by the name and the fields of its event, for callers that do not import the rules."""

    def has_inputs(self, team_id: str) -> bool: ...
    def take_inputs(self, team_id: str) -> list[Event]: ...
    def unheard_answer(self, team_id: str, key: str, request_id: str) -> str | None: ...

    # acts still to do
    def add_acts(self, team_id: str, acts: Iterable[Act]) -> None: ...
    def pending_acts(self, team_id: str) -> list[Act]: ...
    def end_act(self, team_id: str, act_id: str) -> None: ...

    # mail: an id that is given is the same mail however often it is posted; an empty one is filled in. Where
    # mail goes, and who may send it, is decided in `engine/delivery.py` and `app/mail.py`
    def post(self, mail: Mail) -> str: ...
    def find_mail(self, team_id: str, mail_id: str) -> Mail | None: ...
    def forget_mail(self, team_id: str, read_before: float) -> int:
        """Delete what was read before then, if the team is closed; how many."""

    def inbox(self, team_id: str, boxes: Iterable[str] | None, *, unread: bool = False) -> list[Mail]: ...
    def has_unread(self, team_id: str, boxes: Iterable[str]) -> bool: ...
    def count_unread(self, team_id: str) -> dict[str, int]: ...
    def mark_read(self, team_id: str, ids: Iterable[str]) -> None: ...
    def redirect_mail(self, team_id: str, box: str, to: str, types: Iterable[str]) -> int:
        """Move unread mail of these types to another mailbox; how many. `bounced_from` keeps the first."""

    def seal(self, team_id: str, key: str) -> None:
        """The incarnation is gone: its token is void."""

    def is_sealed(self, team_id: str, key: str) -> bool: ...

    # asks, in the order in which they were asked; ids are unique in the whole store
    def add_ask(self, ask: Ask) -> Ask:
        """Store an ask; return it with its id."""

    def find_ask(self, ask_id: str) -> Ask | None: ...
    def asks(self, team_id: str, *, state: str | None = None) -> list[Ask]: ...
    def asks_to_join(self, team_id: str, key: str) -> list[Ask]:
        """Return the asks of an incarnation whose answer nobody has read, and that are not out of date."""

    def answer_ask(self, team_id: str, ask_id: str, state: str, by: str, reason: str) -> bool:
        """Answer an open ask. False if it has an answer: the first one stays."""

    def forget_asks(self, team_id: str) -> None:
        """Delete the asks of a team, if it is closed."""

    def take_answer(self, team_id: str, ask_id: str) -> None:
        """Record that the process that waited has read the answer."""

    # tasks, in the order in which they were added; an empty id is filled in
    def add_task(self, task: Task) -> Task: ...
    def save_task(self, task: Task) -> None: ...
    def tasks(self, team_id: str, *, status: str | None = None, owner: str | None = None) -> list[Task]: ...
    def find_task(self, team_id: str, task_id: str) -> Task | None: ...
    def next_task(self, team_id: str, key: str, ended: Iterable[str]) -> Task | None:
        """The oldest pending task that no other than `key` owns, and that depends only on `ended` ones."""

    # identity; only hashes are kept
    def add_token(self, identity: Identity, token: str) -> None: ...
    def identify(self, token: str) -> Identity | None: ...

    # what else must be remembered about an incarnation or a team: records of the adapters, as JSON
    def put_fact(self, team_id: str, about: str, name: str, value: Mapping[str, Any]) -> None: ...
    def fact(self, team_id: str, about: str, name: str) -> Mapping[str, Any] | None: ...
    def facts(self, team_id: str, name: str) -> dict[str, Mapping[str, Any]]: ...
    def spent_on(self, day: str) -> float:
        """The dollars of all teams on a day, such as 2026-11-17, from the facts `usage`."""


class Store(Protocol):
    def write(self, fence: Fence | None = None, *, team: str = "") -> AbstractContextManager[Tx]:
        """Open a write transaction on one team, by name or id; "" is for what concerns several.

        Two of one team never overlap, and one without a team overlaps with none. Writing rows of another team
        is an error. Raises `FencedOut` when the fence's lease was lost.
        """

    def append(self, *, team: str) -> AbstractContextManager[Tx]:
        """Open a write transaction that only adds inputs, acts and mail of one team; other writes are errors.

        It overlaps with no `write` of that team, but may with others of its kind.
        """

    def read(self) -> AbstractContextManager[Tx]:
        """A consistent look; writing in it is an error."""

    def put_back(self) -> bool:
        """Restore a database file that was deleted while open. True if it was restored; the engine must then
        restart. Raises `FencedOut` when another database is in its place, or, with the code `state-gone`,
        when the repository is gone, too."""

    def take_lease(self, name: str, holder: str, ttl_s: float) -> Fence | None:
        """None while another holder has it. The same holder gets a higher token, which voids its earlier
        one: a host takes over from its own engine that has ended."""

    def renew_lease(self, fence: Fence, ttl_s: float) -> bool: ...
    def release_lease(self, fence: Fence) -> None: ...

    def listen(self, channel: str) -> None:
        """From here on no ring of `channel` is lost: listen, look, then wait."""

    def wait(self, channel: str, timeout_s: float) -> bool:
        """Sleep until another process rings `channel` (a mailbox, or the engine's), or the time is over."""

    def wait_any(self, channels: Iterable[str], timeout_s: float, fd: int | None = None) -> bool:
        """The same for several channels; also returns when `fd` is readable or closed."""

    def ring(self, channels: Iterable[str]) -> None: ...
    def close(self) -> None: ...


# --- processes -----------------------------------------------------------------------------------------


LOG_LIMIT = 16 * 1024 * 1024  # bytes of a member's output that are kept


@dataclass(frozen=True, slots=True)
class SpawnSpec:
    """One start. Its mark names it, so a repeated request starts once."""

    mark: str
    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The member's whole environment; the mark is added."""
    stdin: bool = False
    """Open for nudges; otherwise the agent reads an empty standard input."""
    log_limit: int = LOG_LIMIT
    columns: int = 200
    rows: int = 50
    seal: bytes = field(default=b"", repr=False)
    """The secret with which its keeper signs its last record; without one the runtime makes one."""
    seals: tuple[str, ...] = ()
    """Digests of the secrets of earlier attempts: one of them may have started it."""
    containment: str = "subreaper"
    """How its processes are held together: auto, namespace, cgroup or subreaper."""
    hold: str = ""
    """What its terminal shows while nothing may be typed there, because it would answer a dialog: a regular
    expression, for each line by itself."""


class Handle(Protocol):
    """One incarnation's processes. A descriptor is readable at an end, and None when that is past."""

    @property
    def exit_fd(self) -> int | None: ...
    @property
    def keeper_fd(self) -> int | None: ...
    def as_dict(self) -> dict[str, Any]:
        """Its processes, for the store: what `Runtime.adopt` takes as `known`."""

    def close(self) -> None: ...


class Proof(Protocol):
    """What was seen of the end of a tree; `empty` is a claim only together with `method`."""

    @property
    def empty(self) -> bool: ...
    @property
    def method(self) -> str: ...
    def as_dict(self) -> dict[str, Any]: ...


class Held(Protocol):
    @property
    def confirmed(self) -> bool: ...


class Runtime(Protocol):
    def start(self, spec: SpawnSpec) -> Handle: ...
    def adopt(self, mark: str, known: Mapping[str, Any] | None = None) -> Handle | None: ...
    def adopt_by_mark(self, mark: str, known: Mapping[str, Any] | None = None) -> Handle: ...
    def put_back(self, handle: Any) -> None:
        """Write down again what is known of it: its records were removed."""

    def cancel(self, mark: str, known: Mapping[str, Any] | None = None) -> Handle | None: ...
    def log_before_start(self, mark: str, data: bytes) -> None:
        """Put this in front of what a start will print."""

    def discard(self, mark: str, log_to: str = "") -> None:
        """Remove the records of a start that has ended. Its output moves to the directory `log_to`."""

    def alive(self, handle: Any) -> bool: ...
    def exit_status(self, handle: Any) -> object | None: ...
    def nudge(self, handle: Any, text: str, *, urgent: bool = False, tag: str = "") -> bool:
        """True when it was seen to take it. Asked again with the same tag, it is put there once."""

    def request_exit(self, handle: Any, text: str | None = None, limit_s: float = 10.0) -> bool:
        """As its client is asked, or SIGTERM. Back after `limit_s` or sooner: other acts wait for it."""

    def terminate(self, handle: Any) -> int: ...
    def kill(self, handle: Any, limit_s: float = 10.0) -> Proof: ...
    def pause(self, handle: Any) -> Held: ...
    def resume(self, handle: Any) -> Held: ...
    def capture(self, handle: Any) -> str: ...
    def silent_for_s(self, handle: Any) -> float:
        """Since when it has printed nothing."""

    def wait_empty(self, handle: Any, timeout_s: float) -> bool: ...
    def prove_gone(self, handle: Any) -> Proof: ...
    def close(self) -> None: ...


# --- workspaces ----------------------------------------------------------------------------------------


class Workspaces(Protocol):
    """git, or a plain directory where there is none. Raises what cannot be read: it is never clean."""

    def create(self, team: str, member: str, generation: int, plan: Mapping[str, Any]) -> Workspace: ...
    def set_up(
        self,
        workspace: Workspace,
        plan: Mapping[str, Any],
        run: Callable[[str | Sequence[str]], None],
        tell: Callable[[str], None],
    ) -> None:
        """Copy files into a new workspace and `run` its commands, unless that was done before. Members that
        share it wait for the first. `tell` is for what was not copied."""

    def find(
        self, team: str, member: str, generation: int, plan: Mapping[str, Any], *, finish: bool = True
    ) -> Workspace | None:
        """The workspace that `create` has made, if it is there. `finish` completes a half-made one: then no
        other `create` of it may be under way."""

    def read(self, workspace: Workspace, policy: Policy, plan: Mapping[str, Any]) -> Findings: ...
    def salvage(
        self, workspace: Workspace, policy: Policy, plan: Mapping[str, Any]
    ) -> tuple[Findings, Salvage | None]:
        """Everything in it, in a ref that was read back; None when there is nothing to save."""

    def list_branches(self, workspace: Workspace, plan: Mapping[str, Any]) -> dict[str, str]:
        """The branches that hold commits of its member, by their names at a hub."""

    def remove(
        self, workspace: Workspace, proof: GoneProof, policy: Policy, plan: Mapping[str, Any]
    ) -> str | None:
        """Through the one gate; the reason when it, or its branch, was kept."""

    def check_saved(self, saved: Salvage) -> list[str]:
        """Problems with what a receipt names: whether it is still there, whole, and safe from `git gc`."""

    # for a run
    def merge(self, branch: str, commit: str, message: str, plan: Mapping[str, Any]) -> tuple[str, ...]:
        """Into the integration branch; the paths in conflict, if that is why it was not merged."""

    def bring(self, name: str, hub: Hub, limit_s: float, plan: Mapping[str, Any]) -> None:
        """Get what another host made, if it is not here: a commit, a salvage, or a branch as far as the hub
        has it. While the hub is away, a branch that is here stays as it is."""

    def show_commit(self, workspace: Workspace, commit: str, policy: Policy, plan: Mapping[str, Any]) -> bool:
        """Move a reviewer's workspace to another commit, if nothing in it would be lost."""

    def checkout(self, branch: str, plan: Mapping[str, Any]) -> AbstractContextManager[str]:
        """A directory with what is on the branch, for as long as it is needed."""

    def remove_left_checkouts(self) -> list[str]:
        """Remove the checkouts of gates whose engine was killed; their paths."""

    def added_lines(self, base: str, branch: str) -> dict[str, int]:
        """Lines added since `base`, by path."""


class Hub(Protocol):
    """The repository elsewhere that says what is saved. A failure is a `GitError` of code `hub-failed`."""

    @property
    def here(self) -> str:
        """The name of this host, for what the hub does not have."""

    def push(self, refs: Mapping[str, str], limit_s: float, objects: Iterable[str] = ()) -> dict[str, str]:
        """Push commits, or refs of this repository, by the names that they get; return those at the hub.

        It returns when the hub names every commit. No ref is overwritten except those of checkpoints: where
        the hub has other commits under a name, these get another one. `objects` are further directories in
        which git finds objects. Requests of several threads go in one push.
        """

    def names(self, refs: Iterable[str], limit_s: float) -> dict[str, str]:
        """Those of these refs that the hub has, with their commits. A name may end with `/*`."""

    def fetch(self, commit: str, limit_s: float) -> None:
        """Get a commit with all that it needs, unless it is here. The caller must give it a ref."""

    def delete(self, refs: Iterable[str], limit_s: float) -> None:
        """Delete those of these refs that the hub has."""


class Checkpoints(Protocol):
    """Snapshots of workspaces while members work. Nothing of the protocol depends on them."""

    def take(
        self, workspace: Workspace, policy: Policy, plan: Mapping[str, Any], why: str, limit_s: float
    ) -> None:
        """Take one if something changed since the last. A failure is recorded for people, and not raised."""

    def forget(self, workspace: Workspace) -> None:
        """No attempt follows for it."""

    def push(self, workspaces: Iterable[Workspace], hub: Hub, limit_s: float) -> None:
        """Push the latest of each, with its branches, where it is new. A failure is recorded for people."""

    def remove_copies(self, workspaces: Iterable[Workspace], hub: Hub, limit_s: float) -> None:
        """Delete the copies at the hub, where the work itself is now. A failure leaves them there."""


class Commands(Protocol):
    """Commands that the user has defined: a gate, a finalizer, a notification."""

    def run(
        self,
        command: str | Sequence[str],
        *,
        cwd: str,
        timeout_s: float,
        given: str | None = None,
        env: Mapping[str, str] | None = None,
        together: bool = False,
        tell: Callable[[bytes], object] | None = None,
        as_operator: bool = False,
    ) -> CompletedProcess[str]:
        """Run it, and leave nothing of it. A text is for the shell, a list is not. To headcount
        it is nobody, unless `as_operator`. `tell` gets the output as it comes; only its end is returned.
        `TimeoutError` when its time is over."""

    def end(self) -> None:
        """The engine leaves: what runs is ended, and nothing is begun."""


class Judge(Protocol):
    def __call__(self, team: Team, member: Member, findings: Findings, policy: Policy) -> Verdict | None:
        """None: the witness is sent the findings, and its verdict will come as an input."""


# --- where acts are performed ----------------------------------------------------------------------------


class Files(Protocol):
    """Files in the state directory: prompts, what other programs read, and archives."""

    def exists(self, path: str) -> bool: ...
    def is_directory(self, path: str) -> bool: ...
    def write(self, path: str, data: bytes, *, sync: bool = True) -> None:
        """A reader sees the old file or the new one. Makes the directory."""

    def append(self, path: str, data: bytes) -> None: ...
    def write_directory(self, path: str, files: Mapping[str, bytes]) -> None:
        """All of it, on disk, or nothing under that name."""

    def move_directory(self, source: str, target: str) -> None:
        """Nothing, where there is no source or the target is there: a repeat after a crash."""

    def keep_only(self, directory: str, kept: Sequence[str]) -> None:
        """Remove everything below `directory` except the paths in `kept`. Follows no link."""


class Executor(Protocol):
    """Workers. Jobs of one lane are performed in order, one at a time."""

    @property
    def busy(self) -> bool: ...
    def put(self, lane: str, work: Callable[[], Any]) -> None: ...
    def finished(self) -> list[Any]:
        """Return the results since the last call, in the order in which the work ended."""

    def seconds_under_way(self, lane: str) -> float | None:
        """Since work in it began; 0 while it waits for a worker, None when there is nothing to do."""

    def map(self, work: Callable[[Item], Made], items: Sequence[Item], at_once: int) -> list[Made]:
        """The result for each, in their order. If one fails, it raises when all have ended."""

    def close(self, within_s: float | None = None) -> bool:
        """Begin nothing more; whether all that had begun has ended within that time. May be called again."""


class Exited(NamedTuple):
    """An end that was seen: of the agent's own process, or of its keeper."""

    team: str
    key: str
    agent: bool


class ExitWatch(Protocol):
    """The handles of living members, by incarnation. Each end is reported once."""

    def held(self, team: str, key: str) -> Handle | None: ...
    def hold(self, team: str, key: str, handle: Handle) -> Handle:
        """Keep it and watch it; the handle that is kept. An agent that is dead already is reported too."""

    def drop(self, team: str, key: str) -> None: ...
    def ends(self) -> list[Exited]:
        """The ends seen since the last call."""

    def close(self) -> None: ...
