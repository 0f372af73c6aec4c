"""What members cost: recorded in mid-turn, summed for member, team and day, and compared with budgets."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headcount.agents.client import Seen
from headcount.app.hosting import MemberReports
from headcount.protocol import events as ev
from headcount.store.sqlite import SqliteStore

TODAY = time.strftime("%Y-%m-%d")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    made = SqliteStore(str(tmp_path))
    yield made
    made.close()


def create(store: SqliteStore, team: str, **policy: float) -> None:
    with store.write() as tx:
        tx.create_team(team, "", {"policy": policy})


def reports(store: SqliteStore, team: str, who: str) -> MemberReports:
    caller = SimpleNamespace(team=f"{team}#1", team_name=team, who=who)
    session: Any = SimpleNamespace(home="", store=store, caller=caller)
    return MemberReports(session)


def usage(store: SqliteStore, team: str, who: str) -> Any:
    with store.read() as tx:
        return tx.fact(f"{team}#1", who, "usage")


def taken(store: SqliteStore, team: str) -> list[Any]:
    with store.write() as tx:
        return tx.take_inputs(f"{team}#1")


def test_a_budget_of_tokens_is_reported_in_mid_turn(store: SqliteStore) -> None:
    create(store, "crew", budget_tokens=200)
    ada = reports(store, "crew", "ada#1")
    assert not ada.record_usage(Seen(110))
    assert ada.record_usage(Seen(110))
    ada.record_turn(Seen(), 0)
    assert taken(store, "crew") == [
        ev.Spent("ada#1", 110), ev.Spent("ada#1", 220), ev.Spent("ada#1", 220, 1)
    ]  # fmt: skip


def test_costs_are_summed_for_member_team_and_day(store: SqliteStore) -> None:
    create(store, "crew", budget_day_usd=4.0)
    create(store, "other")
    reports(store, "other", "cy#1").record_usage(Seen(cost_usd=2.0))
    reports(store, "crew", "ada#1").record_usage(Seen(10, cost_usd=1.0))
    assert reports(store, "crew", "ben#1").record_usage(Seen(20, cost_usd=1.5))
    assert usage(store, "crew", "ben#1") == {
        "tokens": 20, "turns": 0, "cost_usd": 1.5, "days": {TODAY: 1.5}
    }  # fmt: skip
    assert taken(store, "crew")[-1] == ev.Spent("ben#1", 20, 0, 1.5, 2.5, 4.5)
    with store.read() as tx:
        assert (tx.spent_on(TODAY), tx.spent_on("2001-01-01")) == (4.5, 0.0)


def test_F112_refusals_are_counted_and_the_last_one_is_shown_in_one_line(store: SqliteStore) -> None:
    create(store, "crew")
    ada = reports(store, "crew", "ada#1")
    ada.record_usage(Seen(refused="make test"))
    ada.record_usage(Seen(refused="python3 test_app.py \x1b[2J\n-v"))
    assert usage(store, "crew", "ada#1")["refused"] == {"count": 2, "last": "python3 test_app.py [2J -v"}
