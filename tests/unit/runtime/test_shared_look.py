from __future__ import annotations

import itertools

import pytest

from headcount.shared_look import SharedLook


def test_a_recent_look_is_used_again_and_an_old_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("headcount.shared_look.time.monotonic", lambda: now)
    look = SharedLook(itertools.count().__next__)
    assert look.recent(1.0) == 0
    now += 0.9
    assert look.recent(1.0) == 0
    now += 0.2
    assert look.recent(1.0) == 1


def test_who_asks_for_a_fresh_look_never_gets_a_recent_one() -> None:
    look = SharedLook(itertools.count().__next__)
    assert [look.fresh(), look.fresh(), look.recent(60.0), look.fresh()] == [0, 1, 1, 2]
