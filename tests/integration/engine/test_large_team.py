"""More members than an engine has threads."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from headcount.app import engine_loop
from headcount.app.member_start import Plan
from headcount.app.team_start import wait_for
from headcount.app.teams import spawn
from headcount.domain.policy import Policy
from headcount.protocol.member import State
from headcount.workspace.git_workspaces import EngineWorkspaces

from .lab import LIMIT_S, POLITE, TEAM, Lab

_START_S = 2.0


def test_a_start_that_waits_for_its_turn_has_all_of_its_time_when_it_begins(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One thread, four starts of 2 s each, a limit of 7 s: counted from the decision, the last one fails."""
    make = EngineWorkspaces.create

    def slowly(*about: Any) -> Any:
        time.sleep(_START_S)
        return make(*about)

    lab.stop_driving()
    monkeypatch.setattr(engine_loop, "_THREADS", 1)
    monkeypatch.setattr(EngineWorkspaces, "create", slowly)
    lab.create(Policy(checkout_timeout_s=3 * _START_S, start_timeout_s=0.5 * _START_S))
    for n in range(4):
        spawn(lab.app, TEAM, Plan(f"m{n}", command=("bash", "-c", POLITE)))
    began = time.monotonic()
    lab.drive()
    team = wait_for(
        lab.app, TEAM, lambda t: all(m.state is not State.STARTING for m in t.members.values()), LIMIT_S
    )
    assert {m.state for m in team.members.values()} == {State.RUNNING}
    assert time.monotonic() - began > 4 * _START_S


def test_F33_a_checkout_that_takes_longer_than_the_rest_of_a_start_does_not_fail_it(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a repository of 100,000 files on a loaded machine."""
    make = EngineWorkspaces.create

    def slowly(*about: Any) -> Any:
        time.sleep(1.5)
        return make(*about)

    monkeypatch.setattr(EngineWorkspaces, "create", slowly)
    lab.create(Policy(start_timeout_s=1))
    assert lab.start("alice").state is State.RUNNING


def test_F118_a_start_has_time_for_the_checkouts_of_others_that_come_first(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight checkouts of 1 s, one at a time, and a limit of 5 s for one: as when the disk is busy."""
    make, slot = EngineWorkspaces.create, threading.Lock()

    def in_turn(*about: Any) -> Any:
        with slot:
            time.sleep(1)
            return make(*about)

    monkeypatch.setattr(EngineWorkspaces, "create", in_turn)
    lab.create(Policy(checkout_timeout_s=4, start_timeout_s=1))
    for n in range(8):
        spawn(lab.app, TEAM, Plan(f"m{n}", command=("bash", "-c", POLITE)))
    team = wait_for(
        lab.app, TEAM, lambda t: all(m.state is not State.STARTING for m in t.members.values()), LIMIT_S
    )
    assert {m.state for m in team.members.values()} == {State.RUNNING}


def test_a_start_that_hangs_is_over_when_its_time_is(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    make, released = EngineWorkspaces.create, threading.Event()

    def hangs(*about: Any) -> Any:
        released.wait(LIMIT_S)
        return make(*about)

    monkeypatch.setattr(EngineWorkspaces, "create", hangs)
    lab.create(Policy(checkout_timeout_s=1, start_timeout_s=0.2))
    try:
        member = lab.start("slow")  # returns while it hangs
        assert member.state is not State.RUNNING
    finally:
        released.set()
    lab.wait_state("slow#1", lambda m: m.settled)
    assert lab.marked() == []  # it was made after all, and is ended
