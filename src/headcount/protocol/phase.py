"""Define a run: its tasks, two gates, the cleanup, and its end."""

#     tasks --> verifying --> measuring --> cleaning_up --> complete
#       ^           |             |              |
#       +- retry - blocked <------+--------------+
#
# **A gate passes by an exit status.** A gate that could not run has not passed (E3). A gate that is not
# defined is not run, and the checklist says so.
#
# **A failed cleanup is retried, then noted.** It is not fatal as long as no member is left. A run is
# never complete while one of its workers or reviewers is alive.
#
# **Blocked is a state.** A blocked run has a reason and stays blocked when it is read again (D7). A retry
# is a new attempt. Results of an earlier attempt are late (D5, D6).
#
# As in `member.py`, the table has no conditions, and `step_phase` picks the trigger. Time comes with each
# event.
#
# Not in this table: the tasks (`task.py` has their table), and which of them may begin (`schedule.py`).
# The code calls a run a *phase*, after the requirement that defines it.

from __future__ import annotations

from dataclasses import field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from headcount.domain.checklist import COMPLEXITY, VERIFICATION
from headcount.domain.settings import Gates
from headcount.protocol import phase_events as ev
from headcount.protocol import task_events
from headcount.protocol.dependencies import check_dependencies, held_by
from headcount.protocol.effects import Note
from headcount.protocol.machine import Rule, interpret
from headcount.protocol.task import ENDS, Task
from headcount.protocol.task import State as TaskState
from headcount.protocol.task_step import step_task
from headcount.value_classes import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from headcount.domain.policy import Policy
    from headcount.protocol.phase_events import PhaseEffect
    from headcount.protocol.task_events import TaskEffect, TaskEvent


class State(StrEnum):
    TASKS = "tasks"  # tasks are in progress
    VERIFYING = "verifying"  # the verification gate runs
    MEASURING = "measuring"  # the complexity gate runs
    CLEANING_UP = "cleaning_up"  # the team is stood down
    COMPLETE = "complete"  # everything passed, and no member is left
    BLOCKED = "blocked"  # it needs a retry; the reason is recorded


class Trigger(StrEnum):
    ALL_COMPLETE = "all_complete"  # every task is complete
    TASKS_BLOCKED = "tasks_blocked"  # no task can continue
    NOTHING_MOVES = "nothing_moves"  # tasks wait, but none may start
    GATE_PASSED = "gate_passed"
    GATE_UNDEFINED = "gate_undefined"  # there is no such gate: it is skipped
    GATE_FAILED = "gate_failed"  # it failed, or could not run
    CLEANED_UP = "cleaned_up"
    CLEANUP_FAILED = "cleanup_failed"  # a retry is left
    CLEANUP_FAILED_AGAIN = "cleanup_failed_again"  # none is left; files remain, but no member
    MEMBERS_LEFT = "members_left"  # none is left, and members are alive
    ABORT = "abort"
    RETRY = "retry"


class Action(StrEnum):
    """An action of a transition. A row lists actions in this order."""

    # first: record what happened
    COUNT_CLEANUP = "count_cleanup"
    NOTE_CLEANUP = "note_cleanup"
    MARK_CLEAN = "mark_clean"
    SAY_WHY = "say_why"
    # then: begin what is next
    NEXT_ATTEMPT = "next_attempt"
    ABORT_TASKS = "abort_tasks"
    RUN_VERIFICATION = "run_verification"
    RUN_COMPLEXITY = "run_complexity"
    CLEAN_UP = "clean_up"


