"""Group D on the real engine: it dies, it comes back, and looks before it believes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from engine.lab import LIMIT_S, PATIENT, QUICK, TEAM, Lab, git

from headcount.app import tasks
from headcount.app.adapters import make_runtimes
from headcount.app.cycle import cycle
from headcount.app.member_start import Plan
from headcount.app.standing_down import status_of
from headcount.app.sweep import sweep
from headcount.app.team_status import status
from headcount.app.teams import create_team, spawn
from headcount.errors import Declined, StoreError, UsageError, WorldError
from headcount.ports import SpawnSpec
from headcount.protocol import events as ev
from headcount.protocol.member import State
from headcount.runtime.mark import new_mark, state_id
from headcount.runtime.plain import PlainRuntime
from headcount.runtime.proof import Proof
from headcount.store.sqlite import SqliteStore

from .members import (
    DIRTY,
    QUIET,
    READY,
    STUBBORN,
    WAIT,
    headcount,
    kill_agent,
    raise_flag,
    record_of,
    start,
    tell,
    told,
    until,
)

ID = f"{TEAM}#1"


def test_D1_a_stand_down_that_is_under_way_goes_on_under_the_next_engine(lab: Lab) -> None:
    lab.create(PATIENT)
    start(lab, "ada")
    start(lab, "ben", DIRTY)
    answer = lab.ask(force=True)
    lab.say(ev.Answered("ada#1", answer["requestId"], True))
    lab.stop_driving()
    with lab.app.store.write() as tx:
        tx.add_input(ID, ev.Answered("ben#1", answer["requestId"], True))
    assert status_of(lab.app, TEAM)["pendingApprovals"] == ["ben"]
    lab.drive()
    answer = lab.finish(answer)
    assert [(m["answer"], m["outcome"]) for m in answer["members"]] == [
        ("approved", "clean"),
        ("approved", "forced"),
    ]


def test_D2_one_that_was_killed_while_nobody_looked_is_found_dead(lab: Lab) -> None:
    lab.create()
    start(lab, "ada", DIRTY)
    lab.stop_driving()
    kill_agent(lab, "ada#1")
    lab.drive()
    member = lab.wait_state("ada#1", lambda m: m.settled)
    assert (member.outcome, len(member.refs)) == ("already_gone", 1)


def test_D3_in_a_terminal_the_agent_s_own_end_is_what_counts(lab: Lab) -> None:
    """The agent is a child of the shell in the pane's place; a helper of it keeps the terminal open."""
    lab.create()
    start(lab, "ada", f"sleep 1000 & disown; {QUIET.partition(';')[0]}; sleep 1000", runtime="tmux")
    kill_agent(lab, "ada#1")
    member = lab.wait_state("ada#1", lambda m: m.settled)
    assert member.exited
    assert lab.marked() == []


@pytest.mark.usefixtures("runtime")
def test_D4_one_that_hangs_is_shown_as_stalled_and_nudged_once(lab: Lab) -> None:
    lab.create(replace(QUICK, stall_timeout_s=0.5))
    start(lab, "ada")
    lab.wait_state("ada#1", lambda m: m.activity == "stalled")
    time.sleep(1.2)  # two more such times pass: nothing more may happen
    assert status(lab.app, TEAM)[0]["members"][0]["activity"] == "stalled"
    assert len([e for e in lab.journal("moved") if e.data["cue"] == "stalled"]) == 1
    with lab.app.store.read() as tx:
        assert [m.subject for m in tx.inbox(ID, ["ada#1"])] == ["No sign of progress"]
    assert lab.team().members["ada#1"].state is State.RUNNING


@pytest.mark.usefixtures("runtime")
def test_D5_a_done_signal_of_the_last_generation_ends_nothing(lab: Lab) -> None:
    lab.create()
    mine = '"$HEADCOUNT_HOME/mine"'
    start(lab, "ada", f"export -p > {mine}; {QUIET}")
    kill_agent(lab, "ada#1")
    lab.wait_state("ada#1", lambda m: m.settled)
    start(lab, "ada", f"{tell(f'(. {mine}; headcount done)', 'stale')}; {QUIET}")
    said, code = told(lab, "stale")
    assert (code, "ada" in said) == (5, True), said
    with lab.app.store.write() as tx:  # and one that had been said, and not yet heard
        tx.add_input(ID, ev.DoneSignalled("ada#1"))
    lab.say()
    assert lab.team().members["ada#2"].state is State.RUNNING
    assert lab.team().members["ada#2"].attempts == 0


