"""A team of real processes is stood down by the real engine, on the real store, with real git."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

from headcount.app.salvages import restore_saved
from headcount.app.standing_down import status_of
from headcount.protocol import events as ev
from headcount.protocol.member import State

from .lab import PATIENT, QUICK, TEAM, Lab, git


def test_polite_members_are_asked_approved_and_proved_gone(lab: Lab) -> None:
    lab.create()
    for name in ("ada", "ben"):
        lab.start(name)
    answer = lab.ask()
    assert answer["status"] == "pending_shutdown"
    assert sorted(answer["pendingApprovals"]) == ["ada", "ben"]
    lab.approve(answer)
    answer = lab.finish(answer)
    assert answer["status"] == "shutdown"
    assert answer["deleted"] is True
    assert [(m["answer"], m["outcome"], m["salvage"]) for m in answer["members"]] == [
        ("approved", "clean", None)
    ] * 2
    assert lab.marked() == []
    assert git(lab.app.root, "worktree", "list").count("\n") == 1
    receipt = json.loads(Path(f"{answer['archive']}/receipt.json").read_text())
    assert all(member["processes"]["doubt"] == "" for member in receipt["members"])


def test_A4_one_that_approves_and_lives_on_is_stopped_and_only_then_gone(lab: Lab) -> None:
    lab.create()
    lab.start("ada", "trap '' TERM; touch $HEADCOUNT_HOME/ready; while :; do sleep 0.1; done")
    lab.wait_flag("ready")
    answer = lab.ask()
    lab.approve(answer)
    lab.wait_state("ada#1", lambda m: m.state is State.KILLING or not m.live)
    answer = lab.finish(answer)
    assert answer["members"][0]["answer"] == "approved"
    moves = [(e.data["from"], e.data["to"]) for e in lab.journal("moved")]
    assert moves.index(("stopping", "killing")) < moves.index(("killing", "gone"))
    assert lab.marked() == []


def test_A5_one_that_was_dead_before_is_already_gone_at_once(lab: Lab) -> None:
    lab.create()
    lab.start("ada", "exit 3")
    lab.wait_state("ada#1", lambda m: m.settled)
    answer = lab.finish(lab.ask())
    assert answer["status"] == "shutdown"
    assert answer["members"][0]["outcome"] == "already_gone"
    assert answer["members"][0]["answer"] is None
    assert answer["seconds"] < PATIENT.answer_timeout_s


def test_C2_uncommitted_untracked_stashed_work_of_a_silent_member_is_saved_before_it_is_killed(
    lab: Lab,
) -> None:
    lab.create(QUICK)
    lab.start(
        "ada",
        "trap '' TERM; echo stashed > README; git stash -q; echo changed > README; echo new > new.txt;"
        "touch ready; while :; do sleep 0.1; done",
    )
    lab.wait_file("ada#1", "ready")
    answer = lab.finish(lab.ask(force=True))
    assert answer["status"] == "shutdown"
    member = answer["members"][0]
    assert (member["answer"], member["outcome"]) == ("unanswered", "forced")
    kinds = [e.kind for e in lab.journal("salvaged", "gone")]
    assert kinds[0] == "salvaged"
    target = f"{lab.app.root}/../restored"
    restore_saved(lab.app, member["salvage"], target)
    assert Path(f"{target}/README").read_text() == "changed\n"
    assert Path(f"{target}/new.txt").read_text() == "new\n"
    assert git(target, "show", "stash@{0}:README") == "stashed\n"


def test_C13_helpers_that_left_the_process_group_are_ended_too(lab: Lab) -> None:
    lab.create()
    lab.start("ada", "setsid bash -c \"trap '' TERM; sleep 1000\" & disown; touch ready; sleep 1000")
    lab.wait_file("ada#1", "ready")
    answer = lab.ask(force=True)
    lab.approve(answer)
    answer = lab.finish(answer)
    assert answer["status"] == "shutdown"
    assert lab.marked() == []


def test_C14_C20_nothing_is_killed_and_nothing_removed_when_salvage_fails(lab: Lab) -> None:
    lab.create()
    lab.start("ada", "echo new > new.txt; sleep 1000")
    lab.wait_file("ada#1", "new.txt")
    workspace = lab.workspace("ada#1")
    objects = f"{lab.app.root}/.git/objects"
    os.rename(objects, f"{objects}.away")
    try:
        answer = lab.ask(force=True)
        lab.approve(answer)
        answer = lab.finish(answer)
        assert answer["status"] == "escalated"
        assert answer["escalations"][0]["cause"] == "salvage"
        assert lab.team().members["ada#1"].state is State.ESCALATED
        assert len(lab.marked()) > 0
    finally:
        os.rename(f"{objects}.away", objects)
    assert os.path.exists(f"{workspace}/new.txt")
    lab.say(ev.Decided(answer["escalations"][0]["id"], "force-kill"))
    answer = lab.finish(lab.ask())
    assert answer["status"] == "shutdown"
    assert answer["members"][0]["outcome"] == "forced"


def test_A8_a_rejection_is_kept_word_for_word_and_the_team_is_usable_again(lab: Lab) -> None:
    lab.create()
    for name in ("ada", "ben"):
        lab.start(name)
    answer = lab.ask()
    lab.say(ev.Answered("ada#1", answer["requestId"], True))
    why = 'I am "in the middle"\nof something'
    lab.say(ev.Answered("ben#1", answer["requestId"], False, why))
    answer = lab.finish(answer)
    assert answer["status"] == "rejected"
    assert answer["rejectedBy"] == [{"name": "ben", "reason": why}]
    team = lab.team()
    assert str(team.status) == "active"
    assert {m.state for m in team.members.values()} == {State.RUNNING}
    assert lab.start("cy").state is State.RUNNING


def test_A8_who_answered_what_to_a_refused_request_is_shown_also_after_the_next_one(lab: Lab) -> None:
    lab.create()
    for name in ("ada", "ben", "cy"):
        lab.start(name)
    refused = lab.ask()
    lab.say(ev.Answered("ada#1", refused["requestId"], True))
    lab.say(ev.Answered("ben#1", refused["requestId"], False, "not yet"))
    said = {"ada": "approved", "ben": "rejected", "cy": None}
    assert {m["name"]: m["answer"] for m in lab.finish(refused)["members"]} == said
    second = lab.ask()
    lab.say(ev.Answered("ben#1", second["requestId"], True))
    lab.wait_state("ben#1", lambda m: m.answer == "approved")
    status = status_of(lab.app, TEAM, refused["requestId"])
    assert {m["name"]: m["answer"] for m in status["members"]} == said


def test_B1_B3_while_draining_no_start_is_accepted_and_asking_again_joins(lab: Lab) -> None:
    from headcount.errors import Declined

    lab.create()
    lab.start("ada")
    first = lab.ask()
    second = lab.ask()
    assert second["requestId"] == first["requestId"]
    try:
        lab.start("late")
    except Declined as refused:
        assert refused.code == "draining"
    else:
        raise AssertionError("a start was accepted while draining")
    lab.approve(first)
    assert lab.finish(first)["status"] == "shutdown"


def test_a_member_that_is_dirty_is_sent_back_and_ends_clean(lab: Lab) -> None:
    lab.create()
    lab.start("ada", "echo new > new.txt; touch ready; sleep 1000")
    lab.wait_file("ada#1", "ready")
    answer = lab.ask()
    lab.approve(answer)
    nudged = lab.wait_state("ada#1", lambda m: m.state is State.NUDGED)
    assert any("new.txt" in issue for issue in nudged.issues)
    workspace = lab.workspace("ada#1")
    git(workspace, "add", "--all")
    git(workspace, "commit", "--quiet", "-m", "all of it")
    lab.say(ev.DoneSignalled("ada#1"))
    answer = lab.finish(answer)
    assert answer["status"] == "shutdown"
    assert (answer["members"][0]["outcome"], answer["members"][0]["attempts"]) == ("clean", 2)
    assert git(lab.app.root, "show", f"headcount/{TEAM}/ada:new.txt") == "new\n"


def test_E12_many_members_are_stopped_at_once_not_one_after_the_other(lab: Lab) -> None:
    """Not by the clock, which a busy machine slows down: by how many were being stopped at the same time."""
    lab.create(replace(PATIENT, stop_grace_s=8))  # none is gone before the last has been looked at
    names = [f"m{n}" for n in range(12)]
    for name in names:
        lab.start(name, f"trap '' TERM; touch $HEADCOUNT_HOME/{name}; while :; do sleep 0.2; done")
    for name in names:
        lab.wait_flag(name)
    answer = lab.ask(force=True)
    lab.approve(answer)
    answer = lab.finish(answer)
    assert answer["status"] == "shutdown"
    assert lab.marked() == []
    at_once = most = 0
    for entry in lab.journal("moved"):
        if entry.data["to"] in ("stopping", "gone") and entry.data["from"] != entry.data["to"]:
            at_once += 1 if entry.data["to"] == "stopping" else -1
            most = max(most, at_once)
    assert most > len(names) / 2


def test_D10_one_whose_records_are_lost_is_ended_and_proved_by_what_the_store_knows(
    lab: Lab,
) -> None:
    lab.create(QUICK)
    lab.start("ada", "trap '' TERM; while :; do sleep 0.2; done")
    lab.stop_driving()
    shutil.rmtree(f"{lab.app.home}/run")
    assert lab.marked() != []
    lab.drive()
    answer = lab.finish(lab.ask(force=True))
    assert answer["status"] == "shutdown"
    assert lab.marked() == []
    receipt = json.loads(Path(f"{answer['archive']}/receipt.json").read_text())
    assert receipt["members"][0]["processes"]["doubt"] == ""
    assert answer["warnings"] == [] and "unproved" not in answer