def _rules() -> dict[tuple[State, Trigger], Rule[State, Action]]:
    s, c, d, r = State, Trigger, Action, Rule[State, Action]
    return {
        # tasks: some may start, some are under way
        (s.TASKS, c.ALL_COMPLETE): r(s.VERIFYING, (d.RUN_VERIFICATION,)),
        (s.TASKS, c.TASKS_BLOCKED): r(s.BLOCKED, (d.SAY_WHY,)),
        (s.TASKS, c.NOTHING_MOVES): r(s.BLOCKED, (d.SAY_WHY,)),
        (s.TASKS, c.ABORT): r(s.TASKS, (d.ABORT_TASKS,)),
        # verifying: the command of the definition or the settings
        (s.VERIFYING, c.GATE_PASSED): r(s.MEASURING, (d.RUN_COMPLEXITY,)),
        (s.VERIFYING, c.GATE_UNDEFINED): r(s.MEASURING, (d.RUN_COMPLEXITY,)),
        (s.VERIFYING, c.GATE_FAILED): r(s.BLOCKED, (d.SAY_WHY,)),
        (s.VERIFYING, c.ABORT): r(s.BLOCKED, (d.SAY_WHY,)),
        # measuring: how long the files and functions are that the phase added
        (s.MEASURING, c.GATE_PASSED): r(s.CLEANING_UP, (d.CLEAN_UP,)),
        (s.MEASURING, c.GATE_UNDEFINED): r(s.CLEANING_UP, (d.CLEAN_UP,)),
        (s.MEASURING, c.GATE_FAILED): r(s.BLOCKED, (d.SAY_WHY,)),
        (s.MEASURING, c.ABORT): r(s.BLOCKED, (d.SAY_WHY,)),
        # cleaning_up: the team is stood down; an abort would change nothing
        (s.CLEANING_UP, c.CLEANED_UP): r(s.COMPLETE, (d.MARK_CLEAN,)),
        (s.CLEANING_UP, c.CLEANUP_FAILED): r(s.CLEANING_UP, (d.COUNT_CLEANUP, d.CLEAN_UP)),
        (s.CLEANING_UP, c.CLEANUP_FAILED_AGAIN): r(s.COMPLETE, (d.COUNT_CLEANUP, d.NOTE_CLEANUP)),
        (s.CLEANING_UP, c.MEMBERS_LEFT): r(s.BLOCKED, (d.COUNT_CLEANUP, d.NOTE_CLEANUP, d.SAY_WHY)),
        # blocked: until a retry
        (s.BLOCKED, c.RETRY): r(s.TASKS, (d.NEXT_ATTEMPT,)),
    }


TABLE: Final = _rules()


@dataclass(frozen=True, slots=True)
class GateResult:
    verdict: str  # passed, failed, not_run, undefined
    evidence: str


@dataclass(frozen=True, slots=True)
class Crew:
    """The workers and reviewers of a run, and the branch for its work."""

    workers: tuple[str, ...] = ()
    reviewers: tuple[tuple[str, str], ...] = ()  # role and name
    integration: str = ""  # the branch that reviewed commits are merged into
    base: str = ""  # the commit that it started from
    require_merged: bool = True
    accounts: tuple[tuple[str, str], ...] = ()  # name, and whose usage limit it shares

    def account_of(self, name: str, role: str) -> str:
        """Return the account of a member. A substitute (`spec-2`) has that of the reviewer in its role."""
        own = dict(self.accounts)
        return own.get(name) or next((own.get(n, "") for r, n in self.reviewers if r == role), "")


@dataclass(frozen=True, slots=True)
class Phase:
    """A run of a team's tasks, as the rules see it."""

    team: str
    started_at: str
    tasks: Mapping[str, Task] = field(default_factory=dict)  # in the order of the definition
    gates: Gates = field(default_factory=Gates)
    crew: Crew = field(default_factory=Crew)
    state: State = State.TASKS
    attempt: int = 1
    ended_at: str = ""
    results: Mapping[str, GateResult] = field(default_factory=dict)
    cleanups: tuple[str, ...] = ()  # the result of each failed cleanup
    clean: bool = False  # the last cleanup left nothing behind
    aborted: str = ""
    reason: str = ""
    gate: str | None = None  # the gate that blocks it
    notes: tuple[str, ...] = ()


