"""Seeded runs of whole teams on the real driver and performer; the long campaign is
`python -m tests.support.simulate --runs 1000000`."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from headcount.engine import driver
from headcount.engine.deadlines import RetryQueue
from headcount.engine.driver import Driver
from headcount.engine.job import Result
from headcount.protocol.events import BY_NAME
from headcount.protocol.member import TABLE, State, Trigger
from tests.support import simulate as command
from tests.support import simulator
from tests.support.agents import TEMPERS
from tests.support.mutants import Mutant, in_force
from tests.support.plan import Plan, draw_plan
from tests.support.simulator import Failure, Run, simulate

ROOT = Path(__file__).parents[2]
RUNS = int(os.environ.get("HEADCOUNT_SIMULATION_RUNS", "600"))


@pytest.mark.timeout(600)
def test_no_run_loses_work_or_leaves_anybody() -> None:
    tally = command.run_many(range(RUNS), jobs=2)
    assert tally.failed is None, f"python -m tests.support.simulate --runs 1 --shrink --seed {tally.failed}"
    assert tally.runs == RUNS
    print(
        f"{tally.runs} runs, {tally.steps} steps, {tally.runs / tally.cpu_s:.0f} a second of one core's time"
    )


@pytest.fixture(scope="module")
def some_runs() -> list[Run]:
    return [simulate(seed) for seed in (*range(201), 336)]  # in the last, a refusal is final


def test_every_run_ends_in_shutdown(some_runs: list[Run]) -> None:
    assert {run.team.status for run in some_runs} == {"shutdown"}


def test_the_runs_meet_what_they_are_there_for(some_runs: list[Run]) -> None:
    """A simulation that never crashes, refuses or gets stuck proves nothing."""
    told = "\n".join(str(line) for run in some_runs for line in run.story)
    for happened in (
        "engine       crashes", "rejected request", "stuck alive", "is refused: it speaks for another",
        "is refused: stand_down_team", "answer=unanswered", "clock        jumps", "loses ", "salvage fails",
        "start fails", "outcome=already_gone", "outcome=forced", "outcome=salvaged", "outcome=clean",
        "cue=silent_thrice", "cue=again", "stand_down_joined", "code=draining", "decision=wait",
        "exits by itself", "unread=no space left", "parked", "late answer=reject", "delays ", "doubles ",
        "after what was said later", "engine       starts again", "limit_over", "by=policy",
        "Its budget is used up", "is taken over by another", "notices that another engine drives",
        "store        is busy", "loses a ring", "decision=keep-here",
    ):  # fmt: skip
        assert happened in told, f"no run has: {happened}"
    assert {cast.temper for run in some_runs for cast in run.plan.cast} == set(TEMPERS)


# What the agents and the faults are called that must be among those that are drawn.
AGENTS = {
    "cooperative", "slow", "lying", "silent", "rejecting", "flapping", "crashing", "never exiting",
    "answering twice", "answering for others", "limited", "costly",
}  # fmt: skip
FAULTS = {
    "crash", "crash_before", "crash_commit", "crash_call", "take_over", "busy", "lose_ring", "fail", "delay",
    "double", "lose_word", "late_word", "double_word", "clock",
}  # fmt: skip


def test_every_kind_of_agent_and_of_fault_is_drawn(some_runs: list[Run]) -> None:
    assert {cast.temper for run in some_runs for cast in run.plan.cast} >= AGENTS
    assert {fault.what for run in some_runs for fault in run.plan.faults} == FAULTS


def test_every_kind_of_event_is_applied(some_runs: list[Run]) -> None:
    assert {name for run in some_runs for name in run.applied} == set(BY_NAME)


def test_a_run_ends_within_the_bound_of_its_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulator holds every stand-down to it: with a bound that is too short it fails."""
    monkeypatch.setattr(simulator, "bound_s", lambda policy, members: 1.0)
    with pytest.raises(Failure, match=r"^I8: .* which is the bound"):
        for seed in range(50):
            simulate(seed)


_TRACE = """
import hashlib, json
from tests.support.simulator import simulate
told = {seed: "".join(map(str, simulate(seed).story)) for seed in range(40)}
print(json.dumps({seed: hashlib.sha256(text.encode()).hexdigest() for seed, text in told.items()}))
"""


def test_same_seed_same_trace_whatever_the_hash_seed() -> None:
    traces = []
    for hash_seed in ("0", "1", "4711"):
        env = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", _TRACE], cwd=ROOT, env=env, capture_output=True, check=True, timeout=120
        )
        traces.append(json.loads(done.stdout))
    assert traces[0] == traces[1] == traces[2]
    assert len(set(traces[0].values())) > 30


