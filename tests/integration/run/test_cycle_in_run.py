"""Members of a run are cycled: the next generation takes the task over, with everything that goes with it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .lab import TEAM, RunLab, check_I4, most_alive, wait_until

PLACES = {"plain": "", "tmux": "[agents]\nterminal = true\n"}
CREW = 3  # a worker and two reviewers


def finish(run: subprocess.Popen[str], code: int = 0) -> dict[str, Any]:
    out, err = run.communicate(timeout=100)
    assert run.returncode == code, (run.returncode, out, err)
    answer: dict[str, Any] = json.loads(out)
    return answer


def wait_said(lab: RunLab, who: str, words: str) -> None:
    wait_until(lambda: any(s["who"] == who and words in s["text"] for s in lab.said()))


def prompt_of(lab: RunLab, who: str) -> str:
    wait_said(lab, who, "prompt: ")
    return next(s["text"] for s in lab.said() if s["who"] == who)


def workspace_of(lab: RunLab, key: str) -> Any:
    with lab.app() as app, app.store.read() as tx:
        return tx.fact(f"{TEAM}#1", key, "workspace")


def keys_of(lab: RunLab, task: str, role: str) -> list[str]:
    seats = [e.data for e in lab.journal("task_member") if e.about == task]
    return [str(seat["key"]) for seat in seats if seat["role"] == role]


def check_policy(lab: RunLab, members: int = CREW, slots: int = 1) -> None:
    """From the journal: never more alive than the policy lets, nobody before its predecessor is gone."""
    journal = lab.journal()
    assert most_alive(journal) <= members
    check_I4(journal, slots)
    here: set[str] = set()
    for entry in journal:
        name = entry.about.partition("#")[0]
        if entry.kind == "starting":
            assert name not in here, f"{entry.about} starts beside its predecessor"
            here.add(name)
        elif entry.kind == "gone":
            here.discard(name)
    wait_until(lambda: lab.marked() == [])


@pytest.mark.parametrize("place", PLACES)
def test_a_worker_of_a_run_is_cycled_and_its_successor_ends_the_task(lab: RunLab, place: str) -> None:
    lab.settings(PLACES[place], max_members=CREW)
    lab.plan({1: {"work": ["half", "work"]}})
    run = lab.start("run", lab.define({1: (), 2: (1,)}), "--json")
    wait_said(lab, "ada#1", "half")
    answer = lab.json("cycle", "ada", "--remarks", "the second half is drafted")
    assert answer["successor"] == "ada#2"
    assert answer["status"] == "running"
    ended = finish(run)
    assert ended["status"] == "complete"
    first = next(t for t in ended["tasks"] if t["id"] == "1")
    assert (first["cycles"], first["restarts"], first["rounds"]) == (1, 0, 0)
    assert keys_of(lab, "1", "worker") == ["ada#1", "ada#2"]
    # Its commits, and what it had not committed, are in what was merged.
    assert lab.merged_file(1) == "half done by ada#1\na draft\ndone by ada#2\n"
    assert lab.merges() == {"1": 1, "2": 1}
    assert workspace_of(lab, "ada#1") == workspace_of(lab, "ada#2")
    prompt = prompt_of(lab, "ada#2")
    assert "# Task 1: Part 1" in prompt
    assert "[HANDOFF_TYPE]: member_cycle" in prompt
    assert "the second half is drafted" in prompt
    # The draft was salvaged as well, and can be had back whatever becomes of the task.
    assert lab.journal("salvaged")[0].about == "ada#1"
    assert [e.about for e in lab.journal("handover_acted")] == ["ada#2"]
    check_policy(lab)


def test_a_worker_cycles_itself_from_within_its_task(lab: RunLab) -> None:
    """As a client's hook does before its context is compacted."""
    lab.plan({1: {"work": ["cycle", "work"]}})
    lab.run(lab.define({1: ()}, reviewers=()))
    assert lab.merged_file(1) == "half done by ada#1\na draft\ndone by ada#2\n"
    assert "my context is full" in prompt_of(lab, "ada#2")
    check_policy(lab, 1)


def test_a_worker_whose_client_is_about_to_compact_its_context_is_cycled_if_the_policy_says_so(
    lab: RunLab,
) -> None:
    lab.settings(cycle_on_compact=True)
    lab.plan({1: {"work": ["compact", "work"]}})
    lab.run(lab.define({1: ()}, reviewers=()))
    assert lab.merged_file(1) == "half done by ada#1\na draft\ndone by ada#2\n"
    assert "Its context was about to be compacted." in prompt_of(lab, "ada#2")
    assert [e.about for e in lab.journal("compacting")] == ["ada#1"]
    check_policy(lab, 1)