_NO_CREW: Final = Crew()


def open_phase(
    team: str, tasks: Iterable[Task], gates: Gates, at: str, policy: Policy, crew: Crew = _NO_CREW
) -> tuple[Phase, tuple[PhaseEffect | TaskEffect, ...]]:
    """Open a run. Refuse tasks that depend on an unknown task, or on each other (E6)."""
    by_id = {task.id: task for task in tasks}
    check_dependencies(by_id)
    turn = _Turn(Phase(team, at, by_id, gates, crew), at, policy)
    turn.go_on()
    return turn.phase, tuple(turn.effects)


def step_phase(
    phase: Phase, event: ev.PhaseEvent, policy: Policy
) -> tuple[Phase, tuple[PhaseEffect | TaskEffect, ...]]:
    """Apply one event, then what follows from it without another event."""
    turn = _Turn(phase, event.at, policy)
    _apply(turn, event)
    turn.go_on()
    return turn.phase, tuple(turn.effects)


@dataclass(frozen=True, slots=True)
class _Facts:
    """The data of a trigger, for the actions of its row."""

    reason: str = ""
    gate: str | None = None
    detail: str = ""
    abort: ev.AbortRun | None = None


_NONE: Final = _Facts()


class _Turn:
    """A run while one step changes it."""

    def __init__(self, phase: Phase, at: str, policy: Policy) -> None:
        self.phase = phase
        self.at = at
        self.policy = policy
        self.effects: list[PhaseEffect | TaskEffect] = []

    def note(self, kind: str, **data: object) -> None:
        self.effects.append(Note(kind, "", {"attempt": self.phase.attempt, **data}))

    def late(self, event: ev.PhaseEvent) -> None:
        self.note("phase_late", event=type(event).__name__, state=str(self.phase.state))

    def fire(self, trigger: Trigger, facts: _Facts = _NONE) -> None:
        before = self.phase.state

        def move(rule: Rule[State, Action]) -> None:
            ended = rule.to in (State.COMPLETE, State.BLOCKED)
            self.phase = replace(self.phase, state=rule.to, ended_at=self.at if ended else "")
            self.note("phase_moved", **{"from": str(before), "to": str(rule.to), "cue": str(trigger)})

        interpret(
            TABLE,
            before,
            trigger,
            ignore=lambda: self.note("phase_late", cue=str(trigger), state=str(before)),
            move=move,
            act=lambda action: ACTIONS[action](self, facts),
        )

    def step_task(self, name: str, event: TaskEvent) -> None:
        before = self.phase.tasks[name]
        after, effects = step_task(before, event, self.policy)
        after = _with_own_slot(self.phase, before, after)
        self.phase = replace(self.phase, tasks={**self.phase.tasks, name: after})
        self.effects.extend(effects)

    def go_on(self) -> None:
        """Fire what follows from the tasks and gates alone. Each state is visited at most once."""
        for _ in State:
            found = _next(self.phase)
            if found is None:
                return
            self.fire(*found)


def _with_own_slot(phase: Phase, before: Task, after: Task) -> Task:
    """Return the task with another slot if its worker returned from an escalation and the slot is taken."""
    if after.holds_slot and not before.holds_slot and after.state is TaskState.WORKING:
        others = {t.slot for t in phase.tasks.values() if t.holds_slot and t.id != after.id}
        if after.slot in others:
            return replace(after, slot=free_slot(others))
    return after


def free_slot(used: Iterable[int]) -> int:
    taken = set(used)
    return next(n for n in range(1, len(taken) + 2) if n not in taken)


