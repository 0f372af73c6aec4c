"""Somebody drives for as long as anybody watches: an engine that ends is followed by another."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from headcount.app import adapters, resident
from headcount.app.lock import drive_lock, is_driven, suspended_driver
from headcount.app.resident import driving, ensure_driven
from headcount.app.team_status import status
from headcount.cli.status_commands import describe_team
from headcount.engine import driver
from headcount.engine.driver import Driver
from headcount.errors import StoreError
from headcount.protocol import events as ev
from headcount.protocol.member import State
from tests.support.lab import engine_pid

from .lab import LIMIT_S, QUICK, TEAM, Lab


def test_an_engine_that_a_bug_ends_is_followed_by_one_that_goes_on(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.create(QUICK)
    turn, broken = Driver.turn, threading.Event()

    def breaks_once(self: Driver, reports: Any, rung: bool) -> float | None:
        if reports and not broken.is_set():
            broken.set()
            raise RuntimeError("a bug")
        return turn(self, reports, rung)

    monkeypatch.setattr(Driver, "turn", breaks_once)
    lab.start("ada")
    assert broken.is_set()
    assert lab.ask()["status"] != "rejected"
    lab.wait_state("ada#1", lambda m: m.settled)


def test_a_team_that_a_bug_holds_up_is_said_to_be_until_it_goes_on(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.create(QUICK)
    monkeypatch.setattr(driver, "apply", _breaks)
    with lab.app.store.write() as tx:
        tx.add_input(f"{TEAM}#1", ev.IdleReported("ada#1"))
    lab.app.store.ring(["engine"])
    deadline = time.monotonic() + LIMIT_S
    while "a bug" not in str(status(lab.app)[0]["broken"]):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    monkeypatch.undo()
    lab.start("ada")
    [shown] = status(lab.app)
    assert not shown["broken"]


def _breaks(*_: object) -> None:
    raise RuntimeError("a bug")


def test_whoever_watches_takes_over_when_the_one_that_drives_dies(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.stop_driving()
    monkeypatch.setattr(resident, "_TAKE_OVER_S", 0.05)
    lab.create()
    ensure_driven(lab.app)
    other = engine_pid(lab.app.home)
    with driving(lab.app):
        os.kill(other, signal.SIGKILL)
        lab.start("ada")
        with open(f"{lab.app.home}/engine.lock") as file:
            assert int(file.read()) == os.getpid()


def test_a_stand_down_that_is_watched_outlives_its_engine(lab: Lab) -> None:
    lab.create(replace(QUICK, answer_timeout_s=5))  # long enough to be seen while it is asked
    lab.start("ada", "sleep 1000")
    lab.stop_driving()
    ensure_driven(lab.app)
    place = os.path.dirname(lab.app.home)
    down = [sys.executable, "-m", "headcount", "down", TEAM]
    with subprocess.Popen(down, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as watcher:
        lab.wait_state("ada#1", lambda m: m.state is State.ASKED)
        [driven] = status(lab.app)
        os.kill(engine_pid(lab.app.home), signal.SIGKILL)
        assert watcher.wait(LIMIT_S) == 0
    assert driven["driven"]
    assert lab.team().members["ada#1"].settled


def test_status_says_when_nobody_drives(lab: Lab) -> None:
    lab.create()
    lab.start("ada")
    assert "No engine runs" not in "\n".join(describe_team(*status(lab.app)))
    lab.stop_driving()
    assert "No engine runs" in "\n".join(describe_team(*status(lab.app)))
    lab.drive()


def test_an_engine_that_was_suspended_is_named_and_not_waited_for(lab: Lab) -> None:
    lab.create()
    lab.start("ada")
    lab.stop_driving()
    ensure_driven(lab.app)
    engine = engine_pid(lab.app.home)
    os.kill(engine, signal.SIGSTOP)
    try:
        while suspended_driver(lab.app.home) is None:
            os.sched_yield()
        assert f"kill -CONT {engine}" in "\n".join(describe_team(*status(lab.app)))
        place = os.path.dirname(lab.app.home)
        done = subprocess.run(
            [sys.executable, "-m", "headcount", "down", TEAM],
            cwd=place, capture_output=True, text=True, timeout=LIMIT_S,
        )  # fmt: skip
    finally:
        os.kill(engine, signal.SIGCONT)
    assert done.returncode == 4 and f"kill -CONT {engine}" in done.stderr
    answer = lab.ask()
    lab.approve(answer)
    assert lab.finish(answer)["status"] == "shutdown"


def test_an_engine_that_cannot_begin_says_why(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.stop_driving()

    def refuse(*_: Any, **__: Any) -> None:
        raise StoreError("The disk is full")

    monkeypatch.setattr(adapters, "make_world", refuse)
    with pytest.raises(StoreError, match="The disk is full"), driving(lab.app):
        pytest.fail("nobody drives")
    assert not is_driven(lab.app.home)


def test_a_store_that_cannot_be_read_delays_the_recovery_and_nothing_else(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.create(QUICK)
    lab.start("ada", "sleep 1000")
    lab.stop_driving()
    recover, failures = Driver._recover, iter(range(2))

    def busy(self: Driver) -> None:
        if next(failures, None) is not None:
            raise StoreError("Could not read the teams", "the database is locked")
        recover(self)

    monkeypatch.setattr(Driver, "_recover", busy)
    monkeypatch.setattr(driver, "STORE_RETRY_S", 0.01)
    lab.drive()
    lab.ask(force=True)
    lab.wait_state("ada#1", lambda m: m.settled)


def test_leaving_ends_it_also_while_no_engine_can_begin(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.stop_driving()
    monkeypatch.setattr(resident, "_TAKE_OVER_S", 0.01)
    make, refused = adapters.make_world, threading.Event()

    def refuse(*_: Any, **__: Any) -> None:
        refused.set()
        raise StoreError("The disk is full")

    def breaks(*_: Any) -> None:
        monkeypatch.setattr(adapters, "make_world", refuse)
        raise RuntimeError("a bug")

    with driving(lab.app):
        monkeypatch.setattr(Driver, "turn", breaks)
        lab.app.store.ring(["engine"])
        assert refused.wait(LIMIT_S)
    assert not is_driven(lab.app.home)
    monkeypatch.setattr(adapters, "make_world", make)


def test_two_who_watch_do_not_both_drive(lab: Lab) -> None:
    with driving(lab.app), drive_lock(lab.app.home) as mine:
        assert not mine
