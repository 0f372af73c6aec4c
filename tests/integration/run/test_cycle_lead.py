"""A lead is cycled: its successor has the office, with its mail, its open decisions and its authority."""

from __future__ import annotations

import json

from .lab import TEAM, RunLab, wait_until
from .test_cycle_in_run import check_policy, finish, prompt_of, wait_said

LEAD = [("lea", "lead")]


def test_the_successor_of_a_lead_decides_what_was_open_and_the_old_one_may_nothing(lab: RunLab) -> None:
    lab.settings(max_attempts=1)
    lab.plan({1: {"work": ["dirty", "work"]}})
    definition = lab.define({1: ()}, reviewers=(), more=LEAD)
    run = lab.start("run", definition, "--json")
    wait_said(lab, "lea#1", "prompt: ")
    lab.wait_entry("escalated", 60)
    finish(run, code=1)  # all that is left is the lead's decision
    before = lab.environment_of("lea#1")
    answer = lab.json("cycle", "lea", "--remarks", "ada needs a second pair of eyes")
    assert (answer["successor"], answer["status"]) == ("lea#2", "running")

    # What was open is open still, and the note says so, with what is to be done.
    [escalation] = lab.json("escalations")
    assert escalation["id"] == "e1"
    prompt = prompt_of(lab, "lea#2")
    assert "[HANDOFF_TYPE]: lead_cycle" in prompt
    assert "ada needs a second pair of eyes" in prompt
    assert "Decide e1 about ada#1: 1 untracked: lying-about.txt" in prompt
    assert "headcount decide e1" in prompt

    # The office's mail goes on, the old one's token does not.
    now = lab.environment_of("lea#2")
    lab.json("send", "lead", "-s", "A question", "-m", "Which way?")
    subjects = {mail["subject"] for mail in lab.json("inbox", **now)}
    assert "A question" in subjects
    assert any(subject.startswith("Escalation: ada") for subject in subjects)
    for words, code in ((("decide", "e1", "reassign"), "bad-token"), (("inbox",), "bad-token")):
        refused = lab.headcount(*words, "--json", **before)
        assert (refused.returncode, json.loads(refused.stdout)["error"]["code"]) == (5, code)

    # The authority is the role's.
    lab.json("decide", "e1", "reassign", **now)
    assert lab.json("run", "--follow")["status"] == "complete"
    [decided] = lab.journal("decided")
    assert decided.data["by"] == "lea#2"
    check_policy(lab, 2)


def test_a_lead_cycles_itself_and_still_cannot_be_stood_down_without_its_team(lab: RunLab) -> None:
    lab.plan({1: {"work": ["half"]}})
    run = lab.start("run", lab.define({1: ()}, reviewers=(), more=LEAD), "--json")
    wait_said(lab, "ada#1", "half")
    wait_said(lab, "lea#1", "prompt: ")
    lab.json("cycle", "--self", "--remarks", "too much to remember", **lab.environment_of("lea#1"))
    assert "too much to remember" in prompt_of(lab, "lea#2")
    lab.wait_entry("moved", about="lea#2", to="running")
    alone = lab.headcount("down", TEAM, "--member", "lea", "--json")
    assert json.loads(alone.stdout)["error"]["code"] == "lead-goes-last"
    lab.json("abort", TEAM, "--reason", "seen", **lab.environment_of("lea#2"))
    finish(run, code=1)
    lab.headcount("down", TEAM, "--force", "--json")
    check_policy(lab, 2)


def test_a_lead_is_cycled_when_it_is_old(lab: RunLab) -> None:
    lab.settings(cycle_after_s=6)
    lab.plan({1: {"work": ["half", "half", "work"]}})  # the first two are followed when they are as old
    run = lab.start("run", lab.define({1: ()}, reviewers=(), more=LEAD), "--json")
    prompt_of(lab, "lea#2")
    finish(run)
    asked = next(e for e in lab.journal("stand_down") if e.data["targets"] == ["lea#1"])
    assert asked.data["by"] == "witness"
    wait_until(lambda: lab.marked() == [])
    check_policy(lab, 2)
