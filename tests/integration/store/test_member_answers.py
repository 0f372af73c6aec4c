"""The installed command, as a member answers with it, signals, and works through its tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from headcount.domain.templates import read_metadata
from headcount.protocol import events as ev
from headcount.protocol.team import Status

if TYPE_CHECKING:
    from conftest import World


# --- answers, done, idle -----------------------------------------------------------------------------------


def test_an_answer_is_heard_by_the_engine_and_told_to_the_lead(world: World) -> None:
    world.ask("alice", "r7")
    assert world.json("alice", "approve") == {"requestId": "r7", "approve": True, "reason": ""}
    assert world.inputs() == [ev.Answered("alice#1", "r7", True)]
    [mail] = world.inbox("lead")
    assert (mail.type, mail.request_id, mail.sender) == ("shutdown_response", "r7", "alice#1")


def test_A8_the_reason_of_a_rejection_is_kept_word_for_word(world: World) -> None:
    world.ask("alice")
    reason = 'half a "migration"\nis running — 5 min'
    assert world.run("alice", "reject", "r1", "--reason", reason).returncode == 0
    assert world.inputs() == [ev.Answered("alice#1", "r1", False, reason)]
    assert world.inbox("lead")[0].body == reason


def test_A9_A11_a_stale_answer_names_the_open_request_and_counts_for_nothing(world: World) -> None:
    world.ask("alice", "r2")
    refused = world.run("alice", "approve", "r1")
    assert refused.returncode == 2 and "request_id" in refused.stderr and "is r2" in refused.stderr
    assert world.inputs() == [] and world.inbox("lead") == []
    assert world.notes("refused")[0][1]["code"] == "unknown-request"


def test_A11_an_answer_to_nothing_is_a_clear_no(world: World) -> None:
    refused = world.run("alice", "approve", "r1")
    assert refused.returncode == 1 and "[nothing-to-answer]" in refused.stderr
    assert world.inputs() == []


@pytest.mark.parametrize("heard", [False, True])
def test_A10_the_first_answer_counts_and_the_same_again_is_no_news(world: World, heard: bool) -> None:
    world.ask("alice")
    world.run("alice", "approve")
    if heard:
        world.inputs()
        world.change("alice", answer="approved")
    assert world.run("alice", "approve").returncode == 0
    late = world.run("alice", "reject", "--reason", "no")
    assert late.returncode == 1 and "first answer counts" in late.stderr
    expected = [] if heard else [ev.Answered("alice#1", "r1", True)]
    assert world.inputs() == [*expected, ev.Answered("alice#1", "r1", False, "no")]
    assert [m.subject for m in world.inbox("lead")] == ["Shutdown approved"]


def test_A13_a_lead_or_an_operator_has_nothing_to_answer(world: World) -> None:
    assert world.run("boss", "approve").returncode == 5
    assert world.run(None, "approve").returncode == 5


def test_done_starts_an_inspection_hands_the_task_in_and_tells_the_witness(world: World) -> None:
    world.add_task("audit")
    world.run("alice", "task", "claim", "audit")
    world.inputs()
    assert world.json("alice", "done", "--verified") == {"status": "inspection_started", "task": "audit"}
    assert world.inputs() == [ev.DoneSignalled("alice#1", "audit")]
    [mail] = world.inbox("witness")
    assert (mail.template, mail.subject) == ("WORKER_DONE", "Work Complete: audit")
    metadata = read_metadata(mail.body)
    assert metadata == {
        "template": "WORKER_DONE", "rig": "review", "issue": "audit", "checklist_verified": "true",
    }  # fmt: skip


def test_who_was_started_for_a_task_is_done_with_it_before_the_board_says_so(world: World) -> None:
    world.change("alice", task="audit")
    assert world.run("alice", "done").returncode == 0
    assert world.run("bob", "done").returncode == 0
    subjects = [mail.subject for mail in world.inbox("witness")]
    assert subjects == ["Work Complete: audit", "Work Complete: no task"]


def test_E6_done_with_another_members_task_is_refused(world: World) -> None:
    world.add_task("t1")
    world.run("bob", "task", "claim", "t1")
    world.inputs()
    for words in (["done", "t1"], ["task", "complete", "t1"]):
        refused = world.run("alice", *words)
        assert refused.returncode == 5 and "[not-owner]" in refused.stderr and "bob#1" in refused.stderr
    assert world.inputs() == [] and world.inbox("witness") == []


def test_idle_is_heard_and_claiming_comes_after_it(world: World) -> None:
    world.add_task("t1")
    world.run("alice", "idle")
    world.run("alice", "task", "claim")
    assert world.inputs() == [ev.IdleReported("alice#1"), ev.TaskClaimed("alice#1", "t1")]
    assert [m.type for m in world.inbox("witness")] == ["idle"]


# --- tasks and reviews -------------------------------------------------------------------------------------


def test_tasks_are_listed_claimed_and_completed(world: World) -> None:
    world.add_task("t1", description="do\nthis", metadata={"k": [1, "é"]})
    world.add_task("t2", depends_on=("t1",))
    listed = world.json("alice", "task", "list")
    assert [(t["id"], t["status"], t["dependsOn"]) for t in listed] == [
        ("t1", "pending", []),
        ("t2", "pending", ["t1"]),
    ]
    assert listed[0]["metadata"] == {"k": [1, "é"]}
    assert "    do\n    this" in world.run("alice", "task", "claim").stdout
    assert world.run("bob", "task", "claim").returncode == 1
    lost = world.run("bob", "task", "claim", "t1")
    assert lost.returncode == 1 and "belongs to alice#1" in lost.stderr
    assert world.run("alice", "task", "complete", "t1").returncode == 0
    assert world.json(None, "task", "list", "--status", "in_review")[0]["id"] == "t1"
    assert world.json("boss", "task", "complete", "t1")["status"] == "complete"
    assert world.json("bob", "task", "claim")["id"] == "t2"


def test_B2_claims_are_refused_while_the_team_is_stood_down(world: World) -> None:
    world.add_task("t1")
    with world.store.write() as tx:
        tx.save_team(world.team, replace(world.team, status=Status.PENDING_SHUTDOWN))
    refused = world.run("alice", "task", "claim", "--json")
    assert refused.returncode == 1 and '"code":"draining"' in refused.stdout


@pytest.mark.parametrize(("verdict", "reason"), [("pass", ""), ("changes", "no tests")])
def test_a_reviewers_verdict_is_heard_by_whoever_runs_the_task(
    world: World, verdict: str, reason: str
) -> None:
    world.add_task("t1")
    words = ["--reason", reason] if reason else []
    assert world.run("rita", "review", verdict, "t1", *words).returncode == 0
    assert world.inputs() == [ev.Reviewed("rita#1", "t1", verdict, reason)]


def test_a_review_of_an_unknown_or_complete_task_is_refused(world: World) -> None:
    world.add_task("t1")
    world.run("boss", "task", "complete", "t1")
    world.inputs()
    assert "[unknown-task]" in world.run("rita", "review", "pass", "t2").stderr
    assert "[review-ended]" in world.run("rita", "review", "pass", "t1").stderr
    assert world.inputs() == []