@pytest.mark.usefixtures("runtime")
def test_D8_the_task_of_a_dead_member_can_be_claimed_again_and_its_work_is_saved(lab: Lab) -> None:
    lab.create()
    tasks.create(lab.app, "all of it", team=TEAM)
    start(lab, "ada", f"headcount task claim; {DIRTY}")
    start(lab, "ben", f"{READY}; {until('gone')}; {tell('headcount task claim', 'claim')}; {WAIT}")
    kill_agent(lab, "ada#1")
    member = lab.wait_state("ada#1", lambda m: m.settled)
    raise_flag(lab, "gone")
    assert told(lab, "claim")[1] == 0
    assert git(lab.app.root, "ls-tree", "-r", "--name-only", member.refs[0]).count("new.txt") == 1
    assert [t.owner for t in tasks.list_tasks(lab.app, team=TEAM)] == ["ben#1"]


def test_D9_an_observer_that_was_away_reads_what_it_missed(lab: Lab) -> None:
    lab.create()
    start(lab, "ada")
    with lab.app.store.read() as tx:
        seen = tx.recent(ID, 1)[-1].seq
    answer = lab.ask()
    lab.approve(answer)
    lab.finish(answer)
    with lab.app.store.read() as tx:
        missed = tx.journal(ID, after=seen)
    assert [e.seq for e in missed] == sorted({e.seq for e in missed})
    assert [e.kind for e in missed if e.kind in ("stand_down", "answered", "gone", "shutdown")] == [
        "stand_down", "answered", "gone", "shutdown",
    ]  # fmt: skip


def test_D10_after_a_reboot_members_are_lost_and_their_work_is_saved(lab: Lab) -> None:
    lab.create()
    start(lab, "ada", DIRTY)
    lab.stop_driving()
    path, record = record_of(lab, "ada#1")
    for pid in (record["pid"], record["keeper"]):
        os.kill(pid, signal.SIGKILL)
    _wait_gone(lab)
    Path(path).write_text(json.dumps({**record, "boot": "of yesterday"}))
    lab.drive()
    member = lab.wait_state("ada#1", lambda m: m.settled)
    assert (member.outcome, len(member.refs)) == ("already_gone", 1)
    assert lab.start("ada").generation == 2


def test_D10_members_whose_tmux_server_is_gone_are_lost_and_saved(lab: Lab) -> None:
    lab.create()
    start(lab, "ada", DIRTY, runtime="tmux")
    runtime = make_runtimes(lab.app)["tmux"]
    subprocess.run(["tmux", "-S", runtime.socket, "kill-server"], check=True)
    member = lab.wait_state("ada#1", lambda m: m.settled)
    assert len(member.refs) == 1
    assert lab.marked() == []


def test_D11_what_runs_unregistered_is_ended_by_sweep_and_nothing_else(lab: Lab) -> None:
    lab.create()
    start(lab, "ada")
    runtime = make_runtimes(lab.app)["plain"]
    mark = str(new_mark(state_id(lab.app.home), "forgotten", "bob", 1))
    runtime.start(SpawnSpec(mark, ("sleep", "1000"), lab.app.root, dict(os.environ)))
    found = sweep(lab.app, dry_run=True)
    assert [o["mark"] for o in found["orphans"]] == [mark]
    ended = sweep(lab.app)["ended"]
    assert [(o["mark"], o["gone"]) for o in ended] == [(mark, True)]
    assert lab.team().members["ada#1"].state is State.RUNNING
    assert all("ada" in line for line in lab.marked())
    runtime.close()


