"""The laws of the tables, and that every rule of them is there for a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from headcount.protocol.member import TABLE, Action, State, Trigger
from headcount.protocol.turn import ACTIONS
from tests.support import laws, mutate
from tests.support.mutants import TABLES, Mutant, in_force, mutants
from tests.support.mutate import PAGE, read_checks

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
def test_every_row_keeps_the_law(law: object) -> None:
    assert list(law()) == []  # type: ignore[operator]


def test_every_state_cue_and_deed_is_used() -> None:
    assert {state for state, _ in TABLE} == set(State)
    assert {cue for _, cue in TABLE} == set(Trigger)
    assert {deed for rule in TABLE.values() for deed in rule.do} == set(Action) == set(ACTIONS)


def test_a_mutant_is_in_force_only_inside() -> None:
    before = dict(TABLE)
    with in_force(Mutant("member", (State.RUNNING, Trigger.EXITED), None)):
        assert laws.broken_laws() == ["a_death_is_looked_at: running does not salvage whoever exited"]
    assert before == TABLE
    assert list(before) == list(TABLE)


def test_each_kind_of_caller_may_do_what_is_written_down() -> None:
    assert mutate.tell_callers() == (ROOT / "tests/protocol/callers.txt").read_text(encoding="utf-8")


def test_the_transcripts_go_every_way_that_the_page_shows_of_a_team() -> None:
    assert not read_checks(ROOT).another_move_is_seen()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("table", TABLES)
def test_no_rule_can_change_without_something_that_behaves_differently(table: str) -> None:
    """The page that is written from the tables does not count: it notices everything, and is written anew."""
    checks, every = read_checks(ROOT), list(mutants(table))
    assert checks.noticed() - {PAGE} == set()
    survivors = [str(m) for m in every if not checks.noticed_by(m) - {PAGE}]
    print(f"{table}: {len(every)} mutants, {len(survivors)} survivors")
    assert survivors == []


def test_the_command_prints_the_survivors_and_exits_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(mutate._CHECKS, "phase", ("laws",))
    assert mutate._report("phase", read_checks(ROOT), lambda f, items, chunksize: list(map(f, items))) > 100
    assert "phase: tasks on abort: removed" in capsys.readouterr().out
