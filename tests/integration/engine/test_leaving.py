"""An engine that leaves although something hangs: nobody acts beside it. One that only stops waits for it."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from headcount.app.lock import drive_lock, is_driven
from headcount.app.resident import driving
from headcount.protocol.member import State
from headcount.workspace.git_workspaces import EngineWorkspaces

from .lab import Lab


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A workspace whose disk answers nobody, until `let_go`."""
    hangs, let_go = threading.Event(), threading.Event()
    read = EngineWorkspaces.read

    def hang(self: EngineWorkspaces, *words: Any) -> Any:
        hangs.set()
        let_go.wait(60)
        return read(self, *words)

    monkeypatch.setattr(EngineWorkspaces, "read", hang)
    yield hangs, let_go
    let_go.set()


def test_whoever_leaves_while_something_hangs_keeps_the_lock_for_as_long_as_the_process_lives(
    lab: Lab, hanging: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs, let_go = hanging
    monkeypatch.setattr("headcount.app.engine_loop._LEAVE_S", 0.05)
    lab.stop_driving()
    lab.create()
    with pytest.raises(KeyboardInterrupt), driving(lab.app):
        lab.start("ada")
        lab.approve(lab.ask())
        assert hangs.wait(60)
        raise KeyboardInterrupt
    with drive_lock(lab.app.home) as lock:
        assert lock is None
    let_go.set()
    assert is_driven(lab.app.home)
    assert lab.team().members["ada#1"].state is State.INSPECTING, "and nothing of it was written any more"


def test_whoever_only_stops_lets_what_is_under_way_finish(lab: Lab, hanging: Any) -> None:
    hangs, let_go = hanging
    lab.create()
    lab.start("ada")
    lab.approve(lab.ask())
    assert hangs.wait(60)
    stopped = threading.Event()
    threading.Thread(target=lambda: (lab.stop_driving(), stopped.set())).start()
    assert not stopped.wait(0.5)
    let_go.set()
    assert stopped.wait(60)
    assert not is_driven(lab.app.home)
    lab.drive()
    lab.wait_state("ada#1", lambda m: m.settled)
