"""A database that version 0.1 wrote is read, and its team goes on by the rules of today."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from headcount.domain.policy import Policy
from headcount.engine.apply import apply
from headcount.protocol import events as ev
from headcount.protocol.member import Activity, State
from headcount.protocol.team import CLOSE_STEPS, Status, Team
from headcount.store import open_store

_DUMP = Path(__file__).with_name("state-0.1.sql")
_APPLICATION, _VERSION = 1212370516, 1


def _older_state(directory: Path) -> Path:
    with sqlite3.connect(directory / "state.db") as db:
        db.executescript(_DUMP.read_text(encoding="utf-8"))
        db.execute(f"pragma application_id = {_APPLICATION}")
        db.execute(f"pragma user_version = {_VERSION}")
    db.close()
    return directory


def _next(team: Team) -> ev.Event | None:
    """What the world reports when nothing goes wrong and every process is dead."""
    for member in team.members.values():
        key, epoch = member.key, member.epoch
        if member.live and not member.exited:
            return ev.Exited(key, "signal 9")
        match member.state:
            case State.SALVAGING:
                return ev.Saved(key, epoch, f"refs/headcount/salvage/crew/{member.name}/1", "c1", 1)
            case State.STOPPING | State.KILLING:
                return ev.TreeEmpty(key, "reboot+mark")
            case State.GONE if not member.settled:
                return ev.LastRead(key, epoch, True)
    if team.close_step is not None:
        return ev.StepEnded(team.close_step, team.close_epoch, True)
    return None


def test_the_run_of_an_older_version_is_read_with_its_crew_and_stood_down(tmp_path: Path) -> None:
    store = open_store(str(_older_state(tmp_path)))
    with store.read() as tx:
        team = tx.load_team("crew")
    assert team is not None and team.run is not None
    assert team.run.crew.workers == ("ada",)
    assert team.run.crew.reviewers == (("spec-reviewer", "spec"),)
    assert team.run.crew.integration == "headcount/crew/integration"
    assert {m.key: m.activity for m in team.members.values()} == {
        "ada#1": Activity.WORKING,
        "spec#1": Activity.WORKING,
    }
    steps: list[ev.Event] = [ev.StandDown("r1", None, "upgrade")]
    with store.write() as tx:
        for _ in range(40):
            team = apply(tx, team, steps, Policy(), lambda *_: {"mark": ""}).team
            following = _next(team)
            if following is None:
                break
            steps = [following]
    with store.read() as tx:
        stored = tx.load_team("crew")
        closed = [e.data["step"] for e in tx.journal(team.id, kinds=("close_step",))]
    assert stored is not None
    assert (stored.status, closed) == (Status.SHUTDOWN, list(CLOSE_STEPS))
    assert {m.key: m.outcome for m in stored.members.values()} == {
        "ada#1": "salvaged",
        "spec#1": "salvaged",
    }
    assert stored.run is not None and stored.run.state == "blocked"
    store.close()
