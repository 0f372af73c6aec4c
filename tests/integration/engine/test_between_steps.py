"""What happens between two steps: a crash, a second word, a look at the wrong moment."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headcount.app import resident
from headcount.app.adapters import find_repository
from headcount.app.caller import Caller
from headcount.app.engine_loop import Engine
from headcount.app.lock import is_driven
from headcount.app.resident import drive, ensure_driven
from headcount.app.sweep import sweep
from headcount.app.teams import create_team
from headcount.engine.apply import apply
from headcount.engine.state_files import StateFiles
from headcount.protocol import events as ev
from headcount.protocol.member import State
from headcount.runtime.plain import PlainRuntime
from headcount.runtime.processes import read_process
from headcount.workspace.git_workspaces import EngineWorkspaces
from headcount.workspace.worktrees import Workspaces

from .lab import LIMIT_S, PATIENT, POLITE, QUICK, TEAM, Lab


def test_who_is_resumed_and_asked_at_once_is_awake_to_answer(lab: Lab) -> None:
    lab.create()
    lab.start("bob")
    lab.say(ev.Paused("bob#1"))
    _wait_note(lab, "processes_paused")
    lab.say(ev.Resumed("bob#1"), ev.StandDown("r1", None, "enough"))
    _wait_note(lab, "processes_resumed", PATIENT.answer_timeout_s / 2)  # sooner than that is over


def test_who_is_started_while_sweep_looks_is_nobodys_orphan(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.create()
    look = PlainRuntime.list_marked

    def look_late(self: PlainRuntime) -> Any:
        if not lab.team().members:
            lab.start("bob")
        return look(self)

    monkeypatch.setattr(PlainRuntime, "list_marked", look_late)
    assert sweep(lab.app)["ended"] == []
    assert lab.team().members["bob#1"].state is State.RUNNING


def test_a_workspace_of_a_start_in_flight_is_not_swept(lab: Lab) -> None:
    lab.stop_driving()
    lab.create()
    lab.say(ev.Spawn("bob"))
    made = Workspaces(find_repository(lab.app), f"{lab.app.home}/worktrees").create(TEAM, "bob", 1)
    assert os.path.isdir(made.path)
    assert sweep(lab.app, dry_run=True)["orphans"] == []


def test_a_mirror_that_cannot_be_written_stops_nobody(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(StateFiles, "write", full)
    lab.create()
    lab.start("bob", "exit 0")
    lab.wait_state("bob#1", lambda m: m.settled)


def test_what_breaks_about_one_team_stops_no_other(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    create_team(lab.app, "broken")

    def break_one(tx: Any, team: Any, *more: Any) -> Any:
        if team.name == "broken":
            raise KeyError("a bug")
        return apply(tx, team, *more)

    monkeypatch.setattr("headcount.engine.driver.apply", break_one)
    lab.create()
    lab.start("bob", "exit 0")
    lab.wait_state("bob#1", lambda m: m.settled)


def test_an_engine_that_cannot_be_rung_drives_all_the_same(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.stop_driving()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(lab.app.store, "listen", full)
    lab.create()
    lab.drive()
    lab.start("bob", "exit 0")
    lab.wait_state("bob#1", lambda m: m.settled)


def test_a_team_made_while_the_engine_leaves_is_driven(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.stop_driving()
    runs: list[Engine] = []

    def run(self: Engine, until: Any) -> None:
        runs.append(self)
        if len(runs) == 1:
            assert is_driven(lab.app.home)
            lab.create()

    monkeypatch.setattr(Engine, "run", run)
    # The second is not idle: it was stopped, and did not end by itself.
    monkeypatch.setattr(Engine, "idle", property(lambda _: len(runs) == 1))
    assert drive(lab.app)
    assert len(runs) == 2


def test_who_only_looks_is_not_taken_for_a_driver(lab: Lab) -> None:
    lab.stop_driving()
    with open(f"{lab.app.home}/engine.lock") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        assert not is_driven(lab.app.home)
        fcntl.flock(file, fcntl.LOCK_EX)
        assert is_driven(lab.app.home)


def test_no_engine_is_started_inside_a_member(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.stop_driving()
    monkeypatch.setattr(resident, "_start_resident", lambda _: pytest.fail("an engine of a member's own"))
    lab.app.caller = Caller("lead", "ann#1", f"{TEAM}#1")
    ensure_driven(lab.app)


def test_a_notification_that_hangs_delays_nobodys_salvage(lab: Lab) -> None:
    heard = f"{lab.app.home}/heard"
    hangs = ("sh", "-c", f"until [ -e {heard} ]; do sleep 0.05; done")
    lab.create(replace(QUICK, notify=hangs, on_escalation="force-kill", max_attempts=1))
    lab.start("bob", f"echo precious > draft; touch $HEADCOUNT_HOME/up; {POLITE}")
    lab.wait_flag("up")
    lab.say(ev.DoneSignalled("bob#1"))
    assert lab.wait_state("bob#1", lambda m: m.settled).refs
    assert lab.journal("notified") == [], "it hangs still"
    Path(heard).touch()
    _wait_note(lab, "notified")


def test_a_removal_that_hangs_does_not_cost_the_archive(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    monkeypatch.setattr(EngineWorkspaces, "remove", lambda *_: released.wait(30) and None)
    lab.create(replace(QUICK, finalizer_timeout_s=1, salvage_timeout_s=4))
    lab.start("bob", "exit 0")
    answer = lab.finish(lab.ask())
    released.set()
    assert answer["status"] == "shutdown" and not answer["deleted"]
    assert os.path.exists(f"{lab.app.home}/archive/{TEAM}-1/receipt.json")


def test_a_finalizer_that_takes_too_long_is_ended_with_what_it_started(lab: Lab) -> None:
    lab.create(replace(QUICK, finalizer_timeout_s=4, cleanup_retries=0))
    pid = f"{lab.app.home}/pid"
    lab.start("bob", "exit 0", finalizers=(("sh", "-c", f"sleep 1000 & echo $! > {pid}; wait"),))
    assert lab.finish(lab.ask())["status"] == "shutdown"
    started = int(Path(pid).read_text())
    deadline = time.monotonic() + LIMIT_S  # the step's limit may be over a moment before the command's
    while (process := read_process(started, with_mark=False)) is not None and not process.dead:
        assert time.monotonic() < deadline, process
        time.sleep(0.01)


def _wait_note(lab: Lab, kind: str, limit_s: float = LIMIT_S) -> None:
    deadline = time.monotonic() + limit_s
    while not lab.journal(kind):
        assert time.monotonic() < deadline, f"no {kind}"
        time.sleep(0.01)
