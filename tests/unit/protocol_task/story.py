"""Transcripts: a story is a file of commands, each followed by what it led to.

`> command` lines are read, everything else is compared. `HEADCOUNT_REWRITE=1` writes the outcomes anew.
"""

from __future__ import annotations

import shlex
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from headcount.domain.policy import Policy
from headcount.domain.settings import Gates
from headcount.protocol import phase_events as pe
from headcount.protocol import task_events as te
from headcount.protocol.completion import checklist, status_json
from headcount.protocol.effects import Note
from headcount.protocol.events import ChangesRequested, Spawn, StandDown
from headcount.protocol.member import Member
from headcount.protocol.phase import open_phase, step_phase
from headcount.protocol.task import Task
from headcount.protocol.task_step import step_task

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headcount.protocol.phase import Phase

# Said by the journal only; the other notes are the machine's own trace of what the story shows anyway.
TOLD = (
    "task_unreviewed",
    "task_reviewed",
    "task_restarted",
    "task_cycled",
    "task_reassigned",
    "task_blocked",
    "phase_blocked",
)


def tell(text: str) -> str:
    """Run the commands of a story, and give the story back with what they led to."""
    runner: Any = _PhaseRunner() if "> open " in text else _TaskRunner()
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("> "):
            lines.append(line)
            lines.extend(f"  {outcome}" for outcome in runner.run(shlex.split(line[2:])))
        elif not line.startswith("  "):
            lines.append(line)
    return "\n".join(lines) + "\n"


def _options(words: Iterable[str]) -> dict[str, Any]:
    pairs = (word.split("=", 1) for word in words)
    return {name: int(value) if value.isdigit() else value for name, value in pairs}


def task_event(words: list[str], task: Task) -> te.TaskEvent:
    verb, *rest = words
    match verb:
        case "begin":
            reviewers = tuple(tuple(word.split("=")) for word in rest[2:])
            return te.Begin(int(rest[0]), rest[1], reviewers)  # type: ignore[arg-type]
        case "spawned":
            return te.Spawned(*rest)
        case "not-spawned":
            return te.SpawnRefused(*rest)
        case "verified":
            return te.WorkVerified(rest[0], rest[1], int(rest[2]))
        case "left":
            return te.MemberLeft(rest[0], None if rest[1] == "-" else rest[1], **_options(rest[2:]))
        case "cycled":
            return te.MemberLeft(rest[0], rest[1], **_options(rest[2:]), cycled=True)
        case "escalated":
            return te.MemberEscalated(*rest)
        case "back":
            return te.MemberBack(*rest)
        case "reassigned":
            return te.Reassigned(*rest)
        case "refuses":
            return te.Refused(*rest)
        case "reviewed":
            return te.Reviewed(*rest)
        case "merged":
            return te.Merged(**{"attempt": task.attempt, **_options(rest[1:])}, commit=rest[0])
        case "conflict":
            return te.Conflicted(task.attempt, rest[0], tuple(rest[1:]))
        case "merge-failed":
            return te.MergeFailed(task.attempt, rest[0], rest[1])
        case "abort":
            return te.Abort(*rest)
        case "retry":
            return te.Retry(int(rest[0]))
    raise AssertionError(f"no such command: {verb}")


def show_task(before: Task, after: Task, effects: Iterable[Any]) -> Iterator[str]:
    moves = [e.data for e in effects if isinstance(e, Note) and e.kind == "task_moved"]
    for move in moves:
        yield f"{move['from']} → {move['to']} ({move['cue']})"
    for effect in effects:
        yield from show(effect)
    if not moves and before == after:
        yield "late: nothing changes" if _late(effects) else "nothing changes"


def _late(effects: Iterable[Any]) -> bool:
    return any(isinstance(e, Note) and e.kind.endswith("_late") for e in effects)


