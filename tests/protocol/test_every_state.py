"""Every reachable state of a small team against every invariant: a slice here, the whole with
`python -m headcount.testing.explore`."""

from __future__ import annotations

import pytest

from headcount.protocol.member import TABLE, Cue, State
from headcount.testing.diagram import TEAM_MOVES
from headcount.testing.explore import Report, explore
from headcount.testing.mutate import Mutant, in_force
from headcount.testing.onlooker import Violation
from headcount.testing.variants import VARIANTS

SLICE = 1000


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


def test_the_team_moves_only_as_the_page_says(reports: dict[str, Report]) -> None:
    seen = {move for report in reports.values() for move in report.moves}
    assert seen <= {(before, after) for before, after, _ in TEAM_MOVES}


@pytest.mark.parametrize(
    ("mutant", "noticed_by"),
    [
        (Mutant(State.RUNNING, Cue.REQUEST, TABLE[State.ASKED, Cue.PROCEED]), "two_phases"),
        (Mutant(State.SALVAGING, Cue.SALVAGE_FAILED, TABLE[State.SALVAGING, Cue.SAVED]), "I1"),
        (Mutant(State.INSPECTING, Cue.DIRTY, TABLE[State.INSPECTING, Cue.SPOTLESS]), "I1"),
        (Mutant(State.KILLING, Cue.NOT_EMPTY, TABLE[State.KILLING, Cue.TREE_EMPTY]), "I[23]"),
        (Mutant(State.NUDGED, Cue.SILENT_THRICE, TABLE[State.NUDGED, Cue.SILENT_ONCE]), "I8"),
        (Mutant(State.ASKED, Cue.EXITED, None), "a_death_is_looked_at"),
    ],
    ids=str,
)
def test_a_broken_rule_is_found_with_the_way_to_it(mutant: Mutant, noticed_by: str) -> None:
    """The checkers have teeth, each for what it is there for."""
    with in_force(mutant), pytest.raises(Violation, match=f"^{noticed_by}.*[\\s\\S]*after:\\n"):
        for variant in VARIANTS:
            explore(variant, 700)
