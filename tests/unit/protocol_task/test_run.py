"""Whole runs of the rules with members that live, die and misbehave: twelve tasks with a diamond, seeded."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from headcount.domain.policy import Policy
from headcount.domain.settings import Gates
from headcount.protocol import phase_events as pe
from headcount.protocol import task_events as te
from headcount.protocol.codec import phase_as_json, phase_from_json
from headcount.protocol.completion import status_json
from headcount.protocol.events import ChangesRequested, Spawn, StandDown
from headcount.protocol.phase import Phase, State, open_phase, step_phase
from headcount.protocol.schedule import Roster, may_start, stalled
from headcount.protocol.task import State as TaskState
from headcount.protocol.task import Task

AT = "2026-01-01T10:00:00+00:00"
REVIEWERS = (("spec-reviewer", "spec"), ("code-quality-reviewer", "quality"))
WORKERS = ("alice", "bob", "carol")
PLAN = [
    Task("t01"), Task("t02", ("t01",)), Task("t03", ("t01",)), Task("t04", ("t02", "t03")),
    *(Task(f"t{n:02}", ("t04",) if n % 2 else ()) for n in range(5, 13)),
]  # fmt: skip


class Run:
    """Plays the engine and the members. After each step the phase goes through JSON, as through a crash."""

    def __init__(self, seed: int, policy: Policy, trouble: float) -> None:
        self.random = random.Random(seed)
        self.policy = policy
        self.trouble = trouble
        self.generations: dict[str, int] = {}
        self.alive: dict[str, tuple[str, str]] = {}  # key -> task, what it does
        self.stuck: set[str] = set()
        self.most_alive = 0
        self.commits = 0
        self.merged: list[str] = []
        self.phase, effects = open_phase("web", PLAN, Gates(verify="true"), AT, policy)
        self.perform(effects)

    def roster(self) -> Roster:
        names = frozenset(key.split("#")[0] for key in (*self.alive, *self.stuck))
        return Roster(WORKERS, REVIEWERS, names, len(self.alive) + len(self.stuck))

    def hear(self, event: pe.PhaseEvent) -> None:
        phase, effects = step_phase(self.phase, event, self.policy)
        self.phase = phase_from_json(json.loads(json.dumps(phase_as_json(phase))))
        assert self.phase == phase
        self.perform(effects)

    def perform(self, effects: tuple[object, ...]) -> None:
        for effect in effects:
            match effect:
                case Spawn():
                    self.spawn(effect)
                case StandDown():
                    (name,) = effect.names or ()
                    key = f"{name}#{self.generations[name]}"
                    self.alive[key] = (self.alive[key][0], "leaving")
                case ChangesRequested():
                    self.alive[effect.key] = (self.alive[effect.key][0], "working")
                case te.AskReview():
                    self.alive[effect.key] = (effect.task, "reviewing")
                case te.Merge():
                    self.merge(effect)
                case pe.RunGate():
                    self.hear(pe.GateEnded(AT, effect.gate, effect.attempt, "passed", "exit 0"))
                case pe.CleanUp():
                    self.hear(pe.CleanupEnded(AT, effect.attempt, effect.tries, True))

    def spawn(self, order: Spawn) -> None:
        """I4, by what is alive: whoever has this slot now has it alone."""
        task = self.phase.tasks[str(order.task)]
        others = {t for t, _ in self.alive.values() if t != task.id and self.phase.tasks[t].slot == task.slot}
        assert not others, f"I4: {order.name} starts for {task.id} while {others} are in slot {task.slot}"
        self.generations[order.name] = generation = self.generations.get(order.name, 0) + 1
        key = f"{order.name}#{generation}"
        self.alive[key] = (task.id, "working" if order.role == "worker" else "reviewing")
        self.most_alive = max(self.most_alive, len(self.alive) + len(self.stuck))
        self.hear(pe.TaskHappened(AT, task.id, te.Spawned(order.name, key)))

    def merge(self, act: te.Merge) -> None:
        if self.random.random() < self.trouble / 2:
            event: te.TaskEvent = te.Conflicted(act.attempt, act.commit, ("a.py",))
        else:
            self.merged.append(act.task)
            event = te.Merged(act.attempt, act.commit)
        self.hear(pe.TaskHappened(AT, act.task, event))

    def act(self, key: str) -> None:
        task, doing = self.alive[key]
        bad = self.random.random() < self.trouble
        if doing == "leaving" or (bad and doing != "waiting"):
            del self.alive[key]
            outcome = "clean" if doing == "leaving" else "already_gone"
            if bad and doing == "leaving" and self.random.random() < 0.1:
                self.stuck.add(key)
                outcome = "stuck"
            event: te.TaskEvent = te.MemberLeft(key, outcome)
        elif doing == "working":
            self.commits += 1
            self.alive[key] = (task, "waiting")
            event = te.WorkVerified(key, f"c{self.commits}", self.random.choice((0, 1, 2)) if bad else 1)
        elif doing == "reviewing":
            self.alive[key] = (task, "waiting")
            verdict = "changes" if self.random.random() < self.trouble else "pass"
            event = te.Reviewed(key, self.phase.tasks[task].commit, verdict, "hm")
        else:
            return
        self.hear(pe.TaskHappened(AT, task, event))

    def go(self) -> Phase:
        for _ in range(5_000):
            for name, begin in may_start(self.phase, self.roster(), self.policy).items():
                self.hear(pe.TaskHappened(AT, name, begin))
            if self.phase.state in (State.COMPLETE, State.BLOCKED):
                return self.phase
            busy = [key for key, (_, doing) in self.alive.items() if doing != "waiting"]
            if busy:
                self.act(self.random.choice(busy))
            elif why := stalled(self.phase, self.roster(), self.policy):
                self.hear(pe.NothingMoves(AT, why))
            else:
                raise AssertionError(f"nothing moves, and nobody knows why: {self.phase}")
        raise AssertionError("no end")


@pytest.mark.parametrize("tasks_at_once", [1, 2, 3])
def test_twelve_tasks_with_a_diamond_all_complete_when_nothing_goes_wrong(tasks_at_once: int) -> None:
    run = Run(1, Policy(tasks_at_once=tasks_at_once), trouble=0)
    phase = run.go()
    assert phase.state is State.COMPLETE
    assert sorted(run.merged) == [task.id for task in PLAN]
    assert (run.alive, run.most_alive) == ({}, 3 * tasks_at_once)
    for task in PLAN:
        assert all(run.merged.index(other) < run.merged.index(task.id) for other in task.depends_on)


@pytest.mark.parametrize("seed", range(60))
def test_with_deaths_conflicts_and_changes_every_run_ends_and_nothing_is_merged_twice(seed: int) -> None:
    policy = Policy(tasks_at_once=1 + seed % 3, max_members=3 + seed % 8, review_rounds=2)
    run = Run(seed, policy, trouble=0.15)
    phase = run.go()
    assert len(run.merged) == len(set(run.merged))
    assert run.most_alive <= policy.max_members
    complete = [name for name, task in phase.tasks.items() if task.state is TaskState.COMPLETE]
    assert sorted(run.merged) == sorted(complete)
    assert (phase.state is State.COMPLETE) == (len(complete) == len(PLAN))
    assert run.alive == {}
    status = status_json(phase)
    assert bool(status["reason"]) == (phase.state is State.BLOCKED)


def test_D6_a_blocked_run_that_is_retried_does_only_what_is_left() -> None:
    run = Run(0, Policy(review_rounds=0, task_restarts=0, tasks_at_once=3), trouble=0.4)
    assert run.go().state is State.BLOCKED
    run.trouble, done = 0, set(run.merged)
    run.hear(pe.RetryRun(AT, run.phase.attempt))
    assert run.go().state is State.COMPLETE
    assert len(run.merged) == len(set(run.merged)) == len(PLAN)
    assert done < set(run.merged)


def test_D7_a_blocked_phase_is_blocked_when_it_is_read_again() -> None:
    phase, _ = open_phase("web", [Task("a")], Gates(), AT, Policy())
    phase, _ = step_phase(phase, pe.AbortRun(AT, "enough"), Policy())
    phase = phase_from_json(json.loads(json.dumps(phase_as_json(phase))))
    assert phase.state is State.BLOCKED
    assert may_start(phase, Roster(("alice",)), Policy()) == {}
    for event in (te.Begin(1, "alice"), te.Merged(1, "c1"), te.Spawned("alice", "alice#1")):
        after, _ = step_phase(phase, pe.TaskHappened(AT, "a", event), Policy())
        assert after == phase


def test_a_phase_of_another_version_is_read_with_defaults_and_without_what_is_unknown() -> None:
    phase, _ = open_phase("web", [Task("a")], Gates(), AT, Policy())
    raw = phase_as_json(phase)
    del raw["cleanups"], raw["tasks"]["a"]["words"]
    raw["later"] = raw["tasks"]["a"]["later"] = 1
    assert phase_from_json(raw) == replace(phase)
