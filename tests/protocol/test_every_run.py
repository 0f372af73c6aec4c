"""Every reachable state of a small run against every invariant: a slice here, the whole with
`python -m tests.support.run_explorer`."""

from __future__ import annotations

from typing import Any

import pytest

from headcount.protocol import events as ev
from headcount.protocol import phase_events as pe
from headcount.protocol import run as composing
from headcount.protocol import task_events as te
from headcount.protocol.phase import State as PhaseState
from headcount.protocol.step import step
from headcount.protocol.task import TABLE, Presence, State, Trigger
from headcount.protocol.team import Team
from tests.support import run_explorer as command
from tests.support.mutants import Mutant, in_force
from tests.support.onlooker import Violation
from tests.support.run_explorer import VARIANTS, AnyEvent, Explorer, Variant, explore, first_team
from tests.support.run_laws import NOON, next_event

SLICE = 150
BY_NAME = {variant.name: variant for variant in VARIANTS}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("variant", BY_NAME)
def test_no_invariant_is_ever_broken_and_every_run_comes_to_rest(variant: str) -> None:
    report = explore(BY_NAME[variant], SLICE)
    print(report)
    assert report.states == SLICE
    assert report.steps > 2 * report.states


@pytest.mark.parametrize("variant", BY_NAME)
def test_a_run_that_nobody_disturbs_is_complete(variant: str) -> None:
    """By the same way of coming to rest that is checked from every other state."""
    team = first_team(BY_NAME[variant])
    merged = []
    while (event := next_event(team, "obliging", BY_NAME[variant].policy)) is not None:
        team, _ = step(team, event, BY_NAME[variant].policy)
        if isinstance(event, pe.TaskHappened) and isinstance(event.event, te.Merged):
            merged.append(event.task)
    assert team.run is not None
    assert team.run.state is PhaseState.COMPLETE
    assert merged == list(team.run.tasks)


# --- what the exploration found ---------------------------------------------------------------------------


def play(variant: Variant, *events: AnyEvent) -> Team:
    """With the epoch and the head that each member has when the event arrives."""
    team = first_team(variant)
    for event in events:
        team, _ = step(team, event, variant.policy)
    return team


def seat_of(team: Team) -> Any:
    assert team.run is not None
    worker = team.run.tasks["1"].worker
    assert worker is not None
    return worker


def epoch(team: Team) -> int:
    return team.members["ada#1"].epoch


def failed_salvage(*decisions: str) -> Team:
    """A worker exits; its salvage fails, and fails again after each decision about that."""
    variant = BY_NAME["alone"]
    team = play(variant, ev.Exited("ada#1", code=0))
    for decision in ("", *decisions):
        if decision:
            (escalation,) = team.escalations
            team, _ = step(team, ev.Decided(escalation, decision), variant.policy)
        team, _ = step(team, ev.SalvageFailed("ada#1", epoch(team), "disk full"), variant.policy)
    return team


def test_a_task_knows_that_a_salvage_failed_again_after_a_decision() -> None:
    """Otherwise it counted on a worker that is escalated, and kept its slot for it."""
    team = failed_salvage("wait")
    assert team.run is not None
    assert team.run.tasks["1"].state is State.ESCALATED
    assert seat_of(team).presence is Presence.ESCALATED


def test_a_task_that_was_reassigned_is_handed_over_although_somebody_waited_afterwards() -> None:
    """Otherwise it stayed `working`, with nobody at work."""
    variant = BY_NAME["handed"]
    team = failed_salvage("reassign")
    (escalation,) = team.escalations
    team, _ = step(team, ev.Decided(escalation, "wait"), variant.policy)
    for event in (
        ev.Saved("ada#1", epoch(team), "ref"),
        ev.TreeEmpty("ada#1"),
    ):
        team, _ = step(team, event, variant.policy)
    team, _ = step(team, ev.LastRead("ada#1", epoch(team), True), variant.policy)
    assert team.run is not None
    assert (team.run.tasks["1"].passed_over, seat_of(team).key) == ("ada", "ada#2")


