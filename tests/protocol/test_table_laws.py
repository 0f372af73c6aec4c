"""The laws of the member's table, and that every rule of it is there for a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from headcount.protocol.member import TABLE, Cue, Do, State
from headcount.protocol.turn import _DEEDS
from headcount.testing import laws
from headcount.testing.mutate import Mutant, in_force, mutants, read_checks

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
def test_every_row_keeps_the_law(law: object) -> None:
    assert list(law()) == []  # type: ignore[operator]


def test_every_state_cue_and_deed_is_used() -> None:
    assert {state for state, _ in TABLE} == set(State)
    assert {cue for _, cue in TABLE} == set(Cue)
    assert {deed for rule in TABLE.values() for deed in rule.do} == set(Do) == set(_DEEDS)


def test_a_mutant_is_in_force_only_inside() -> None:
    before = dict(TABLE)
    with in_force(Mutant(State.RUNNING, Cue.EXITED, None)):
        assert laws.broken_laws() == ["a_death_is_looked_at: running does not salvage whoever exited"]
    assert before == TABLE
    assert list(before) == list(TABLE)


@pytest.mark.timeout(300)
def test_no_rule_can_change_without_a_story_that_differs() -> None:
    """Only the order of deeds that do not touch each other is left to the committed table."""
    checks = read_checks(ROOT)
    every = list(mutants())
    unnoticed = {m: names for m in every if not (names := checks.noticed_by(m)) - {"committed table"}}
    assert [str(m) for m, names in unnoticed.items() if not names] == [], "nobody notices"
    only_order = [m for m in unnoticed if m.rule and sorted(m.rule.do) == sorted(TABLE[m.state, m.cue].do)]
    assert [str(m) for m in unnoticed if m not in only_order] == []
    print(f"{len(every)} mutants, {len(every) - len(unnoticed)} noticed by laws and transcripts, 0 survivors")