def show(effect: Any) -> Iterator[str]:
    match effect:
        case Note(kind=kind, data=data) if kind in TOLD:
            yield f"note {kind} {', '.join(f'{k}={v}' for k, v in data.items())}"
        case Spawn():
            yield f"start {effect.name} as {effect.role}"
        case StandDown():
            yield f"ask {', '.join(effect.names or ())} to stand down: {effect.reason} [{effect.request_id}]"
        case ChangesRequested():
            yield f"tell {effect.key}: {' / '.join(filter(None, effect.text.splitlines()))}"
        case te.Merge():
            yield f"merge {effect.commit} [{effect.id}]"
        case te.AskReview():
            yield f"show {effect.commit} to {effect.key} [{effect.id}]"
        case te.Escalate():
            yield f"escalate {effect.key}: {effect.reason}"
        case te.SetStatus():
            more = "".join(
                f", {k} {v}" for k, v in (("owner", effect.owner), ("because", effect.reason)) if v
            )
            yield f"list: {effect.status}, attempt {effect.attempt}{more}"
        case pe.RunGate():
            yield f"run {effect.gate} gate [{effect.id}]"
        case pe.CleanUp():
            yield f"clean up [{effect.id}]"


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, str) else value


class _TaskRunner:
    def __init__(self) -> None:
        self.task = Task("t1")
        self.policy = Policy()

    def run(self, words: list[str]) -> Iterator[str]:
        if words[0] == "policy":
            self.policy = replace(self.policy, **_options(words[1:]))
        elif words[0] == "show":
            yield from (f"{name} = {_plain(getattr(self.task, name))!r}" for name in words[1:])
        else:
            before = self.task
            self.task, effects = step_task(before, task_event(words, before), self.policy)
            yield from show_task(before, self.task, effects)


class _PhaseRunner:
    """Time goes on by one minute a command."""

    def __init__(self) -> None:
        self.phase: Phase
        self.policy = Policy()
        self.minutes = 0
        self.members: list[Member] = []

    def run(self, words: list[str]) -> Iterator[str]:
        self.minutes += 1
        at = f"2026-01-01T10:{self.minutes:02}:00+00:00"
        verb, *rest = words
        match verb:
            case "policy":
                self.policy = replace(self.policy, **_options(rest))
            case "open":
                yield from self._open(rest, at)
            case "member":
                self.members.append(Member(rest[0], 1, **_options(rest[1:])))
            case "checklist":
                yield from map(str, checklist(self.phase, self.members))
            case "status":
                yield from (f"{key}: {value}" for key, value in status_json(self.phase).items())
            case "task":
                task = self.phase.tasks.get(rest[0], Task(rest[0]))
                yield from self._step(pe.TaskHappened(at, rest[0], task_event(rest[1:], task)))
            case _:
                yield from self._step(_phase_event(verb, rest, at, self.phase))

    def _open(self, rest: list[str], at: str) -> Iterator[str]:
        gate_names = {f.name for f in fields(Gates)}
        options = _options(word for word in rest if "=" in word and word.split("=")[0] in gate_names)
        named = [word for word in rest if word.split("=")[0] not in gate_names]
        tasks = [Task(n, tuple(d.split(",")) if d else ()) for n, _, d in (w.partition("<") for w in named)]
        self.phase, effects = open_phase("web", tasks, Gates(**options), at, self.policy)
        for effect in effects:
            yield from show(effect)

    def _step(self, event: pe.PhaseEvent) -> Iterator[str]:
        before = self.phase
        self.phase, effects = step_phase(before, event, self.policy)
        for effect in effects:
            if isinstance(effect, Note) and effect.kind in ("task_moved", "phase_moved"):
                who = effect.about or "phase"
                yield f"{who}: {effect.data['from']} → {effect.data['to']} ({effect.data['cue']})"
            yield from show(effect)
        if before == self.phase:
            yield "late: nothing changes" if _late(effects) else "nothing changes"


def _phase_event(verb: str, rest: list[str], at: str, phase: Phase) -> pe.PhaseEvent:
    match verb:
        case "gate":
            more = {"attempt": phase.attempt, **_options(rest[3:])}
            return pe.GateEnded(at, rest[0], verdict=rest[1], evidence=rest[2], **more)
        case "cleaned":
            tries = len(phase.cleanups) + 1
            more = {"attempt": phase.attempt, "tries": tries, **_options(rest[2:])}
            alive = tuple(str(more.pop("alive")).split(",")) if "alive" in more else ()
            return pe.CleanupEnded(at, ok=rest[0] == "ok", detail=rest[1], alive=alive, **more)
        case "abort":
            return pe.AbortRun(at, rest[0])
        case "nothing-moves":
            return pe.NothingMoves(at, rest[0])
        case "retry":
            return pe.RetryRun(at, int(rest[0]))
    raise AssertionError(f"no such command: {verb}")