def test_a_member_that_goes_on_after_its_task_was_retried_leaves_when_it_is_done() -> None:
    """Otherwise it waited for a review for ever, and its task for a free worker."""
    variant = BY_NAME["ended"]
    team = play(variant, ev.Registered("ada#1"), ev.DoneSignalled("ada#1"))
    team, _ = step(team, ev.Inspected("ada#1", epoch(team), False, False, ("dirty",)), variant.policy)
    team, _ = step(team, pe.AbortRun(NOON, "enough", "operator"), variant.policy)
    team, _ = step(team, pe.RetryRun(NOON, 1), variant.policy)
    (escalation,) = team.escalations
    for event in (ev.Decided(escalation, "wait"), ev.DoneSignalled("ada#1")):
        team, _ = step(team, event, variant.policy)
    while (following := next_event(team, "obliging", variant.policy)) is not None:
        team, _ = step(team, following, variant.policy)
    assert team.run is not None
    assert team.run.state is PhaseState.COMPLETE


# --- the checkers have teeth ------------------------------------------------------------------------------


AT_WORK = (ev.Registered("ada#1"), ev.DoneSignalled("ada#1"))
DONE = ev.Inspected("ada#1", 1, True, True, head="fresh", commits=1)
REVIEWED = (*AT_WORK, DONE)
MERGED, PASSED = TABLE[State.MERGING, Trigger.MERGED], TABLE[State.REVIEWING, Trigger.PASSED]
CHANGES = TABLE[State.MERGING, Trigger.CHANGES]
OVER, LOST = TABLE[State.STANDING_DOWN, Trigger.OVER_COMPLETE], (State.WORKING, Trigger.WORKER_LOST)


@pytest.mark.parametrize(
    ("name", "story", "row", "rule", "noticed_by"),
    [
        ("review", REVIEWED, (State.REVIEWING, Trigger.PASSED), MERGED, "complete, and was not"),
        ("review", REVIEWED, (State.REVIEWING, Trigger.CHANGES), PASSED, "has no pass from"),
        ("alone", AT_WORK, (State.STANDING_DOWN, Trigger.OVER_BLOCKED), OVER, "complete, and was not merged"),
        ("alone", AT_WORK, (State.MERGING, Trigger.MERGED), CHANGES, "was merged, and is"),
        ("alone", (), LOST, None, "worked on by nobody"),
        ("review", REVIEWED, (State.REVIEWING, Trigger.REVIEWER_LOST), None, "which is not there"),
        ("alone", (), (State.STANDING_DOWN, Trigger.OVER_AGAIN), None, "still being stood down"),
    ],
)  # fmt: skip
def test_a_broken_rule_of_a_task_is_found(
    name: str, story: tuple[AnyEvent, ...], row: Any, rule: Any, noticed_by: str
) -> None:
    with in_force(Mutant("task", row, rule)), pytest.raises(Violation, match=noticed_by):
        Explorer(BY_NAME[name], story).run(300)


@pytest.mark.parametrize(
    ("rule", "name", "story", "noticed_by"),
    [
        ("_begin_next", "alone", (), "nothing will come any more"),
        ("_start_held", "limited", (ev.Limited("ada#1"), *REVIEWED), "nobody starts it"),
        ("_end_cleanup", "alone", REVIEWED, "its run is still at cleaning_up"),
    ],
)  # fmt: skip
def test_a_rule_of_the_run_that_is_left_out_is_found(
    rule: str, name: str, story: tuple[AnyEvent, ...], noticed_by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(composing.Composition, rule, lambda *_: False)
    with pytest.raises(Violation, match=noticed_by):
        Explorer(BY_NAME[name], story).run(600)


def test_the_command_prints_how_many_states_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--variant", "alone", "--states", "20", "--jobs", "1"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("alone    the first 20 states, ")
    assert printed.endswith("no violation\n")
