"""Short names of salvages, also when there is a second one."""

from __future__ import annotations

import pytest

from headcount.app.salvages import _row, _Saved
from headcount.errors import UsageError

PREFIX = "refs/headcount/salvage/"


def saved(*refs: str) -> _Saved:
    return _Saved(None, {}, [_row(f"{PREFIX}{ref}", "c", lost=False) for ref in refs], "")


def test_the_shortest_name_that_means_only_one() -> None:
    found = saved("crew/ada/1", "crew/bob/1", "crew/bob/2", "crew/cy/1", "crew/cy/1.2")
    names = [found.shortest(row) for row in found.rows]
    assert names == ["ada", "bob#1", "bob#2", "cy#1.1", "cy#1.2"]
    assert [found.find(name) for name in names] == found.rows
    assert found.find("crew/cy/1.2") is found.rows[-1]


def test_a_name_that_means_several_is_refused_with_short_ones() -> None:
    with pytest.raises(UsageError, match="Which") as refused:
        saved("crew/cy/1", "crew/cy/1.2").find("cy")
    assert refused.value.why == "these are: cy#1.1, cy#1.2"


def test_namesakes_of_two_teams_need_the_whole_name() -> None:
    found = saved("crew/ada/1", "shop/ada/1")
    assert [found.shortest(row) for row in found.rows] == [f"{PREFIX}crew/ada/1", f"{PREFIX}shop/ada/1"]
    assert found.find("shop/ada/1") is found.rows[1]
