"""Groups B and C on the real engine: races with an end, and what must not be lost in it."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from engine.lab import LIMIT_S, PATIENT, TEAM, Lab, git

from headcount.app import tasks
from headcount.app.app import open_app
from headcount.app.lock import is_driven
from headcount.app.mail import send
from headcount.app.member_start import Plan
from headcount.app.place import this_place
from headcount.app.resident import driving
from headcount.app.salvages import restore_saved
from headcount.app.team_start import wait_for
from headcount.app.team_status import status
from headcount.app.teams import spawn
from headcount.engine.leases import lease_of
from headcount.errors import Declined, FencedOut, HeadcountError
from headcount.ports import Task
from headcount.protocol import events as ev
from headcount.protocol.member import State

from .members import (
    APPROVES,
    ASKED,
    DIRTY,
    QUIET,
    READY,
    WAIT,
    kill_agent,
    raise_flag,
    start,
    tell,
    told,
    until,
)

ID = f"{TEAM}#1"


@pytest.mark.usefixtures("runtime")
def test_B1_a_start_in_flight_joins_the_stand_down_and_none_comes_after_it(lab: Lab) -> None:
    lab.create(PATIENT)
    start(lab, "ada", APPROVES)
    lab.stop_driving()  # so that the start stays in flight until everyone was asked
    spawn(lab.app, TEAM, Plan("late", command=("bash", "-c", APPROVES), runtime=lab.runtime))
    asked = lab.ask()
    assert sorted(asked["pendingApprovals"]) == ["ada", "late"]
    with pytest.raises(Declined) as refused:
        spawn(lab.app, TEAM, Plan("later", command=("true",)))
    assert refused.value.code == "draining"
    lab.drive()
    answer = lab.finish(asked)
    assert answer["status"] == "shutdown"
    assert {m["name"]: m["answer"] for m in answer["members"]} == {"ada": "approved", "late": "approved"}
    assert lab.marked() == []


@pytest.mark.usefixtures("runtime")
def test_B2_no_task_is_claimed_while_the_team_is_stood_down(lab: Lab) -> None:
    lab.create(PATIENT)
    start(lab, "ada", f"{READY}; {ASKED}; {tell('headcount task claim', 'claim')}; headcount approve; {WAIT}")
    task = tasks.create(lab.app, "left over", team=TEAM)
    assert lab.finish(lab.ask())["status"] == "shutdown"
    said, code = told(lab, "claim")
    assert (code, "draining" in said) == (1, True), said
    with lab.app.store.read() as tx:
        assert [(t.id, t.owner) for t in tx.tasks(ID)] == [(task.id, None)]


def test_B4_a_second_engine_does_not_drive_and_one_that_lost_its_lease_writes_nothing(lab: Lab) -> None:
    lab.create()
    start(lab, "ada")
    assert is_driven(lab.app.home)
    with driving(lab.app):  # returns at once, and drives nothing: this would hang or fight otherwise
        answer = lab.ask()
    fence = lab.app.store.take_lease(lease_of(TEAM), "another host", 60)
    assert fence is None, "the lease of the team was free"
    here = this_place(lab.app.home)["machine"]
    old, new = (lab.app.store.take_lease(lease_of(TEAM), here, 60) for _ in range(2))
    with pytest.raises(FencedOut), lab.app.store.write(old) as tx:
        tx.put_fact(ID, "", "written by the old one", {})
    assert new is not None
    lab.stop_driving()
    lab.drive()
    lab.approve(answer)
    assert lab.finish(answer)["status"] == "shutdown"


def test_B9_a_done_signal_that_comes_twice_is_one(lab: Lab) -> None:
    lab.create()
    start(lab, "ada", awaits_review=True)
    with lab.app.store.write() as tx:
        for _ in range(2):
            tx.add_input(ID, ev.DoneSignalled("ada#1"))
    lab.app.store.ring(["engine"])
    lab.wait_state("ada#1", lambda m: m.state is State.VERIFIED)
    assert lab.team().members["ada#1"].attempts == 1
    assert len(lab.journal("verified_clean")) == 1


def test_B10_who_looks_after_the_end_finds_all_of_it(lab: Lab) -> None:
    lab.create()
    start(lab, "ada")
    answer = lab.ask()
    lab.approve(answer)
    answer = lab.finish(answer)
    assert [t["status"] for t in status(lab.app, TEAM)] == ["shutdown"]
    assert lab.ask()["archive"] == answer["archive"]
    archived = [
        json.loads(line) for line in Path(f"{answer['archive']}/journal.jsonl").read_text().splitlines()
    ]
    assert [e["seq"] for e in archived] == [e.seq for e in lab.journal()][: len(archived)]
    assert {"stand_down", "answered", "gone"} <= {e["kind"] for e in archived}


def test_C1_an_open_task_and_unread_mail_are_archived_and_listed(lab: Lab) -> None:
    lab.create()
    start(lab, "ada")
    with lab.app.store.write() as tx:
        tx.add_task(Task("", ID, "half done", status="in_progress", owner="ada#1"))
    send(lab.app, "ada", "hello", "nobody has read this", team=TEAM)
    answer = lab.ask()
    lab.approve(answer)
    archive = lab.finish(answer)["archive"]
    receipt = json.loads(Path(f"{archive}/receipt.json").read_text())
    assert [(t["subject"], t["status"]) for t in receipt["tasks"]] == [("half done", "pending")]
    assert "hello" in [m["subject"] for m in receipt["unread_mail"]]
    mail = [json.loads(line) for line in Path(f"{archive}/mail.jsonl").read_text().splitlines()]
    assert "nobody has read this" in [m["body"] for m in mail]


def test_C3_a_late_write_does_not_bring_a_closed_team_back(lab: Lab) -> None:
    lab.create()
    start(lab, "ada")
    answer = lab.ask()
    lab.approve(answer)
    lab.finish(answer)
    before = lab.team()
    with pytest.raises(HeadcountError), lab.app.store.write() as tx:
        tx.add_input(ID, ev.DoneSignalled("ada#1"))
    lab.app.apply(TEAM, ev.Answered("ada#1", answer["requestId"], False))
    assert lab.team() == before
    assert not os.path.exists(f"{lab.app.home}/worktrees/{TEAM}/ada")


def test_C4_the_last_message_to_one_that_is_gone_reaches_the_lead(lab: Lab) -> None:
    lab.create()
    start(lab, "ada")
    start(lab, "ben")
    answer = lab.ask("ada")
    lab.approve(answer, "ada")
    lab.finish(answer)
    send(lab.app, "ada", "one more thing", "for ada", team=TEAM)
    with lab.app.store.read() as tx:
        bounced = [m for m in tx.inbox(ID, ["lead"]) if m.subject == "one more thing"]
    assert [(m.bounced_from, m.body) for m in bounced] == [("ada#1", "for ada")]


def test_C9_retention_takes_neither_unread_mail_nor_that_of_an_open_team(lab: Lab) -> None:
    lab.create()
    start(lab, "ada")
    for subject in ("read", "read too"):
        send(lab.app, "ada", subject, "x", team=TEAM)
    with lab.app.store.write() as tx:
        tx.mark_read(ID, [m.id for m in tx.inbox(ID, None)])
        assert tx.forget_mail(ID, read_before=1e12) == 0
    send(lab.app, "lead", "still unread", "x", team=TEAM)
    answer = lab.ask()
    lab.approve(answer)
    lab.finish(answer)
    with lab.app.store.write() as tx:
        assert tx.forget_mail(ID, read_before=1e12) == 2
        assert "still unread" in [m.subject for m in tx.inbox(ID, None)]


def test_C10_standing_web_down_leaves_web_2_alone(lab: Lab) -> None:
    lab.create()
    start(lab, "web")
    place = start(lab, "web-2", DIRTY)
    answer = lab.ask("web")
    lab.approve(answer, "web")
    assert lab.finish(answer)["status"] == "shutdown"
    assert lab.team().members["web-2#1"].state is State.RUNNING
    assert os.path.exists(f"{place}/new.txt")
    assert lab.marked() != []


@pytest.mark.parametrize(
    ("makes", "named"),
    [
        ("git mv README READTHIS", "READTHIS"),
        (
            "git checkout -qb side; echo a > README; git commit -qam a; git checkout -q -;"
            "echo b > README; git commit -qam b; git merge -q side; true",
            "merge",
        ),
    ],
    ids=["only a staged rename", "only a conflict"],
)
def test_C16_C23_one_that_looks_clean_is_sent_back_and_saved(
    lab: Lab, tmp_path: Path, makes: str, named: str
) -> None:
    lab.create()
    place = start(lab, "ada", f"{makes}; {READY}; {WAIT}")
    was = git(place, "status", "--porcelain=v2")
    answer = lab.ask()
    lab.approve(answer)
    nudged = lab.wait_state("ada#1", lambda m: m.state is State.NUDGED)
    assert any(named in issue for issue in nudged.issues), nudged.issues
    answer = lab.finish(lab.ask(force=True))
    salvage = answer["members"][0]["salvage"]
    restore_saved(lab.app, salvage, str(tmp_path / "again"))
    assert git(str(tmp_path / "again"), "status", "--porcelain=v2") == was


def test_C17_commits_that_nobody_has_merged_stay_on_their_branch(lab: Lab) -> None:
    """No upstream is not "nothing to lose"."""
    lab.create()
    start(lab, "ada", f"echo x > x; git add x; git commit -qm only-here; {QUIET}")
    answer = lab.ask()
    lab.approve(answer)
    assert lab.finish(answer)["status"] == "shutdown"
    assert git(lab.app.root, "log", "--format=%s", "-1", f"headcount/{TEAM}/ada").strip() == "only-here"


def test_C18_a_stash_on_another_branch_is_found_and_saved(lab: Lab, tmp_path: Path) -> None:
    lab.create()
    start(
        lab, "ada",
        f"git checkout -qb aside; echo stashed > README; git stash -q; git checkout -q -; {READY}; {WAIT}",
    )  # fmt: skip
    answer = lab.ask(force=True)
    lab.approve(answer)
    salvage = lab.finish(answer)["members"][0]["salvage"]
    git(lab.app.root, "stash", "clear")
    restore_saved(lab.app, salvage, str(tmp_path / "again"))
    assert git(str(tmp_path / "again"), "show", "stash@{0}:README") == "stashed\n"


@pytest.mark.usefixtures("runtime")
def test_C19_one_that_crashed_before_its_first_commit_has_not_done_its_task(lab: Lab) -> None:
    lab.create()
    task = tasks.create(lab.app, "all of it", team=TEAM)
    start(lab, "ada", f"headcount task claim; {READY}; {WAIT}")
    assert [t.owner for t in tasks.list_tasks(lab.app, team=TEAM)] == ["ada#1"]
    kill_agent(lab, "ada#1")
    lab.wait_state("ada#1", lambda m: m.settled)
    found = tasks.list_tasks(lab.app, team=TEAM)
    assert [(t.id, t.status, t.owner) for t in found] == [(task.id, "pending", None)]


@pytest.mark.usefixtures("runtime")
def test_C22_clean_an_hour_ago_is_not_clean_now(lab: Lab) -> None:
    lab.create(PATIENT)
    later = f"{until('verified')}; echo since > later.txt"
    start(
        lab, "ada", f"headcount done --verified; {READY}; {later}; {ASKED}; headcount approve; {WAIT}",
        awaits_review=True,
    )  # fmt: skip
    lab.wait_state("ada#1", lambda m: m.state is State.VERIFIED)
    raise_flag(lab, "verified")
    lab.wait_file("ada#1", "later.txt")
    member = lab.finish(lab.ask(force=True))["members"][0]
    assert (member["outcome"], member["attempts"]) == ("forced", 2)
    assert git(lab.app.root, "ls-tree", "-r", "--name-only", member["salvage"]).count("later.txt") == 1


def test_members_that_are_started_at_the_same_moment_all_get_a_workspace(lab: Lab) -> None:
    """git fails where it meets a worktree that another git is just making."""
    lab.create()
    names = [f"m{n}" for n in range(12)]
    for name in names:
        spawn(lab.app, TEAM, Plan(name, command=("sleep", "1000")))
    team = wait_for(
        lab.app, TEAM, lambda t: all(m.state is not State.STARTING for m in t.members.values()), LIMIT_S
    )
    assert {m.state for m in team.members.values()} == {State.RUNNING}


def test_B8_a_team_that_is_created_twice_at_once_is_one(lab: Lab) -> None:
    def create(_: int) -> str:
        app = open_app(lab.app.root, {})
        try:
            Lab(app).create()
        except HeadcountError as error:
            return error.code
        finally:
            app.close()
        return "made"

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(create, range(4))) == ["made", "team-exists", "team-exists", "team-exists"]
