"""Every reachable state of a small team against every invariant: a slice here, the whole with
`python -m tests.support.explore`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headcount.protocol.events import BY_NAME
from headcount.protocol.member import TABLE, State, Trigger
from tests.support import explore as command
from tests.support import explorer as exploring
from tests.support.diagram import TEAM_MOVES
from tests.support.explorer import Explorer, Report, explore
from tests.support.graph import Graph, Way
from tests.support.liveness import TEMPERS, I8_it_ends_in_time
from tests.support.mutants import Mutant, in_force
from tests.support.onlooker import Violation
from tests.support.possible import Choices
from tests.support.variants import POLICY, VARIANTS, Variant

SLICE = 300
# Few enough states to be explored whole in seconds, each way of doing it.
TWO = Variant(
    "two", "", Choices(named=False, force=False, idle=False, size=2), policy=replace(POLICY, max_waits=0)
)
ONE_MORE = replace(TWO, roles=("worker",))


@pytest.fixture(scope="module")
def reports() -> dict[str, Report]:
    return {variant.name: explore(variant, SLICE) for variant in VARIANTS}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("variant", [v.name for v in VARIANTS])
def test_no_invariant_is_ever_broken(variant: str, reports: dict[str, Report]) -> None:
    report = reports[variant]
    print(report)
    assert report.states == SLICE or report.whole
    assert report.strange > report.states
    assert set(report.ends) <= {"active", "shutdown", "escalated", "stuck"}
    assert 0 < report.longest_s <= report.bound_s


def test_the_team_moves_only_as_the_page_says(reports: dict[str, Report]) -> None:
    seen = {move for report in reports.values() for move in report.moves}
    assert seen <= {(before, after) for before, after, _ in TEAM_MOVES}


# Events that no exploration needs to hear, and why.
NOT_EXPLORED = {
    "Reviewed": "is noted only, and is tried as a strange event; the rules of its task hear it",
    "ClientFailed": "only keeps words for the exit that follows; tests/unit/protocol/test_failed_members.py",
}


def test_every_kind_of_event_is_explored(reports: dict[str, Report]) -> None:
    heard = {name for report in reports.values() for name in report.events}
    assert heard == set(BY_NAME) - set(NOT_EXPLORED)


@pytest.fixture(scope="module")
def reduced() -> Explorer:
    explorer = Explorer(TWO)
    explorer.run()
    return explorer


@pytest.mark.timeout(300)
def test_members_without_names_reach_exactly_the_orbits_of_members_with_names(reduced: Explorer) -> None:
    named = Explorer(TWO, ordered=False)
    named.run()
    assert named.report.states == reduced.report.stands_for > reduced.report.states
    assert forms_of(named, reduced) == set(reduced.known)
    assert named.report.moves == reduced.report.moves
    assert set(named.report.ends) == set(reduced.report.ends)


@pytest.mark.timeout(300)
def test_whoever_is_started_later_reaches_the_same_forms_by_any_name() -> None:
    named, unnamed = Explorer(ONE_MORE, ordered=False), Explorer(ONE_MORE)
    named.run()
    unnamed.run()
    assert forms_of(named, unnamed) == set(unnamed.known)


def forms_of(named: Explorer, unnamed: Explorer) -> set[int]:
    """The forms without names of every state that was reached with names."""
    return {unnamed.forms.of(team, seen).key for team, seen in named.retrace()}


@pytest.mark.timeout(300)
def test_steps_that_are_reused_lead_where_steps_that_are_taken_lead(reduced: Explorer) -> None:
    every = Explorer(TWO, reuse=False)
    every.run()
    assert every.report.taken == every.report.steps > 2 * reduced.report.taken
    for name in ("states", "stands_for", "steps", "ends", "moves", "events", "longest_s"):
        assert getattr(every.report, name) == getattr(reduced.report, name), name


def test_a_step_that_does_more_than_elsewhere_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """One in so many is taken all the same; here each is, and what the rules read is kept from the cases."""
    monkeypatch.setattr(exploring, "_SAMPLE", 1)
    explorer = Explorer(TWO)
    monkeypatch.setattr(explorer.forms, "case", lambda team, form, place: (place, form.entries[place]))
    with pytest.raises(Violation, match="does more than it did elsewhere"):
        explorer.run()


def test_the_time_to_rest_in_the_graph_is_the_time_that_a_run_takes(reduced: Explorer) -> None:
    longest = 0.0
    for state, (team, _) in list(enumerate(reduced.retrace()))[::23]:
        longest = max(longest, *(I8_it_ends_in_time(team, TWO.policy, temper) for temper in TEMPERS))
        for temper, play in enumerate(TEMPERS):
            assert reduced.graph.time(state, temper, TWO_BOUND) == I8_it_ends_in_time(team, TWO.policy, play)
    assert 0 < longest <= reduced.report.longest_s


TWO_BOUND = 10_000.0


def graph_of(*states: tuple[str, dict[str, Any]]) -> Graph:
    graph = Graph(lambda state: None)
    for status, _ in states:
        graph.add(status)
    for number, (_, ways) in enumerate(states):
        overdue = [ways.get("overdue"), None, None, None]
        graph.fill(number, [ways.get("answer"), None, ways.get("answer")], overdue)
    return graph


HERE_AGAIN, ON = Way(0, (-1,) * 4), Way(1, (-1,) * 4)
LATE = ("stopping", {"overdue": (60.0, ON)})


@pytest.mark.parametrize(
    ("states", "says"),
    [
        ([("stopping", {})], "not at rest"),
        ([("stopping", {"answer": HERE_AGAIN})], "changed nothing"),
        ([("stopping", {"answer": ON}), ("stopping", {"answer": HERE_AGAIN})], "round and round"),
        (
            [("stopping", {"overdue": (60.0, ON)}), ("stopping", {"overdue": (60.0, HERE_AGAIN)})],
            "bound is 100",
        ),
    ],
)
def test_a_way_that_does_not_end_is_found(states: list[tuple[str, dict[str, Any]]], says: str) -> None:
    with pytest.raises(Violation, match=f"^I8: .*{says}"):
        graph_of(*states).check_all_end(1, 100.0)


def test_time_that_is_left_goes_on_in_the_next_state() -> None:
    goes_on = Way(1, (0, -1, -1, -1))
    graph = Graph(lambda state: None)
    for status in ("stopping", "stopping", "shutdown"):
        graph.add(status)
    end = Way(2, (-1,) * 4)
    graph.fill(0, [None] * 3, [(30.0, end), (10.0, goes_on), None, None])
    graph.fill(1, [None] * 3, [(30.0, end), None, None, None])
    graph.fill(2, [None] * 3, [None] * 4)
    assert graph.check_all_end(3, 100.0) == 30.0


@pytest.mark.parametrize(
    ("row", "rule", "noticed_by"),
    [
        ((State.RUNNING, Trigger.REQUEST), TABLE[State.ASKED, Trigger.PROCEED], "two_phases"),
        ((State.SALVAGING, Trigger.SALVAGE_FAILED), TABLE[State.SALVAGING, Trigger.SAVED], "I1"),
        ((State.INSPECTING, Trigger.DIRTY), TABLE[State.INSPECTING, Trigger.SPOTLESS], "I1"),
        ((State.KILLING, Trigger.NOT_EMPTY), TABLE[State.KILLING, Trigger.TREE_EMPTY], "I[23]"),
        ((State.NUDGED, Trigger.SILENT_THRICE), TABLE[State.NUDGED, Trigger.SILENT_ONCE], "I8"),
        ((State.ASKED, Trigger.EXITED), None, "a_death_is_looked_at"),
    ],
    ids=["asked at once", "unsaved", "dirty", "alive", "for ever", "a death"],
)
def test_a_broken_rule_is_found_with_the_way_to_it(row: Any, rule: Any, noticed_by: str) -> None:
    """The checkers have teeth, each for what it is there for."""
    broken = Mutant("member", row, rule)
    with in_force(broken), pytest.raises(Violation, match=f"^{noticed_by}.*[\\s\\S]*after:\\n"):
        for variant in VARIANTS:
            explore(variant, 700)


def test_the_command_prints_how_many_states_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--variant", "judge", "--states", "50", "--jobs", "1"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("judge      the first 50 states (")
    assert said.endswith("no violation\n")
