"""Somebody drives for as long as anybody watches: an engine that ends is followed by another."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import pytest

from headcount.app import resident
from headcount.app.resident import drive_lock, driving, ensure_driven, is_driven
from headcount.engine.engine import Engine
from headcount.errors import StoreError

from .lab import Lab


def test_an_engine_that_a_bug_ends_is_followed_by_one_that_goes_on(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.create()
    turn, broken = Engine._turn, threading.Event()

    def breaks_once(self: Engine, items: Any) -> None:
        if items and not broken.is_set():
            broken.set()
            raise RuntimeError("a bug")
        turn(self, items)

    monkeypatch.setattr(Engine, "_turn", breaks_once)
    lab.start("ada")
    assert broken.is_set()
    assert lab.ask()["status"] != "rejected"
    lab.wait_state("ada#1", lambda m: m.settled)


def test_whoever_watches_takes_over_when_the_one_that_drives_dies(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.stop_driving()
    monkeypatch.setattr(resident, "_TAKE_OVER_S", 0.05)
    lab.create()
    ensure_driven(lab.app)
    with open(f"{lab.app.home}/engine.lock") as file:
        other = int(file.read())
    with driving(lab.app):
        assert other != os.getpid()
        os.kill(other, signal.SIGKILL)
        lab.start("ada")
        with open(f"{lab.app.home}/engine.lock") as file:
            assert int(file.read()) == os.getpid()


def test_an_engine_that_cannot_begin_says_why(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.stop_driving()

    def refuse(*_: Any, **__: Any) -> None:
        raise StoreError("Could not take the lease", "the disk is full")

    monkeypatch.setattr(lab.app.store, "take_lease", refuse)
    with pytest.raises(StoreError, match="take the lease"), driving(lab.app):
        pytest.fail("nobody drives")
    assert not is_driven(lab.app.home)


def test_a_store_that_cannot_be_read_delays_the_recovery_and_nothing_else(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.create()
    lab.start("ada", "sleep 1000")
    lab.stop_driving()
    load, failures = Engine._load_all, iter(range(2))

    def busy(self: Engine) -> None:
        if next(failures, None) is not None:
            raise StoreError("Could not read the teams", "the database is locked")
        load(self)

    monkeypatch.setattr(Engine, "_load_all", busy)
    monkeypatch.setattr("headcount.engine.engine._STORE_RETRY_S", 0.01)
    lab.drive()
    lab.ask(force=True)
    lab.wait_state("ada#1", lambda m: m.settled)


def test_two_who_watch_do_not_both_drive(lab: Lab) -> None:
    with driving(lab.app), drive_lock(lab.app.home) as mine:
        assert not mine
