"""Decide which tasks may begin now, and with which members."""

# A pure function of the run and of who is there.
#
# A **slot** is held by one task from its worker's start until all of its members are gone, stuck or
# escalated (I4). There are `tasks_at_once` slots. A task that begins also reserves room for its
# reviewers, who come later. A review must never fail because the team is full.
#
# Workers are fixed, so a task waits for the one that it names. Reviewers are interchangeable. If the one
# that the definition names is in another task, or stuck, the next name is `spec-2`, then `spec-3`.

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final

from headcount.domain.names import MEMBER_NAME_MAX
from headcount.protocol.dependencies import held_by
from headcount.protocol.phase import State, free_slot
from headcount.protocol.task import Presence, Task
from headcount.protocol.task import State as TaskState
from headcount.protocol.task_events import Begin
from headcount.value_classes import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headcount.domain.policy import Policy
    from headcount.protocol.phase import Phase


@dataclass(frozen=True, slots=True)
class Roster:
    """The workers and reviewers of the definition, and which of them are there."""

    workers: tuple[str, ...]
    reviewers: tuple[tuple[str, str], ...] = ()  # role and name
    unavailable: frozenset[str] = frozenset()  # names whose last incarnation is not settled yet
    alive: int = 0  # members that count against `max_members`
    limited: Mapping[str, str] = field(default_factory=dict)  # workers at a usage limit, and who has hit it


def may_start(phase: Phase, roster: Roster, policy: Policy) -> dict[str, Begin]:
    """Return the tasks to begin now, in the order of the definition."""
    return _plan(phase, roster, policy)[0]


def why_waiting(phase: Phase, roster: Roster, policy: Policy) -> dict[str, str]:
    """Return, for each task that waits, what it waits for."""
    return _plan(phase, roster, policy)[1]


def stalled(phase: Phase, roster: Roster, policy: Policy) -> str | None:
    """Return why no task will move by itself any more, or None. The caller checks open escalations."""
    if phase.state is not State.TASKS or any(task.holds_slot for task in phase.tasks.values()):
        return None
    if roster.limited:
        return None
    starting, waiting = _plan(phase, roster, policy)
    if starting:
        return None
    escalated = [t for t in phase.tasks.values() if t.state is TaskState.ESCALATED]
    reasons = [f"task {t.id}: {t.worker.key} needs your decision" for t in escalated if t.worker]
    reasons += [f"task {name} {why}" for name, why in waiting.items()]
    return "; ".join(reasons) or None


def _plan(phase: Phase, roster: Roster, policy: Policy) -> tuple[dict[str, Begin], dict[str, str]]:
    starting: dict[str, Begin] = {}
    waiting: dict[str, str] = {}
    books = _Books(phase, roster, policy)
    for task in phase.tasks.values():
        if task.state is TaskState.WAITING:
            found = books.begin(task)
            if isinstance(found, Begin):
                starting[task.id] = found
            else:
                waiting[task.id] = found
    return starting, waiting


class _Books:
    """The slots, names and room that a plan has used so far."""

    def __init__(self, phase: Phase, roster: Roster, policy: Policy) -> None:
        self.phase = phase
        self.roster = roster
        self.policy = policy
        busy = [t for t in phase.tasks.values() if t.holds_slot or t.state is TaskState.ESCALATED]
        self.slots = {task.slot for task in busy if task.holds_slot}
        self.names = set(roster.unavailable) | {seat.name for task in busy for seat in task.seats}
        self.room = policy.max_members - roster.alive - sum(_still_to_come(task) for task in busy)

    def begin(self, task: Task) -> Begin | str:
        why = self._why_not(task)
        worker = self._worker(task)
        if why or worker is None:
            return why or self._no_worker(task)
        begin = Begin(free_slot(self.slots), worker, self._reviewers(worker))
        self.slots.add(begin.slot)
        self.names |= {worker, *(name for _, name in begin.reviewers)}
        self.room -= self._crew
        return begin

    @property
    def _crew(self) -> int:
        return 1 + len(self.roster.reviewers)

    def _why_not(self, task: Task) -> str:
        tasks = self.phase.tasks
        if self.phase.state is not State.TASKS or self.phase.aborted:
            return "does not start: the run is over"
        if held := held_by(tasks, task.id):
            return f"is held by {', '.join(held)}, which is blocked"
        unmet = [name for name in task.depends_on if tasks[name].state is not TaskState.COMPLETE]
        if unmet:
            return f"waits for {', '.join(unmet)}"
        if len(self.slots) >= self.policy.tasks_at_once:
            return f"waits for a slot (tasks_at_once = {self.policy.tasks_at_once})"
        if self.room < self._crew:
            limit = self.policy.max_members
            return f"needs {self._crew} members, and max_members = {limit} leaves {max(self.room, 0)}"
        return ""

    def _worker(self, task: Task) -> str | None:
        """Return the named worker, else the next free one. A reassigned task prefers another."""
        wanted = self.roster.workers if task.wants is None else (task.wants,)
        if task.passed_over:
            others = tuple(name for name in self.roster.workers if name != task.passed_over)
            wanted = others or (task.passed_over,)
        free = (name for name in wanted if name not in self.names and name not in self.roster.limited)
        return next(free, None)

    def _no_worker(self, task: Task) -> str:
        wanted = (task.wants,) if task.wants else self.roster.workers
        limited = [self.roster.limited[name] for name in wanted if name in self.roster.limited]
        if limited:
            return f"waits for the usage limit that {limited[0]} has hit"
        who = task.wants or ", ".join(self.roster.workers) or "nobody"
        return f"waits for a free worker ({who})"

    def _reviewers(self, worker: str) -> tuple[tuple[str, str], ...]:
        defined = {name for _, name in self.roster.reviewers} | set(self.roster.workers)
        chosen: list[tuple[str, str]] = []
        for role, name in self.roster.reviewers:
            taken = self.names | {worker} | {other for _, other in chosen} | (defined - {name})
            chosen.append((role, _free_name(name, taken)))
        return tuple(chosen)


def _still_to_come(task: Task) -> int:
    """Return how many members of a task in progress may still be started."""
    if task.state is TaskState.STANDING_DOWN:
        return 0
    return sum(seat.presence in _TO_COME for seat in task.reviewers)


_TO_COME: Final = (Presence.EMPTY, Presence.ORDERED, Presence.GONE)


def _free_name(name: str, taken: set[str]) -> str:
    number, candidate = 1, name
    while candidate in taken:
        number += 1
        candidate = f"{name[: MEMBER_NAME_MAX - 5]}-{number}"
    return candidate
