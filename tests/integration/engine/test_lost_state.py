"""Somebody cleans the repository while a team runs: it goes on, and is brought home as ever."""

from __future__ import annotations

import pytest

from headcount.engine import listener
from headcount.runtime import BY_SUBREAPER

from .lab import QUICK, TEAM, Lab, git


def test_a_team_whose_state_was_cleaned_away_goes_on(
    lab: Lab, runtime: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.stop_driving()
    monkeypatch.setattr(listener, "_RING_CHECK_S", 0.5)
    lab.create(QUICK)
    lab.drive()
    lab.start("ada", "touch half.txt; sleep 1000 & wait")
    lab.wait_file("ada#1", "half.txt")
    git(lab.app.root, "clean", "-fdxq")
    lab.wait_flag("id")  # the last that is put back
    lab.finish(lab.ask(force=True))
    member = lab.team().members["ada#1"]
    assert member.settled and member.refs
    with lab.app.store.read() as tx:
        proof = tx.fact(f"{TEAM}#1", "ada#1", "proof")
    assert proof is not None and proof["method"] == BY_SUBREAPER
    assert len(lab.journal("state_put_back")) == 1
    assert lab.marked() == []
