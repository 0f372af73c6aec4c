"""Budgets: each one that is used up is named, with what was used of it."""

from __future__ import annotations

from headcount.domain.policy import Policy, list_used_up
from headcount.protocol.events import Spent


def test_each_budget_that_is_used_up_is_named() -> None:
    policy = Policy(budget_tokens=600, budget_usd=1.5, budget_team_usd=4, budget_day_usd=5)
    assert list_used_up(policy, Spent("ada#1", 599, 99, 1.49, 3.99, 4.99)) == []
    assert list_used_up(policy, Spent("ada#1", 1650, 99, 1.5, 4.0, 4.99)) == [
        "1,650 of 600 tokens", "$1.50 of $1.50", "$4.00 of $4.00 of the team"
    ]  # fmt: skip
    assert list_used_up(policy, Spent("ada#1", day_usd=5.25)) == ["$5.25 of $5.00 of the day"]
    assert list_used_up(Policy(), Spent("ada#1", 10**9, 10**9, 1e9, 1e9, 1e9)) == []
