"""Somebody cleans the repository while a team runs: it goes on, and is brought home as ever."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from headcount.app import engine_loop
from headcount.app.adapters import make_runtimes
from headcount.app.app import open_app
from headcount.app.resident import drive, driving
from headcount.app.sweep import sweep
from headcount.errors import StoreError
from headcount.protocol import events as ev
from headcount.protocol.member import State
from headcount.runtime.processes import read_process
from headcount.store.database import connect
from headcount.store.sqlite import SqliteStore
from tests.support.store_suite import make_team

from .lab import LIMIT_S, QUICK, TEAM, Lab


def test_a_team_whose_state_was_cleaned_away_goes_on(
    lab: Lab, runtime: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _look_often(lab, monkeypatch)
    lab.drive()
    lab.start("ada", "touch half.txt; sleep 1000 & wait")
    lab.wait_file("ada#1", "half.txt")
    # It may meet what is put back already, and say so.
    subprocess.run(["git", "-C", lab.app.root, "clean", "-fdxq"], check=False)
    lab.wait_flag("id")  # the last that is put back
    lab.finish(lab.ask(force=True))
    member = lab.team().members["ada#1"]
    assert member.settled and member.refs
    with lab.app.store.read() as tx:
        proof = tx.fact(f"{TEAM}#1", "ada#1", "proof")
    assert proof is not None and proof["empty"] and not proof["doubt"]
    assert lab.journal("state_put_back")
    assert lab.marked() == []


def test_an_engine_in_whose_place_another_state_has_begun_leaves_and_its_members_are_swept(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    _look_often(lab, monkeypatch)
    engine = _start_engine(lab.app.root)
    lab.start("ada", "touch half.txt; sleep 1000 & wait")
    lab.wait_file("ada#1", "half.txt")
    _replace(lab.app.home)
    engine.join(LIMIT_S)
    assert not engine.is_alive()
    new = open_app(lab.app.root, {})
    with driving(new):
        (ended,) = sweep(new)["ended"]
    assert ended["salvage"] and ended["gone"] and ended["removed"], ended
    new.close()


def test_a_repository_that_was_moved_is_not_made_anew_in_its_old_place(lab: Lab) -> None:
    lab.create(QUICK)
    lab.start("ada")
    root, moved = Path(lab.app.root), Path(f"{lab.app.root}-moved")
    root.rename(moved)
    lab.say(ev.DoneSignalled("ada#1"))
    lab.wait_state("ada#1", lambda m: m.state is not State.RUNNING)
    assert not root.exists()
    moved.rename(root)
    assert lab.finish(lab.ask(force=True))["status"] == "shutdown"


def test_who_works_in_a_repository_that_was_removed_as_a_whole_is_ended(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    _look_often(lab, monkeypatch)
    engine = _start_engine(lab.app.root)
    lab.start("ada", "trap '' TERM; sleep 1000 & wait; wait")
    pids = [process.pid for process in make_runtimes(lab.app)["plain"].list_marked().popitem()[1]]
    Path(lab.app.root).rename(f"{lab.app.root}-old")
    shutil.rmtree(f"{lab.app.root}-old")
    engine.join(LIMIT_S)
    assert not engine.is_alive()
    assert not [pid for pid in pids if (found := read_process(pid)) is not None and not found.dead]
    os.makedirs(lab.app.home)  # where whatever a failed test left is looked for


def _look_often(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before an engine begins that is to notice soon."""
    lab.stop_driving()
    monkeypatch.setattr(engine_loop, "_RING_CHECK_S", 0.5)
    lab.create(QUICK)


def _start_engine(root: str) -> threading.Thread:
    """One that leaves by itself; in the end there may be no state to look into."""

    def run() -> None:
        with contextlib.suppress(StoreError):
            drive(open_app(root, {}))

    engine = threading.Thread(target=run, daemon=True)
    engine.start()
    return engine


def _replace(home: str) -> None:
    """At once: when the old database is removed, the new one is there already."""
    store = SqliteStore(f"{home}.new")
    with store.write() as tx:
        make_team(tx, "other")
    store.close()
    db = connect(f"{home}.new/state.db")
    assert db.execute("pragma wal_checkpoint(truncate)").fetchone() == (0, 0, 0)
    db.close()
    for name in ("state.db-wal", "state.db-shm", "engine.lock", "id"):
        os.unlink(f"{home}/{name}")
    os.replace(f"{home}.new/state.db", f"{home}/state.db")
