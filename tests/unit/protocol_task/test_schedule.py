"""Who may start now: dependencies, slots, names and room."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headcount.domain.policy import Policy
from headcount.domain.settings import Gates
from headcount.errors import DefinitionError
from headcount.protocol import phase_events as pe
from headcount.protocol import task_events as te
from headcount.protocol.phase import Phase, open_phase, step_phase
from headcount.protocol.schedule import Roster, may_start, stalled, why_waiting
from headcount.protocol.task import Presence, Seat, State, Task

AT = "2026-01-01T10:00:00+00:00"
REVIEWERS = (("spec-reviewer", "spec"), ("code-quality-reviewer", "quality"))
ROSTER = Roster(("alice", "bob"), REVIEWERS)


def phase_of(*tasks: Task) -> Phase:
    return open_phase("web", tasks, Gates(verify="true"), AT, Policy())[0]


def busy(name: str, state: State, *presences: Presence, slot: int = 1, worker: str = "alice") -> Task:
    seats = (
        Seat("worker", worker, f"{worker}#1"),
        *(Seat(role, name, f"{name}#1") for role, name in REVIEWERS),
    )
    return Task(
        name, state=state, slot=slot,
        seats=tuple(replace(seat, presence=p) for seat, p in zip(seats, presences, strict=False)),
    )  # fmt: skip


def test_tasks_start_in_order_as_soon_as_what_they_depend_on_is_complete() -> None:
    phase = phase_of(Task("a", state=State.COMPLETE), Task("b", ("a",)), Task("c", ("b",)), Task("d"))
    policy = Policy(tasks_at_once=5)
    assert may_start(phase, ROSTER, policy) == {
        "b": te.Begin(1, "alice", REVIEWERS),
        "d": te.Begin(2, "bob", (("spec-reviewer", "spec-2"), ("code-quality-reviewer", "quality-2"))),
    }
    assert why_waiting(phase, ROSTER, policy) == {"c": "waits for b"}


def test_one_slot_starts_one_task() -> None:
    phase = phase_of(Task("a"), Task("b"))
    assert list(may_start(phase, ROSTER, Policy())) == ["a"]
    assert why_waiting(phase, ROSTER, Policy()) == {"b": "waits for a slot (tasks_at_once = 1)"}


@pytest.mark.parametrize("state", [State.WORKING, State.REVIEWING, State.MERGING, State.STANDING_DOWN])
def test_a_slot_is_held_until_the_task_is_over(state: State) -> None:
    phase = phase_of(busy("a", state, Presence.HERE), Task("b"))
    assert may_start(phase, ROSTER, Policy()) == {}


def test_I4_an_escalated_task_frees_its_slot_only_when_its_reviewers_are_not_there() -> None:
    alone = phase_of(busy("a", State.ESCALATED, Presence.ESCALATED, Presence.EMPTY), Task("b"))
    roster = replace(ROSTER, unavailable=frozenset(("alice",)), alive=1)
    assert may_start(alone, roster, Policy())["b"].worker == "bob"
    with_reviewer = phase_of(busy("a", State.ESCALATED, Presence.ESCALATED, Presence.HERE), Task("b"))
    assert may_start(with_reviewer, roster, Policy()) == {}


def test_a_task_that_comes_back_from_an_escalation_gets_a_slot_of_its_own() -> None:
    phase = phase_of(
        busy("a", State.ESCALATED, Presence.ESCALATED), busy("b", State.WORKING, Presence.HERE, worker="bob")
    )
    phase, _ = step_phase(phase, pe.TaskHappened(AT, "a", te.MemberBack("alice#1")), Policy())
    assert (phase.tasks["a"].slot, phase.tasks["b"].slot) == (2, 1)


def test_a_task_that_comes_back_keeps_a_slot_that_nobody_took() -> None:
    phase = phase_of(busy("a", State.ESCALATED, Presence.ESCALATED, slot=3), Task("b"))
    phase, _ = step_phase(phase, pe.TaskHappened(AT, "a", te.MemberBack("alice#1")), Policy())
    assert phase.tasks["a"].slot == 3


def test_room_is_booked_for_reviewers_who_come_later() -> None:
    phase = phase_of(busy("a", State.WORKING, Presence.HERE, Presence.EMPTY, Presence.EMPTY), Task("b"))
    roster = replace(ROSTER, unavailable=frozenset(("alice",)), alive=1)
    assert "b" in may_start(phase, roster, Policy(tasks_at_once=2, max_members=6))
    assert why_waiting(phase, roster, Policy(tasks_at_once=2, max_members=5)) == {
        "b": "needs 3 members, and max_members = 5 leaves 2"
    }


def test_room_of_a_task_that_is_being_stood_down_is_only_what_is_alive() -> None:
    phase = phase_of(busy("a", State.STANDING_DOWN, Presence.HERE, Presence.GONE, Presence.GONE), Task("b"))
    roster = replace(ROSTER, unavailable=frozenset(("alice",)), alive=1)
    assert "b" in may_start(phase, roster, Policy(tasks_at_once=2, max_members=4))


def test_a_task_waits_for_the_worker_that_it_names_and_others_pass_it() -> None:
    phase = phase_of(Task("a", wants="alice"), Task("b"))
    roster = replace(ROSTER, unavailable=frozenset(("alice",)))
    assert list(may_start(phase, roster, Policy())) == ["b"]
    assert why_waiting(phase, roster, Policy()) == {"a": "waits for a free worker (alice)"}


def test_a_reassigned_task_goes_to_another_worker_and_back_only_if_there_is_none() -> None:
    phase = phase_of(Task("a", wants="alice", passed_over="alice"))
    assert may_start(phase, ROSTER, Policy())["a"].worker == "bob"
    assert may_start(phase, replace(ROSTER, workers=("alice",)), Policy())["a"].worker == "alice"


def test_a_reviewers_second_name_is_nobody_elses() -> None:
    roster = Roster(("spec-2",), REVIEWERS[:1], frozenset(("spec",)))
    assert may_start(phase_of(Task("a")), roster, Policy())["a"].reviewers == (("spec-reviewer", "spec-3"),)


def test_a_reviewers_second_name_is_not_longer_than_names_may_be() -> None:
    roster = Roster(("alice",), (("spec-reviewer", "s" * 64),), frozenset(("s" * 64,)))
    ((_, name),) = may_start(phase_of(Task("a")), roster, Policy())["a"].reviewers
    assert len(name) <= 64
    assert name.endswith("-2")


def test_nothing_starts_after_an_abort() -> None:
    phase = phase_of(busy("a", State.MERGING, Presence.HERE), Task("b"))
    phase, _ = step_phase(phase, pe.AbortRun(AT, "enough"), Policy())
    assert may_start(phase, ROSTER, Policy(tasks_at_once=9)) == {}


def test_E5_what_is_held_by_a_blocked_task_says_by_which() -> None:
    phase = phase_of(
        Task("a", state=State.BLOCKED, reason="x"), Task("b", ("a",)), Task("c", ("b",)), Task("d")
    )
    waiting = why_waiting(phase, ROSTER, Policy())
    assert waiting == dict.fromkeys(("b", "c"), "is held by a, which is blocked")


def test_a_run_in_which_nobody_can_start_says_what_it_waits_for() -> None:
    phase = phase_of(busy("a", State.ESCALATED, Presence.ESCALATED), Task("b"))
    nobody = replace(ROSTER, workers=("alice",), unavailable=frozenset(("alice",)))
    assert stalled(phase, nobody, Policy()) == (
        "task a: alice#1 needs your decision; task b waits for a free worker (alice)"
    )
    assert stalled(phase, ROSTER, Policy()) is None
    assert stalled(phase_of(busy("a", State.WORKING, Presence.HERE)), ROSTER, Policy()) is None


def test_E6_an_unknown_dependency_is_refused() -> None:
    with pytest.raises(DefinitionError) as refused:
        phase_of(Task("a", ("z",)))
    assert (refused.value.code, refused.value.what) == (
        "unknown-dependency", 'Task "a" depends on "z", which is not a task',
    )  # fmt: skip


def test_E6_tasks_that_wait_for_each_other_are_refused() -> None:
    with pytest.raises(DefinitionError) as refused:
        phase_of(Task("a", ("b",)), Task("b", ("c",)), Task("c", ("a",)))
    assert refused.value.code == "dependency-cycle"