def first_failure(seeds: range) -> Failure:
    for seed in seeds:
        try:
            simulate(seed)
        except Failure as failure:
            return failure
    raise AssertionError("nothing failed")


BROKEN = [
    (
        Mutant("member", (State.SALVAGING, Trigger.SALVAGE_FAILED), TABLE[State.SALVAGING, Trigger.SAVED]),
        "I1",
    ),
    (
        Mutant("member", (State.STOPPING, Trigger.STOP_OVERDUE), TABLE[State.STOPPING, Trigger.TREE_EMPTY]),
        "I[23]",
    ),
    (Mutant("member", (State.KILLING, Trigger.AGAIN), None), "I8"),
    (Mutant("member", (State.NUDGED, Trigger.FORCED), TABLE[State.NUDGED, Trigger.EXITED]), "the_outcome"),
]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("mutant", "noticed_by"), BROKEN, ids=str)
def test_a_broken_rule_fails_with_its_seed_and_a_story_and_shrinks(mutant: Mutant, noticed_by: str) -> None:
    with in_force(mutant):
        failure = first_failure(range(400))
        smaller = command.shrink(failure)
    assert re.match(noticed_by, str(failure))
    assert smaller.what == failure.what
    assert parts(smaller.run.plan) <= parts(failure.run.plan)
    story = smaller.tell()
    assert story.startswith(f"seed {failure.run.plan.seed}\nmembers: ")
    assert story.endswith(str(smaller))
    assert len(smaller.run.story) <= len(failure.run.story)


# One bug planted in the driver for each of its rules, and how the simulator says that it is there.
def _supersedes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "is_superseded", lambda team, act: False)


def _never_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RetryQueue, "put", lambda self, act, seconds: None)


def _waits_for_a_retry_that_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RetryQueue, "take_due", lambda self: [])


def _forgets_results_of_a_busy_store(monkeypatch: pytest.MonkeyPatch) -> None:
    commit = Driver._commit

    def forgets(self: Driver, name: str, results: list[Result]) -> None:
        self._results.pop(name, None)
        commit(self, name, results)

    monkeypatch.setattr(Driver, "_commit", forgets)


def _finds_nobody_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Driver, "_find_again", lambda *_: None)


def _writes_without_a_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Driver, "_write", lambda self, team="": self._store.write())


PLANTED = {
    "superseding": (_supersedes_nothing, "superseded"),
    "retry": (_never_retries, "undone"),
    "retry that is due": (_waits_for_a_retry_that_is_due, "spins"),
    "retry of results": (_forgets_results_of_a_busy_store, "undone|unnoticed"),
    "recovery": (_finds_nobody_again, "unnoticed"),
    "lease loss": (_writes_without_a_lease, "I13"),
}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", PLANTED)
def test_a_bug_planted_in_the_driver_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, noticed_by = PLANTED[name]
    plant(monkeypatch)
    failure = first_failure(range(400))
    print(f"seed {failure.run.plan.seed}: {failure}")
    assert re.fullmatch(noticed_by, failure.what)


def test_a_planted_bug_is_told_in_a_few_lines() -> None:
    """What is left after shrinking is one member, and no more faults and deeds than it takes."""
    with in_force(BROKEN[1][0]):
        failure = max(
            (first_failure(range(at, at + 400)) for at in (0, 400)), key=lambda f: parts(f.run.plan)
        )
        smaller = command.shrink(failure)
    assert len(smaller.run.plan.cast) == 1
    assert parts(smaller.run.plan) < parts(failure.run.plan)
    assert len(smaller.run.plan.faults) == 0
    assert len(smaller.run.story) < 60


def parts(plan: Plan) -> int:
    return len(plan.cast) + len(plan.deeds) + len(plan.faults)


def test_leaving_out_a_part_gives_every_smaller_plan_once() -> None:
    plan = draw_plan(7, random.Random(7))
    smaller = list(plan.smaller())
    assert len(smaller) == parts(plan)
    assert {parts(p) for p in smaller} == {parts(plan) - 1}


def test_the_command_prints_runs_a_second_and_exits_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--runs", "20", "--jobs", "1"]) == 0
    said = capsys.readouterr().out
    assert "20 runs" in said
    assert "runs a second" in said
    assert said.endswith("no violation\n")


def test_the_command_tells_a_failing_run_and_exits_1(capsys: pytest.CaptureFixture[str]) -> None:
    with in_force(BROKEN[0][0]):
        assert command.main(["--runs", "200", "--jobs", "1", "--shrink"]) == 1
    assert "I1_nobody_is_stopped_unheard_or_unsaved" in capsys.readouterr().out