def _next(phase: Phase) -> tuple[Trigger, _Facts] | None:
    # A run that is aborted ends when its tasks have ended, however they ended.
    if phase.state is State.TASKS:
        if phase.aborted and all(task.state in ENDS for task in phase.tasks.values()):
            return Trigger.TASKS_BLOCKED, _Facts(phase.aborted)
        if all(task.state is TaskState.COMPLETE for task in phase.tasks.values()):
            return Trigger.ALL_COMPLETE, _NONE
        if not any(_may_move(phase, task) for task in phase.tasks.values()):
            return Trigger.TASKS_BLOCKED, _Facts(_blocked_text(phase))
    result = phase.results.get(_GATE_OF.get(phase.state, ""))
    if result is not None and result.verdict == "undefined":
        return Trigger.GATE_UNDEFINED, _NONE
    return None


_GATE_OF: Final = {State.VERIFYING: VERIFICATION, State.MEASURING: COMPLEXITY}


def _may_move(phase: Phase, task: Task) -> bool:
    """Return whether the task can still move: a waiting one unless a dependency is blocked."""
    if task.state is not TaskState.WAITING:
        return task.state not in ENDS
    return not held_by(phase.tasks, task.id)


def _blocked_text(phase: Phase) -> str:
    blocked = [task for task in phase.tasks.values() if task.state is TaskState.BLOCKED]
    held = [task.id for task in phase.tasks.values() if task.state is TaskState.WAITING]
    text = "; ".join(f"task {task.id} is blocked: {task.reason}" for task in blocked)
    return f"{text}; held by that: {', '.join(held)}" if held else text


def _apply(turn: _Turn, event: ev.PhaseEvent) -> None:
    match event:
        case ev.TaskHappened():
            _task_happened(turn, event)
        case ev.GateEnded():
            _gate_ended(turn, event)
        case ev.CleanupEnded():
            _cleanup_ended(turn, event)
        case ev.AbortRun():
            _abort_run(turn, event)
        case ev.NothingMoves():
            _nothing_moves(turn, event)
        case ev.RetryRun():
            _retry_run(turn, event)
        case _:
            raise TypeError(f"{event} is not an event of an open run")


# --- one function for each event ------------------------------------------------------------------------


def _task_happened(turn: _Turn, event: ev.TaskHappened) -> None:
    """Apply an event of a task, in every state of the run."""
    if event.task not in turn.phase.tasks:
        return turn.late(event)
    return turn.step_task(event.task, event.event)


def _gate_ended(turn: _Turn, event: ev.GateEnded) -> None:
    phase = turn.phase
    if event.attempt != phase.attempt or _GATE_OF.get(phase.state) != event.gate:
        return turn.late(event)
    results = {**phase.results, event.gate: GateResult(event.verdict, event.evidence)}
    turn.phase = replace(phase, results=results)
    if event.verdict == "passed":
        return turn.fire(Trigger.GATE_PASSED)
    what = "did not pass" if event.verdict == "failed" else "could not run, so it has not passed"
    reason = f"the {event.gate} gate {what}: {event.evidence}"
    return turn.fire(Trigger.GATE_FAILED, _Facts(reason, event.gate))


def _cleanup_ended(turn: _Turn, event: ev.CleanupEnded) -> None:
    phase, tries = turn.phase, len(turn.phase.cleanups) + 1
    if event.attempt != phase.attempt or event.tries != tries or phase.state is not State.CLEANING_UP:
        return turn.late(event)
    if event.ok and not event.alive:
        return turn.fire(Trigger.CLEANED_UP)
    left = f"still alive: {', '.join(event.alive)}" if event.alive else ""
    detail = "; ".join(text for text in (event.detail, left) if text) or "no reason was given"
    if tries <= turn.policy.cleanup_retries:
        return turn.fire(Trigger.CLEANUP_FAILED, _Facts(detail=detail))
    trigger = Trigger.MEMBERS_LEFT if event.alive else Trigger.CLEANUP_FAILED_AGAIN
    reason = f"members are left after {tries} cleanups: {detail}"
    return turn.fire(trigger, _Facts(reason, detail=detail))


