"""Every state that a task can reach, in three worlds, against the laws in `explore.py`."""

from __future__ import annotations

import itertools

import pytest

from headcount.domain.policy import Policy
from headcount.protocol import task_events as te
from headcount.protocol.effects import Note
from headcount.protocol.task import State, Task
from headcount.protocol.task_step import step_task

from .explore import REVIEWERS, WORKERS, dead_ends, explore

# What is left out keeps each world small enough for this tier; nothing is left out of all of them.
WORLDS = {
    "no-reviewers": (WORKERS, (), (), 2_000),
    "one-reviewer": (WORKERS[:1], REVIEWERS[:1], (te.Refused,), 2_000),
    "two-reviewers": (WORKERS[:1], REVIEWERS, (te.Refused, te.MemberEscalated, te.SpawnRefused), 2_000),
}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("world", WORLDS)
def test_every_reachable_state_keeps_the_laws_and_can_still_end(world: str) -> None:
    workers, reviewers, left_out, least = WORLDS[world]
    graph = explore(workers, reviewers, left_out)
    print(f"{world}: {len(graph)} states, {sum(map(len, graph.values()))} moves")
    assert len(graph) >= least
    assert dead_ends(graph) == set()


STRANGE = (
    te.Begin(1, "eve"), te.Spawned("eve", "eve#1"), te.SpawnRefused("eve", "no"),
    te.WorkVerified("eve#1", "c9", 1), te.MemberLeft("eve#1", "clean", commit="c9", commits=1),
    te.MemberEscalated("eve#1"), te.MemberBack("eve#1"), te.Reassigned("eve#1"),
    te.Refused("eve#1", "r9"), te.Reviewed("eve#1", "c1", "pass"),
    te.Reviewed("spec#1", "c9", "pass"), te.Reviewed("alice#1", "c1", "pass"), te.Merged(9, "c1"),
    te.Merged(1, "c9"), te.Conflicted(9, "c1"), te.MergeFailed(9, "c1", "disk"), te.Retry(9),
)  # fmt: skip

STORY = (
    te.Begin(1, "alice", REVIEWERS), te.Spawned("alice", "alice#1"), te.WorkVerified("alice#1", "c1", 1),
    te.Spawned("spec", "spec#1"), te.Spawned("quality", "quality#1"), te.Reviewed("spec#1", "c1", "pass"),
    te.Reviewed("quality#1", "c1", "pass"), te.Merged(1, "c1"), te.MemberLeft("alice#1", "clean"),
    te.MemberLeft("spec#1", "clean"), te.MemberLeft("quality#1", "clean"),
)  # fmt: skip


@pytest.mark.parametrize("strange", STRANGE, ids=lambda event: type(event).__name__)
def test_what_is_late_or_a_strangers_changes_nothing_and_is_recorded(strange: te.TaskEvent) -> None:
    task = Task("t1")
    for event in STORY:
        task, _ = step_task(task, event, Policy())
        after, effects = step_task(task, strange, Policy())
        assert after == task, event
        assert [e.kind for e in effects if isinstance(e, Note)] == ["task_late"], event


def test_every_event_of_a_story_heard_twice_changes_nothing_the_second_time() -> None:
    task = Task("t1")
    for event in STORY:
        task, _ = step_task(task, event, Policy())
        again, effects = step_task(task, event, Policy())
        assert again == task, event
        assert [e.kind for e in effects if isinstance(e, Note)] == ["task_late"], event


def test_members_may_leave_in_any_order() -> None:
    for order in itertools.permutations(STORY[-3:]):
        task = Task("t1")
        for event in STORY[:-3]:
            task, _ = step_task(task, event, Policy())
        for event in order:
            assert task.state is State.STANDING_DOWN
            task, _ = step_task(task, event, Policy())
        assert task.state is State.COMPLETE


def test_D6_a_retry_is_as_fresh_as_a_new_task_but_for_its_attempt() -> None:
    task = Task("t1", ("t0",), "alice")
    for event in (*STORY[:5], te.Abort("enough"), *STORY[-3:]):
        task, _ = step_task(task, event, Policy())
    assert task.state is State.BLOCKED
    task, _ = step_task(task, te.Retry(1), Policy())
    assert task == Task("t1", ("t0",), "alice", attempt=2)