def test_a_worker_of_a_run_is_cycled_when_it_is_old(lab: RunLab) -> None:
    lab.settings(cycle_after_s=8)  # its successor must be done by that age, or is cycled in its turn
    lab.plan({1: {"work": ["half", "work"]}})
    lab.run(lab.define({1: ()}, reviewers=()))
    assert keys_of(lab, "1", "worker")[:2] == ["ada#1", "ada#2"]
    asked = next(e for e in lab.journal("stand_down") if e.data["targets"] == ["ada#1"])
    assert asked.data["by"] == "witness"
    check_policy(lab, 1)


def test_a_cycled_worker_that_is_dirty_is_sent_back_first_and_then_followed(lab: RunLab) -> None:
    lab.plan({1: {"work": ["half", "work"], "answers": ["stay"]}})
    run = lab.start("run", lab.define({1: ()}, reviewers=()), "--json")
    wait_said(lab, "ada#1", "half")
    lab.json("cycle", "ada")
    finish(run)
    [dirty] = lab.journal("found_dirty")
    assert dirty.about == "ada#1"
    assert "task-1.txt" in dirty.data["issues"][0]
    assert lab.merged_file(1) == "half done by ada#1\na draft\ndone by ada#2\n"
    assert lab.git("log", "--format=%s", "-1", "--skip=1", f"headcount/{TEAM}/integration^2") == "clean up\n"
    check_policy(lab, 1)


