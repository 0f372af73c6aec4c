"""Limits are armed once for each epoch, and forgotten when it is over; after a crash they start anew."""

from __future__ import annotations

import threading
from dataclasses import replace

from headcount.domain.policy import Policy
from headcount.engine.deadlines import Limits
from headcount.protocol import events as ev
from headcount.protocol.member import Member, State
from headcount.protocol.team import Team

POLICY = Policy(answer_timeout_s=30, stall_timeout_s=100)
ASKED = Member("ada", 1, state=State.ASKED, epoch=4)


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def _team(*members: Member) -> Team:
    return Team("crew", members={m.key: m for m in members})


def test_a_limit_is_over_once_and_names_its_epoch() -> None:
    time = Time()
    limits = Limits(time)
    limits.watch(_team(ASKED), POLICY)
    assert limits.next_due() == 30
    time.now = 29.9
    assert limits.take_due() == []
    time.now = 30
    assert limits.take_due() == [("crew", ev.TimedOut("ada#1", 4))]
    assert limits.take_due() == []


def test_watching_again_does_not_start_a_limit_anew() -> None:
    time = Time()
    limits = Limits(time)
    limits.watch(_team(ASKED), POLICY)
    time.now = 20
    limits.watch(_team(ASKED), POLICY)
    assert limits.next_due() == 30


def test_a_new_epoch_has_its_full_time_and_the_old_one_is_over() -> None:
    time = Time()
    limits = Limits(time)
    limits.watch(_team(ASKED), POLICY)
    time.now = 20
    limits.watch(_team(replace(ASKED, epoch=5)), POLICY)
    time.now = 31
    assert limits.take_due() == []
    time.now = 50
    assert limits.take_due() == [("crew", ev.TimedOut("ada#1", 5))]


def test_nothing_is_due_for_who_answered_or_whose_team_is_forgotten() -> None:
    limits = Limits(Time())
    limits.watch(_team(ASKED), POLICY)
    limits.watch(_team(replace(ASKED, answer="approved")), POLICY)
    assert limits.next_due() is None
    limits.watch(_team(replace(ASKED, epoch=9)), POLICY)
    limits.forget("crew")
    assert limits.next_due() is None


def test_a_limit_that_is_as_good_as_none_can_be_waited_for() -> None:
    limits = Limits(Time())
    limits.watch(_team(replace(ASKED, state=State.RUNNING)), Policy(stall_timeout_s=1e300))
    seconds = limits.next_due()
    assert seconds is not None and 0 < seconds <= threading.TIMEOUT_MAX
    assert limits.take_due() == []


def test_nobodys_age_is_remembered_once_the_team_is_forgotten() -> None:
    time = Time()
    limits, policy = Limits(time), Policy(cycle_after_s=10)
    assert limits.grown_old(_team(ASKED), policy) == []
    limits.forget("crew")
    time.now = 11
    assert limits.grown_old(_team(ASKED), policy) == []
