"""Gates, the checklist, `status.json`, abort, and a run that is called again."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from headcount.domain.checklist import read_status

from .lab import TEAM, RunLab, wait_until


def checklist(run: dict[str, object]) -> dict[str, tuple[bool, str]]:
    return {i["item"]: (i["done"], i["evidence"]) for i in run["checklist"]}  # type: ignore[attr-defined]


def test_the_checklist_of_a_complete_run_has_six_items_each_with_evidence(lab: RunLab) -> None:
    run = lab.run(lab.define({1: (), 2: (1,)}, workflow="verify='test -f task-2.txt', max_total_lines=10"))
    items = checklist(run)
    assert len(items) == 6
    assert all(done and evidence for done, evidence in items.values())
    assert items["All tasks complete"][1] == "2 of 2 complete"
    assert items["No active workers"][1] == "2 of 2 proved gone (2 clean)"
    assert items["Verification gate passed"][1] == "`test -f task-2.txt` ended with code 0"
    assert items["Complexity gate passed"][1].startswith("2 files, 2 lines added")
    assert items["Team cleanup completed"][1].startswith("done at try 1")
    status = read_status(lab.file("status.json"))
    assert (status.status, status.attempt, status.reason) == ("complete", 1, "")
    assert lab.file("witness/state.json") == {"pending_verifications": {}}
    log = lab.path_of("witness/verification.log").read_text()
    assert log.count("] Verified clean: ada\n") >= 2


@pytest.mark.usefixtures("runtime")
def test_E3_a_gate_whose_tool_is_missing_has_not_passed_and_a_fixed_one_passes_on_the_next_run(
    lab: RunLab,
) -> None:
    definition = lab.define({1: ()})
    lab.settings("[gates]\nverify = 'no-such-tool --all'\n")
    run = lab.run(definition, code=1)
    assert run["status"] == "blocked"
    done, evidence = checklist(run)["Verification gate passed"]
    assert not done
    assert evidence.startswith("could not run: `no-such-tool --all`")
    status = read_status(lab.file("status.json"))
    assert (status.status, status.gate) == ("blocked", "verification")

    lab.settings("[gates]\nverify = 'test -f task-1.txt'\n")
    assert lab.run(definition)["status"] == "complete"
    assert lab.merges() == {"1": 1}


@pytest.mark.usefixtures("runtime")
def test_D6_D7_a_blocked_run_stays_blocked_until_what_failed_is_done_again_and_passes(lab: RunLab) -> None:
    definition = lab.define({1: ()}, workflow=f"verify='test -f {lab.desk}/ok'")
    for attempt in (1, 2):
        run = lab.run(definition, code=1)
        assert (run["status"], run["attempt"]) == ("blocked", attempt), "nothing has changed, so nor has that"
        assert read_status(lab.file("status.json")).status == "blocked"
    (lab.desk / "ok").touch()
    run = lab.run(definition)
    assert (run["status"], run["attempt"]) == ("complete", 3)
    assert lab.merges() == {"1": 1}, "what was complete is not done again"
    assert len([s for s in lab.said() if s["who"].startswith("ada")]) == 1


@pytest.mark.usefixtures("runtime")
def test_D5_D6_a_blocked_task_is_done_afresh_by_the_next_run(lab: RunLab) -> None:
    lab.settings(review_rounds=0)
    lab.plan({1: {"work": ["empty", "work"]}})
    definition = lab.define({1: (), 2: (1,)})
    assert lab.run(definition, code=1)["status"] == "blocked"
    assert lab.run(definition)["status"] == "complete"
    assert lab.merges() == {"1": 1, "2": 1}


@pytest.mark.usefixtures("runtime")
def test_E4_E5_why_a_task_is_blocked_is_told_in_the_same_words_wherever_one_looks(lab: RunLab) -> None:
    lab.settings(review_rounds=0)
    lab.plan({1: {"work": ["empty"]}})
    run = lab.run(lab.define({1: (), 2: (1,)}), code=1)
    tasks: list[dict[str, Any]] = run["tasks"]
    why = tasks[0]["reason"]
    assert (tasks[0]["state"], "without a new commit" in why) == ("blocked", True)
    assert "held by that: 2" in run["reason"]
    assert why in read_status(lab.file("status.json")).reason
    [listed] = lab.json("task", "list", "--team", TEAM, "--status", "blocked")
    assert (listed["id"], listed["reason"]) == ("1", why)
    [shown] = lab.json("status", TEAM)
    assert why in shown["run"]["reason"]
    assert [(t["id"], t["reason"]) for t in shown["tasks"] if t["status"] == "blocked"] == [("1", why)]
    assert f"blocked: {why}" in lab.headcount("status", TEAM).stdout


def test_a_failed_gate_says_what_its_command_said(lab: RunLab) -> None:
    run = lab.run(lab.define({1: ()}, workflow="verify='echo three tests failed; exit 3'"), code=1)
    done, evidence = checklist(run)["Verification gate passed"]
    assert not done
    assert evidence.endswith("ended with code 3: three tests failed")


def test_the_complexity_gate_counts_what_the_phase_added(lab: RunLab) -> None:
    run = lab.run(lab.define({1: (), 2: ()}, workflow="max_total_lines=1"), code=1)
    assert "2 lines were added, the limit is 1" in str(run["reason"])
    assert read_status(lab.file("status.json")).gate == "complexity"


def test_a_workflow_without_reviewers_says_so(lab: RunLab) -> None:
    run = lab.run(lab.define({1: ()}, reviewers=()))
    assert any("without reviews" in note for note in read_status(lab.file("status.json")).notes)
    assert run["tasks"][0]["unreviewed"]  # type: ignore[index]
    done = lab.headcount("run", lab.define({1: ()}, reviewers=()))
    assert "without reviews" in done.stdout


def test_the_lead_hears_once_that_everyone_is_gone(lab: RunLab) -> None:
    lab.run(lab.define({1: ()}))
    with lab.app() as app, app.store.read() as tx:
        mail = [m for m in tx.inbox(f"{TEAM}#1", ["lead"]) if m.subject.startswith("Swarm complete")]
    assert len(mail) == 1
    assert "- ada: clean" in mail[0].body


def test_abort_stands_down_what_is_under_way_and_starts_nothing_new(lab: RunLab) -> None:
    lab.plan({1: {"work": ["hang"]}})
    run = lab.start("run", lab.define({1: (), 2: ()}), "--json")
    lab.wait_entry("moved", about="ada#1", to="running")
    done = lab.headcount("abort", TEAM, "--reason", "wrong branch")
    assert done.returncode == 0, done.stderr
    out, _ = run.communicate(timeout=100)
    answer = json.loads(out)
    assert run.returncode == 1
    assert "wrong branch" in answer["reason"]
    assert {t["state"] for t in answer["tasks"]} == {"blocked"}
    assert [e.about for e in lab.journal("starting")] == ["ada#1"]
    wait_until(lambda: lab.marked() == [])


def test_A14_a_lead_may_abort_and_a_worker_may_not(lab: RunLab) -> None:
    lab.plan({1: {"work": ["hang"]}})
    run = lab.start("run", lab.define({1: ()}, more=[("boss", "lead")]), "--json")
    lab.wait_entry("moved", about="ada#1", to="running")
    lab.wait_entry("moved", about="boss#1", to="running")
    refused = _as_member(lab, "ada#1", "abort", TEAM, "--reason", "I am tired")
    assert refused.returncode == 5
    assert "operator, lead" in refused.stderr
    assert [e.data["action"] for e in lab.journal("refused")] == ["abort"]
    asked = _as_member(lab, "boss#1", "abort", TEAM, "--reason", "plans changed")
    assert asked.returncode == 0, asked.stderr
    out, _ = run.communicate(timeout=100)
    assert "aborted by boss#1: plans changed" in json.loads(out)["reason"]


def _as_member(lab: RunLab, key: str, *words: str) -> subprocess.CompletedProcess[str]:
    """With the environment that this member's own process has."""
    return lab.headcount(*words, **lab.environment_of(key))
