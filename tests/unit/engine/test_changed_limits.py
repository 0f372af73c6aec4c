"""Limits that are running when the policy changes."""

from __future__ import annotations

from dataclasses import replace

from headcount.domain.policy import Policy
from headcount.engine.deadlines import Limits
from headcount.protocol.events import TimedOut
from headcount.protocol.member import Member, State
from headcount.protocol.team import Team

ASKED = Team("t", members={"a#1": Member("a", 1, state=State.ASKED, epoch=3, ask="r1")})
LONG = Policy(answer_timeout_s=1000)


def test_a_limit_counts_from_when_its_state_began_also_after_a_change() -> None:
    clock = [100.0]
    limits = Limits(lambda: clock[0])
    limits.watch(ASKED, LONG)
    clock[0] = 150.0
    limits.change(ASKED, replace(LONG, answer_timeout_s=60))
    assert limits.next_due() == 160.0 and limits.take_due() == []
    limits.change(ASKED, replace(LONG, answer_timeout_s=20))
    assert limits.take_due() == [("t", TimedOut("a#1", 3))] and limits.take_due() == []


def test_a_longer_limit_takes_back_the_shorter_one() -> None:
    clock = [0.0]
    limits = Limits(lambda: clock[0])
    limits.watch(ASKED, replace(LONG, answer_timeout_s=10))
    limits.change(ASKED, LONG)
    clock[0] = 500.0
    assert limits.take_due() == [] and limits.next_due() == 1000.0


def test_a_state_that_began_since_has_its_full_time() -> None:
    clock = [0.0]
    limits = Limits(lambda: clock[0])
    limits.watch(ASKED, LONG)
    clock[0] = 500.0
    later = replace(ASKED, members={"a#1": replace(ASKED.members["a#1"], epoch=4)})
    limits.change(later, replace(LONG, answer_timeout_s=60))
    assert limits.next_due() == 560.0
