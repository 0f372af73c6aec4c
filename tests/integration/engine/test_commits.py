"""How many write transactions an engine opens: none where there is nothing to write."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import pytest

from headcount.engine.driver import Driver
from headcount.protocol import events as ev
from headcount.protocol import run

from .lab import LIMIT_S, Lab


def test_a_stand_down_of_one_member_costs_about_one_write_for_each_step(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: Counter[str] = Counter()
    write, step = Driver._write, run.step_team

    def counting_write(self: Driver, *team: str) -> Any:
        counted["writes"] += 1
        return write(self, *team)

    def counting_step(*about: Any) -> Any:
        counted["steps"] += 1
        return step(*about)

    monkeypatch.setattr(Driver, "_write", counting_write)
    monkeypatch.setattr(run, "step_team", counting_step)
    lab.create()
    lab.start("ada")
    answer = lab.ask()
    lab.approve(answer)
    assert lab.finish(answer)["status"] == "shutdown"
    print(counted)
    assert counted["writes"] <= 25, counted
    assert counted["writes"] <= counted["steps"] + 6, counted


def test_an_engine_that_is_rung_for_nothing_writes_nothing(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.create()
    lab.start("ada")
    lab.say(ev.Paused("ada#1"))
    deadline = time.monotonic() + LIMIT_S
    while not lab.journal("processes_paused"):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    seen: Counter[str] = Counter()
    turn, write = Driver.turn, Driver._write

    def counting_turn(self: Driver, *about: Any) -> float | None:
        due = turn(self, *about)
        seen["turns"] += 1
        return due

    def counting_write(self: Driver, *team: str) -> Any:
        seen["writes"] += 1
        return write(self, *team)

    monkeypatch.setattr(Driver, "turn", counting_turn)
    monkeypatch.setattr(Driver, "_write", counting_write)
    lab.app.store.ring(["engine"])
    while not seen["turns"]:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert not seen["writes"]
