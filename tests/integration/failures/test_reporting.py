"""Group E on the real engine: what is told is what is."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from engine.lab import PATIENT, QUICK, TEAM, Lab, git

from headcount.app import tasks
from headcount.app.adapters import LocalFiles, make_world
from headcount.app.app import open_app
from headcount.app.members import pause
from headcount.app.team_status import status
from headcount.app.teams import create_team
from headcount.domain.checklist import VERIFICATION
from headcount.engine.job import Job
from headcount.engine.run_acts import run_gate
from headcount.errors import Declined, UsageError
from headcount.protocol import events as ev
from headcount.protocol import phase_events as pe
from headcount.protocol.effects import Act, ActKind
from headcount.protocol.member import State
from headcount.runtime.worker_pool import WorkerPool

from .members import APPROVES, DIRTY, record_of, start

ID = f"{TEAM}#1"


def test_E1_a_live_member_is_shown_although_its_name_was_used_before(lab: Lab) -> None:
    lab.create()
    start(lab, "ada")
    answer = lab.ask("ada")
    lab.approve(answer, "ada")
    lab.finish(answer)
    lab.start("ada")
    shown = status(lab.app, TEAM)[0]["members"]
    assert [(m["name"], m["generation"], m["state"]) for m in shown] == [
        ("ada", 1, "gone"),
        ("ada", 2, "running"),
    ]


@pytest.mark.usefixtures("runtime")
def test_E2_pause_reaches_the_processes_and_says_so_when_they_stand_still(lab: Lab) -> None:
    lab.create()
    start(lab, "ada")
    pid = record_of(lab, "ada#1")[1]["pid"]
    answer = pause(lab.app, "ada", TEAM)
    assert answer["confirmed"] is True
    assert _state(pid) == "T"
    assert pause(lab.app, "ada", TEAM, resume=True)["confirmed"] is True
    assert _state(pid) != "T"


@pytest.mark.usefixtures("runtime")
def test_E2_one_that_is_paused_is_continued_before_it_is_asked(lab: Lab) -> None:
    lab.create(PATIENT)
    start(lab, "ada", APPROVES)
    assert pause(lab.app, "ada", TEAM)["confirmed"] is True
    [member] = lab.finish(lab.ask())["members"]
    assert (member["answer"], member["outcome"]) == ("approved", "clean")


def test_E7_one_more_than_may_be_alive_is_refused_and_has_a_place_when_one_is_gone(lab: Lab) -> None:
    lab.create(replace(PATIENT, max_members=2))
    start(lab, "ada", APPROVES)
    start(lab, "ben")
    with pytest.raises(Declined) as refused:
        lab.start("cy")
    assert (refused.value.code, "2" in refused.value.why) == ("too-many-members", True)
    assert sorted(lab.team().members) == ["ada#1", "ben#1"]
    assert lab.finish(lab.ask("ada"))["status"] == "shutdown"
    start(lab, "cy")


def test_E7_one_task_more_than_a_team_may_have_is_refused(lab: Lab) -> None:
    Path(lab.app.root, "headcount.toml").write_text("[limits]\ntasks = 2\n")
    app = open_app(lab.app.root, {})
    try:
        create_team(app, "few")
        for _ in range(2):
            tasks.create(app, "one of two", team="few")
        with pytest.raises(Declined) as refused:
            tasks.create(app, "one too many", team="few")
        assert (refused.value.code, "2" in refused.value.why) == ("too-many-tasks", True)
        assert len(tasks.list_tasks(app, team="few")) == 2
    finally:
        app.close()


def test_E8_a_stand_down_that_is_refused_has_asked_nobody(lab: Lab) -> None:
    lab.create()
    start(lab, "ada")
    with pytest.raises(UsageError) as unknown:
        lab.ask("ada", "nobody")
    assert unknown.value.code == "unknown-member"
    assert lab.team().members["ada#1"].state is State.RUNNING
    with lab.app.store.read() as tx:
        assert tx.inbox(ID, ["ada#1"]) == []


def test_E8_force_closes_a_dirty_team_and_leaves_a_list_of_what_was_there(lab: Lab) -> None:
    lab.create()
    start(lab, "ada", DIRTY)
    answer = lab.ask(force=True)
    lab.approve(answer)
    answer = lab.finish(answer)
    assert answer["deleted"] is True
    receipt = json.loads(Path(f"{answer['archive']}/receipt.json").read_text())
    assert receipt["members"][0]["salvage"][0]["ref"] == answer["members"][0]["salvage"]
    assert "new.txt" in json.dumps(receipt["members"][0]["history"])
    assert receipt["request"] == answer["requestId"]


@pytest.mark.usefixtures("runtime")
def test_E9_an_escalation_is_mailed_once_however_often_somebody_asks(lab: Lab) -> None:
    lab.create(replace(QUICK, nudge_timeout_s=0.1))
    start(lab, "ada", DIRTY)
    answer = lab.finish(lab.ask())
    assert answer["status"] == "escalated"
    for _ in range(20):
        assert lab.finish(lab.ask())["status"] == "escalated"
    lab.stop_driving()
    lab.drive()
    with lab.app.store.read() as tx:
        mails = [m for m in tx.inbox(ID, ["lead"]) if m.template == "WORKER_ESCALATION"]
    assert len(mails) == 1
    lab.say(ev.Decided(answer["escalations"][0]["id"], "force-kill"))
    assert lab.finish(lab.ask())["status"] == "shutdown"


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_C8_a_file_for_others_is_the_old_one_or_the_new_one(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{lab.app.home}/state.json"
    LocalFiles().write(path, b"old")

    def power_cut(_: int) -> None:
        raise OSError("no power")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="no power"):
        patched.setattr(os, "fsync", power_cut)
        LocalFiles().write(path, b"new, but")
    assert Path(path).read_text() == "old"


@pytest.mark.parametrize(
    ("command", "verdict"),
    [("no-such-linter --strict", "not_run"), ("exit 3", "failed"), ("test -f README", "passed")],
)
def test_E3_a_gate_whose_tool_is_missing_has_not_passed(lab: Lab, command: str, verdict: str) -> None:
    lab.create()
    world = make_world(lab.app, WorkerPool(1))
    data: dict[str, object] = {"tag": VERIFICATION, "branch": "main", "gates": {"verify": command}}
    outcome = run_gate(Job(Act(ActKind.RUN_GATE, "", 1, data), lab.team(), QUICK, world))
    ended = outcome.events[0]
    assert isinstance(ended, pe.GateEnded)
    assert (ended.verdict, command in ended.evidence) == (verdict, True)
    assert git(lab.app.root, "worktree", "list").count("\n") == 1
