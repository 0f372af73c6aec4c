"""What happens to a task: sent back, lost, reviewed, refused, merged, blocked; with real processes."""

from __future__ import annotations

from typing import Any

import pytest

from .lab import TEAM, RunLab, wait_until


def task(run: dict[str, Any], number: int) -> dict[str, Any]:
    return next(t for t in run["tasks"] if t["id"] == str(number))


def test_the_words_of_both_reviewers_reach_the_worker_in_one_mail(lab: RunLab) -> None:
    lab.plan({1: {"spec": ["call it parse()", "pass"], "quality": ["too long by half", "pass"]}})
    run = lab.run(lab.define({1: ()}))
    [told] = [s["text"] for s in lab.said() if "Changes requested" in s["text"]]
    assert "spec-reviewer (spec#1): call it parse()" in told
    assert "code-quality-reviewer (quality#1): too long by half" in told
    assert task(run, 1)["rounds"] == 1
    assert "improved" in lab.merged_file(1)


@pytest.mark.usefixtures("runtime")
def test_C19_a_task_without_a_commit_is_not_done_and_holds_only_its_dependants(lab: RunLab) -> None:
    lab.settings(review_rounds=1, tasks_at_once=2)
    lab.plan({1: {"work": ["empty"]}})
    run = lab.run(lab.define({1: (), 2: (1,), 3: ()}), code=1)
    assert run["status"] == "blocked"
    assert [task(run, n)["state"] for n in (1, 2, 3)] == ["blocked", "waiting", "complete"]
    assert "without a new commit" in str(task(run, 1)["reason"])
    assert "held by that: 2" in str(run["reason"])
    assert lab.merges() == {"3": 1}
    [listed] = [t for t in lab.json("task", "list", "--team", TEAM) if t["id"] == "1"]
    assert listed["status"] == "blocked"
    assert listed["reason"]
    wait_until(lambda: lab.marked() == [])


@pytest.mark.usefixtures("runtime")
def test_C22_a_checklist_that_the_worker_claims_is_not_believed(lab: RunLab) -> None:
    lab.plan({1: {"work": ["dirty"]}})
    lab.settings(max_attempts=2, on_escalation="force-kill", task_restarts=0)
    run = lab.run(lab.define({1: ()}), code=1)
    [first, _] = lab.journal("found_dirty")
    assert "lying-about.txt" in first.data["issues"][0]
    assert "left before it was done" in str(task(run, 1)["reason"])
    assert lab.merges() == {}


@pytest.mark.usefixtures("runtime")
def test_D8_the_task_of_a_worker_that_died_goes_on_from_what_it_left(lab: RunLab) -> None:
    lab.plan({1: {"work": ["die", "work"]}})
    run = lab.run(lab.define({1: ()}))
    assert task(run, 1)["restarts"] == 1
    assert lab.merged_file(1).startswith("half done\n")
    assert any("Your workspace holds what the last worker left" in s["text"] for s in lab.said())


def test_a_plain_program_that_ends_well_and_leaves_clean_work_has_done_its_task(lab: RunLab) -> None:
    lab.plan({1: {"work": ["leave"]}})
    run = lab.run(lab.define({1: ()}))
    assert task(run, 1)["restarts"] == 0
    assert lab.merges() == {"1": 1}


@pytest.mark.usefixtures("runtime")
def test_B9_one_reviewer_that_passes_twice_is_not_two(lab: RunLab) -> None:
    lab.plan({1: {"spec": ["twice"], "quality": ["late"]}})
    lab.run(lab.define({1: ()}))
    moves = [
        e for e in lab.journal("reviewed", "task_moved") if e.kind == "reviewed" or e.data["cue"] == "passed"
    ]
    assert moves[-1].data.get("cue") == "passed"
    assert moves[-2].about == "quality#1"


def test_a_task_is_blocked_with_the_reviewers_words_when_no_round_is_left(lab: RunLab) -> None:
    lab.settings(review_rounds=1)
    lab.plan({1: {"spec": ["no", "still no"]}})
    run = lab.run(lab.define({1: ()}), code=1)
    assert "still no" in str(task(run, 1)["reason"])
    assert lab.merges() == {}