def test_what_sweep_ends_is_proved_gone_although_other_members_have_keepers(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their keepers run below the same process, and must not be taken for something that it left."""
    lab.create()
    start(lab, "ada")
    with_ada = make_runtimes(lab.app)["plain"]
    marks = [str(new_mark(state_id(lab.app.home), "forgotten", name, 1)) for name in ("bob", "cy")]
    for mark in marks:
        with_ada.start(SpawnSpec(mark, ("sleep", "1000"), lab.app.root, dict(os.environ)))
    proofs: list[Proof] = []
    stop = PlainRuntime.stop

    def watched(runtime: PlainRuntime, *words: Any) -> Proof:
        proofs.append(stop(runtime, *words))
        return proofs[-1]

    monkeypatch.setattr(PlainRuntime, "stop", watched)
    assert sorted(o["mark"] for o in sweep(lab.app)["ended"]) == sorted(marks)
    assert [(proof.empty, proof.doubt) for proof in proofs] == [(True, "")] * 2
    with_ada.close()


def test_D12_no_other_program_is_started_in_the_place_of_one_that_is_missing(lab: Lab) -> None:
    with pytest.raises(UsageError) as unknown:
        create_team(lab.app, TEAM, agent="gpt-of-tomorrow")
    assert unknown.value.code == "unknown-agent"
    lab.create()
    member = spawn(lab.app, TEAM, Plan("ada", command=("no-such-agent",)))
    failed = lab.wait_state(member.key, lambda m: m.settled)
    assert "no-such-agent" in failed.failure
    assert lab.marked() == []
    start(lab, "ben", "exec -a really-sleep sleep 1000 &" + QUIET)
    pid = record_of(lab, "ben#1")[1]["pid"]
    assert Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0] == b"bash"


def test_D12_a_client_that_is_missing_is_not_stood_in_for_by_one_that_is_here(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "claude").write_text(f"#!/bin/sh\ntouch {tmp_path}/started\necho '99.0.0 (Claude Code)'\n")
    (tmp_path / "claude").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    lab.create()
    with pytest.raises(WorldError) as refused:
        spawn(lab.app, TEAM, Plan("ada", agent="codex"))
    assert (refused.value.code, "Codex" in refused.value.what) == ("client-missing", True)
    assert (lab.team().members, lab.marked()) == ({}, [])
    assert not (tmp_path / "started").exists()


def test_D13_nothing_is_started_while_the_team_is_stood_down(lab: Lab) -> None:
    lab.create(replace(PATIENT, stop_grace_s=6))
    start(lab, "ada", STUBBORN)
    answer = lab.ask()
    lab.approve(answer)
    with pytest.raises(Declined) as refused:
        spawn(lab.app, TEAM, Plan("ada", command=("true",)))
    assert refused.value.code == "draining"
    with suppress(Declined):
        cycle(lab.app, "ada")  # may join the stand-down, but nobody comes after it
    assert lab.finish(answer)["status"] == "shutdown"
    assert list(lab.team().members) == ["ada#1"]


def test_F18_without_a_full_proof_the_team_closes_with_a_warning_and_exit_code_1(lab: Lab) -> None:
    lab.create(replace(QUICK, containment="subreaper"))
    start(lab, "ada", STUBBORN)
    team_id = lab.team().id
    with lab.app.store.read() as tx:
        process = tx.fact(team_id, "ada#1", "process")
    assert process is not None
    for pid in (process["above"][0], process["keeper"]):
        os.kill(pid, signal.SIGKILL)
    answer = headcount(lab, "down", TEAM, "--force", code=1)
    assert (answer["status"], answer["unproved"]) == ("shutdown", ["ada"])
    (warning,) = answer["warnings"]
    assert warning.startswith(
        "ada was proved gone by mark only: its keeper and the process above it were killed"
    )
    receipt = json.loads(Path(f"{answer['archive']}/receipt.json").read_text())
    assert receipt["warnings"] == [warning]
    assert lab.marked() == []


def test_D14_what_survives_is_named_with_exit_code_1_and_asking_again_goes_on(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.create(QUICK)
    start(lab, "ada", STUBBORN)
    monkeypatch.setattr("headcount.runtime.tree.send_signal", lambda *_: False)  # as if the kernel were deaf
    monkeypatch.setattr("headcount.runtime.tree.Cgroup.kill", lambda _: None)
    stuck = headcount(lab, "down", TEAM, "--force", code=1)
    assert stuck["status"] == "stuck"
    assert any("bash" in name for name in stuck["alive"]["ada"])
    assert stuck["deleted"] is False
    monkeypatch.undo()
    assert headcount(lab, "down", TEAM)["status"] == "shutdown"
    assert lab.marked() == []


def test_an_engine_whose_disk_was_full_goes_on_where_it_was(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.create()
    start(lab, "ada")
    answer = lab.ask()
    full = {"left": 3}
    write = SqliteStore.write

    def refusing(store: SqliteStore, fence: Any = None, **named: Any) -> Any:
        if fence is not None and full["left"]:
            full["left"] -= 1
            raise StoreError("The state could not be written", "disk full", code="store-io")
        return write(store, fence, **named)

    monkeypatch.setattr(SqliteStore, "write", refusing)
    lab.approve(answer)
    assert lab.finish(answer)["status"] == "shutdown"
    assert full["left"] == 0


def test_a_word_whose_ring_was_lost_is_heard_all_the_same(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A member's command may be killed between its commit and its ring."""
    monkeypatch.setattr("headcount.app.engine_loop._RING_CHECK_S", 0.5)
    lab.stop_driving()
    lab.drive()
    lab.create(PATIENT)
    start(lab, "ada")
    answer = lab.ask()
    with lab.app.store.write() as tx:
        tx.add_input(ID, ev.Answered("ada#1", answer["requestId"], True))
    answer = lab.finish(answer)
    assert (answer["status"], answer["members"][0]["answer"]) == ("shutdown", "approved")


def _wait_gone(lab: Lab) -> None:
    deadline = time.monotonic() + LIMIT_S
    while lab.marked():
        for line in make_runtimes(lab.app)["plain"].list_marked().values():
            for process in line:
                with suppress(ProcessLookupError):  # it has just ended
                    os.kill(process.pid, signal.SIGKILL)
        assert time.monotonic() < deadline
        time.sleep(0.02)