def _abort_run(turn: _Turn, event: ev.AbortRun) -> None:
    turn.fire(Trigger.ABORT, _Facts(f"aborted by {event.by}: {event.reason}", abort=event))


def _nothing_moves(turn: _Turn, event: ev.NothingMoves) -> None:
    turn.fire(Trigger.NOTHING_MOVES, _Facts(event.why))


def _retry_run(turn: _Turn, event: ev.RetryRun) -> None:
    if event.attempt != turn.phase.attempt:
        return turn.late(event)
    if event.gates is not None:
        turn.phase = replace(turn.phase, gates=event.gates)
    return turn.fire(Trigger.RETRY)


# --- the actions --------------------------------------------------------------------------------------------


def _run_gate(gate: str, defined: Callable[[Gates], bool], undefined: str) -> Callable[[_Turn, _Facts], None]:
    def action(turn: _Turn, _: _Facts) -> None:
        if defined(turn.phase.gates):
            turn.effects.append(ev.RunGate(gate, turn.phase.attempt, turn.phase.gates))
        else:
            results = {**turn.phase.results, gate: GateResult("undefined", undefined)}
            turn.phase = replace(turn.phase, results=results)

    return action


def _clean_up(turn: _Turn, _: _Facts) -> None:
    turn.effects.append(ev.CleanUp(turn.phase.attempt, len(turn.phase.cleanups) + 1))


def _count_cleanup(turn: _Turn, facts: _Facts) -> None:
    turn.phase = replace(turn.phase, cleanups=(*turn.phase.cleanups, facts.detail))
    turn.note("cleanup_failed", tries=len(turn.phase.cleanups), detail=facts.detail)


def _note_cleanup(turn: _Turn, facts: _Facts) -> None:
    text = f"cleanup failed {len(turn.phase.cleanups)} times: {facts.detail}"
    turn.phase = replace(turn.phase, notes=(*turn.phase.notes, text))


def _mark_clean(turn: _Turn, _: _Facts) -> None:
    turn.phase = replace(turn.phase, clean=True)


def _abort_tasks(turn: _Turn, facts: _Facts) -> None:
    event = facts.abort
    assert event is not None
    turn.phase = replace(turn.phase, aborted=facts.reason)
    for task in turn.phase.tasks.values():
        if task.state not in ENDS:
            turn.step_task(task.id, task_events.Abort(event.reason, event.by))


def _say_why(turn: _Turn, facts: _Facts) -> None:
    turn.phase = replace(turn.phase, reason=facts.reason, gate=facts.gate)
    turn.note("phase_blocked", reason=facts.reason, gate=facts.gate)


def _next_attempt(turn: _Turn, _: _Facts) -> None:
    """Start the next attempt: complete tasks stay, blocked ones are retried, and the gates run again."""
    turn.phase = replace(
        turn.phase, attempt=turn.phase.attempt + 1, results={}, cleanups=(), aborted="", reason="", gate=None,
        notes=(),
    )  # fmt: skip
    for task in turn.phase.tasks.values():
        if task.state is TaskState.BLOCKED:
            turn.step_task(task.id, task_events.Retry(task.attempt))


ACTIONS: Final[dict[Action, Callable[[_Turn, _Facts], None]]] = {
    Action.RUN_VERIFICATION: _run_gate(
        VERIFICATION, lambda gates: bool(gates.verify), "no verification command is defined"
    ),
    Action.RUN_COMPLEXITY: _run_gate(
        COMPLEXITY, lambda gates: gates.measures, "every complexity limit is off"
    ),
    Action.CLEAN_UP: _clean_up,
    Action.COUNT_CLEANUP: _count_cleanup,
    Action.NOTE_CLEANUP: _note_cleanup,
    Action.MARK_CLEAN: _mark_clean,
    Action.ABORT_TASKS: _abort_tasks,
    Action.SAY_WHY: _say_why,
    Action.NEXT_ATTEMPT: _next_attempt,
}