def test_a_conflict_is_told_as_changes_and_merged_after_it_was_resolved(lab: RunLab) -> None:
    lab.settings(tasks_at_once=2)
    lab.plan({1: {"work": ["shared"], "quality": ["late"]}, 2: {"work": ["shared"], "quality": ["late"]}})
    lab.run(lab.define({1: (), 2: ()}))
    [told] = [s["text"] for s in lab.said() if "Changes requested" in s["text"]]
    assert "conflicts in shared.txt" in told
    assert lab.merges() == {"1": 1, "2": 1}


def test_A1_who_never_answers_is_recorded_as_unanswered_and_the_task_is_complete(lab: RunLab) -> None:
    lab.settings()
    (lab.repo / "headcount.toml").write_text(
        "[policy]\nanswer_timeout_s = 1\nexit_grace_s = 1\nstop_grace_s = 2\n"
    )
    lab.plan({1: {"answers": ["mute"]}})
    file = lab.define({1: ()}, reviewers=())
    done = lab.headcount("run", file)
    [warning] = lab.journal("warning")
    assert warning.data["text"] == "Agent ada did not acknowledge shutdown within timeout"
    said = "  Warning: ada#1: Agent ada did not acknowledge shutdown within timeout\n"
    assert (done.returncode, done.stdout.count(said)) == (0, 1), done.stdout
    assert said in done.stderr, "said when it happened, too"
    assert [e.data["answer"] for e in lab.journal("answered")] == ["unanswered"]
    wait_until(lambda: lab.marked() == [])


def test_A8_a_refusal_in_a_run_is_asked_again_with_a_new_request(lab: RunLab) -> None:
    lab.plan({1: {"answers": ["one more test", "and the docs", "approve"]}})
    lab.run(lab.define({1: ()}))
    asked = [e.data["request"] for e in lab.journal("stand_down") if e.data["targets"] == ["ada#1"]]
    assert len(set(asked)) == 3
    refused = [e.data["reason"] for e in lab.journal("answered") if e.data["answer"] == "rejected"]
    assert refused == ["one more test", "and the docs"]


def test_E9_one_that_refuses_for_good_is_escalated_once_and_the_run_goes_on(lab: RunLab) -> None:
    lab.plan({1: {"answers": ["no", "no", "no", "no"]}})
    definition = lab.define({1: ()})
    assert lab.run(definition, code=1)["escalations"]
    [escalated] = lab.journal("escalated")
    assert escalated.data["cause"] == "refusal"
    assert lab.decide_all("force-kill") == ["e1"]
    assert lab.json("run", "--follow")["status"] == "complete"
    assert lab.merges() == {"1": 1}
    assert len(lab.journal("escalated")) == 1


def test_a_run_that_can_only_wait_for_a_decision_ends_with_no_and_goes_on_after_it(lab: RunLab) -> None:
    lab.plan({1: {"work": ["dirty", "work"]}})
    definition = lab.define({1: (), 2: (1,), 3: ()})
    run = lab.run(definition, code=1)
    assert run["status"] == "escalated"
    assert [task(run, n)["state"] for n in (1, 2, 3)] == ["escalated", "waiting", "complete"]
    [escalation] = run["escalations"]
    assert "lying-about.txt" in escalation["issues"][0]
    assert len(lab.marked()) > 0, "nothing of it was stopped"
    with lab.app() as app, app.store.read() as tx:
        mails = [m for m in tx.inbox(f"{TEAM}#1", ["lead"]) if m.template == "WORKER_ESCALATION"]
    assert len(mails) == 1
    lab.json("decide", escalation["id"], "reassign")
    assert lab.json("run", "--follow")["status"] == "complete"
    assert lab.merges() == {"1": 1, "2": 1, "3": 1}
    assert "lying-about.txt" in lab.git("ls-tree", "--name-only", f"headcount/{TEAM}/integration")


def test_reviewers_default_to_their_models_and_stand_at_the_reviewed_commit(lab: RunLab) -> None:
    lab.run(lab.define({1: ()}))
    with lab.app() as app, app.store.read() as tx:
        starts = tx.facts(f"{TEAM}#1", "start")
        reviewed = tx.fact(f"{TEAM}#1", "spec#1", "reviewing")
    assert (starts["spec#1"]["model"], starts["quality#1"]["model"]) == ("haiku", "opus")
    assert starts["spec#1"]["detached"]
    assert reviewed is not None
    assert reviewed["commit"] == starts["spec#1"]["base"]