def test_a_cycled_worker_that_is_escalated_and_killed_is_followed_from_its_salvage(lab: RunLab) -> None:
    lab.settings(max_attempts=1, tasks_at_once=1)
    lab.plan({1: {"work": ["half", "work"], "answers": ["stay"]}})
    definition = lab.define({1: (), 2: ()}, reviewers=())
    run = lab.start("run", definition, "--json")
    wait_said(lab, "ada#1", "half")
    done = lab.headcount("cycle", "ada", "--remarks", "half of it", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["status"] == "escalated"
    assert json.loads(done.stdout)["successor"] is None
    lab.decide_all("force-kill")
    if run.wait(100) == 1:  # the second task was over before: all that was left was our decision
        run = lab.start("run", "--follow", "--json")
    assert finish(run)["status"] == "complete"
    workers = keys_of(lab, "1", "worker")
    assert len(workers) == 2
    assert lab.merged_file(1).startswith("half done by ada#1\na draft\ndone by ")
    assert "half of it" in prompt_of(lab, workers[1])
    check_policy(lab, 2, 1)


def test_a_worker_whose_workspace_is_clean_when_it_is_cycled_has_not_done_its_task(lab: RunLab) -> None:
    lab.plan({1: {"work": ["half", "work"], "answers": ["stay"]}})
    run = lab.start("run", lab.define({1: ()}, reviewers=()), "--json")
    wait_said(lab, "ada#1", "half")
    place = workspace_of(lab, "ada#1")["path"]
    subprocess.run(["git", "checkout", "--quiet", "."], cwd=place, env=lab.env, check=True)
    lab.json("cycle", "ada")
    finish(run)
    assert [e.about for e in lab.journal("found_dirty", "salvaged")] == []
    assert lab.merged_file(1) == "half done by ada#1\ndone by ada#2\n"
    check_policy(lab, 1)


def test_a_worker_that_refuses_to_be_cycled_goes_on(lab: RunLab) -> None:
    lab.plan({1: {"work": ["half"], "answers": ["nearly done"]}})
    run = lab.start("run", lab.define({1: ()}, reviewers=()), "--json")
    wait_said(lab, "ada#1", "half")
    done = lab.headcount("cycle", "ada", "--json")
    assert (done.returncode, json.loads(done.stdout)["status"]) == (1, "rejected")
    lab.json("abort", TEAM, "--reason", "seen enough")
    ended = finish(run, code=1)
    assert ended["tasks"][0]["cycles"] == 0
    assert keys_of(lab, "1", "worker") == ["ada#1"]
    check_policy(lab, 1)


def test_a_worker_is_cycled_while_its_work_is_reviewed_and_its_successor_hears_the_words(lab: RunLab) -> None:
    lab.plan({1: {"spec": ["silent", "name it better", "pass"]}})
    run = lab.start("run", lab.define({1: ()}, reviewers=[("spec", "spec-reviewer")]), "--json")
    lab.wait_entry("task_member", 60, key="spec#1", role="spec-reviewer")
    assert lab.json("cycle", "ada")["successor"] == "ada#2"
    assert " is under review" in prompt_of(lab, "ada#2")
    # The first review said nothing; its successor does.
    assert lab.json("cycle", "spec", "--remarks", "look at the names")["successor"] == "spec#2"
    ended = finish(run)
    assert ended["tasks"][0]["cycles"] == 2
    assert ended["tasks"][0]["rounds"] == 1
    [told] = [s for s in lab.said() if "Changes requested" in s["text"]]
    assert told["who"] == "ada#2"
    assert "spec-reviewer (spec#2): name it better" in told["text"]
    assert "look at the names" in prompt_of(lab, "spec#2")
    assert lab.merged_file(1) == "done by ada#1\nimproved\n"
    check_policy(lab, 2)


def test_a_reviewer_that_has_said_its_words_is_followed_by_one_that_waits(lab: RunLab) -> None:
    lab.plan({1: {"quality": ["silent", "pass"]}})
    run = lab.start("run", lab.define({1: ()}), "--json")
    lab.wait_entry("reviewed", 60, about="spec#1")
    assert lab.json("cycle", "spec")["successor"] == "spec#2"
    assert "No commit waits for your review" in prompt_of(lab, "spec#2")
    lab.wait_entry("task_member", 60, key="quality#1", role="code-quality-reviewer")
    assert lab.json("cycle", "quality")["successor"] == "quality#2"
    finish(run)
    assert [e.about for e in lab.journal("reviewed")] == ["spec#1", "quality#2"]
    check_policy(lab)


def test_a_successor_that_does_not_start_blocks_its_task_with_the_reason_and_its_handover_stays_open(
    lab: RunLab,
) -> None:
    lab.settings(task_restarts=0)
    lab.plan({1: {"work": ["half", "work"]}})
    program = lab.desk / "program"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    program.chmod(0o700)
    definition = Path(lab.define({1: ()}, reviewers=()))
    definition.write_text(definition.read_text().replace(repr(sys.executable), repr(str(program))))
    run = lab.start("run", str(definition), "--json")
    wait_said(lab, "ada#1", "half")
    program.rename(lab.desk / "away")
    done = lab.headcount("cycle", "ada", "--remarks", "half of it", "--json")
    assert (done.returncode, json.loads(done.stdout)["successor"]) == (1, "ada#2")
    ended = finish(run, code=1)
    assert ended["tasks"][0]["reason"] == "ada#2 left before it was done (not started)"
    [failed] = lab.journal("start_failed")
    assert failed.about == "ada#2"
    assert lab.journal("handover_acted") == []
    # What it was to go on with is safe: in the salvage, and for whoever tries it again.
    [saved] = lab.journal("salvaged")
    assert "task-1.txt" in lab.git("ls-tree", "-r", "--name-only", saved.data["ref"])
    (lab.desk / "away").rename(program)
    lab.run(str(definition))
    assert "half of it" in prompt_of(lab, "ada#3")
    assert [e.about for e in lab.journal("handover_acted")] == ["ada#3"]
    check_policy(lab, 1)


@pytest.mark.parametrize("moment", ["stand_down", "answered", "salvaged", "gone", "task_cycled"])
def test_a_run_killed_in_the_middle_of_a_cycle_comes_to_the_same_end(lab: RunLab, moment: str) -> None:
    lab.settings(max_members=CREW)
    lab.plan({1: {"work": ["half", "work"]}})
    definition = lab.define({1: ()})
    run = lab.start("run", definition, "--json")
    wait_said(lab, "ada#1", "half")
    lab.json("cycle", "ada", "--no-wait", "--remarks", "half of it")
    about = "" if moment == "stand_down" else "1" if moment == "task_cycled" else "ada#1"
    lab.wait_entry(moment, 60, about=about)
    lab.kill_run(run)
    assert lab.run(definition)["status"] == "complete"
    assert keys_of(lab, "1", "worker") == ["ada#1", "ada#2"]
    assert lab.merged_file(1) == "half done by ada#1\na draft\ndone by ada#2\n"
    assert lab.merges() == {"1": 1}
    assert len(lab.journal("task_cycled")) == 1
    check_policy(lab)


def test_an_aborted_run_has_no_successor_for_whoever_is_being_cycled(lab: RunLab) -> None:
    lab.settings()
    # It never answers; the run is aborted while it is waited for.
    (lab.repo / "headcount.toml").write_text("[policy]\nanswer_timeout_s = 12\n")
    lab.plan({1: {"work": ["half"], "answers": ["mute"]}})
    run = lab.start("run", lab.define({1: ()}, reviewers=()), "--json")
    wait_said(lab, "ada#1", "half")
    lab.json("cycle", "ada", "--no-wait")
    lab.json("abort", TEAM, "--reason", "enough")
    ended = finish(run, code=1)
    assert ended["tasks"][0]["reason"] == "aborted by operator: enough"
    assert keys_of(lab, "1", "worker") == ["ada#1"]
    assert lab.git("show", f"headcount/{TEAM}/ada:task-1.txt") == "half done by ada#1\na draft\n"
    done = lab.headcount("cycle", "ada", "--json")
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (1, "gone")
    check_policy(lab, 1)
