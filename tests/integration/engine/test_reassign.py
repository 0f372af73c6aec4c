"""The lead's decision about a stuck worker, and what it means for the task (document 5)."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headcount.app import tasks
from headcount.app.caller import Caller
from headcount.app.signals import hand_in
from headcount.app.standing_down import decide, escalations
from headcount.app.team_status import status
from headcount.cli.status_commands import describe_team
from headcount.protocol import events as ev
from headcount.protocol.member import State

from .lab import LIMIT_S, PATIENT, QUICK, TEAM, Lab

DIRTY = "echo half > half.txt; touch $HEADCOUNT_HOME/ready; sleep 1000 & wait"


def claim_and_hand_in(lab: Lab, task_id: str) -> None:
    with lab.app.store.write() as tx:
        team = tx.team_card(TEAM)
        assert team is not None
        tasks.claim_task(tx, team, "ada#1", task_id)
        hand_in(tx, team, "ada#1", task_id)


def escalate(lab: Lab) -> str:
    """A worker that claimed a task, reported done, was found dirty and is escalated."""
    lab.create(replace(PATIENT, max_attempts=1))
    task = tasks.create(lab.app, "Fix the parser")
    lab.start("ada", DIRTY)
    lab.wait_flag("ready")
    claim_and_hand_in(lab, task.id)
    lab.say(ev.DoneSignalled("ada#1", task.id))
    lab.wait_state("ada#1", lambda m: m.state is State.ESCALATED)
    assert tasks.list_tasks(lab.app)[0].status == "in_review"
    return task.id


@pytest.mark.parametrize("decision", ["reassign", "force-kill"])
def test_a_stuck_workers_task_can_be_claimed_by_another_after_the_decision(lab: Lab, decision: str) -> None:
    task_id = escalate(lab)
    decide(lab.app, "e1", decision)
    lab.wait_state("ada#1", lambda m: m.settled)
    (task,) = tasks.list_tasks(lab.app)
    assert (task.status, task.owner) == ("pending", None)
    lab.start("ben")
    lab.app.caller = Caller("worker", "ben#1", f"{TEAM}#1")
    claimed = tasks.claim(lab.app)
    assert claimed is not None and claimed.id == task_id


def test_clean_work_that_was_handed_in_stays_in_review(lab: Lab) -> None:
    lab.create()
    task = tasks.create(lab.app, "Fix the parser")
    lab.start("ada")
    claim_and_hand_in(lab, task.id)
    answer = lab.ask("ada")
    lab.approve(answer)
    lab.finish(answer)
    assert tasks.list_tasks(lab.app)[0].status == "in_review"


def test_the_escalation_carries_the_captured_screen(lab: Lab) -> None:
    lab.create(replace(QUICK, max_attempts=3))
    lab.start("ada", f"echo NO IDEA WHAT TO DO; {DIRTY}")
    lab.wait_flag("ready")
    lab.say(ev.DoneSignalled("ada#1", None))
    lab.wait_state("ada#1", lambda m: m.state is State.ESCALATED)
    with lab.app.store.read() as tx:
        (mail,) = [m for m in tx.inbox(f"{TEAM}#1", ["lead"]) if m.template == "WORKER_ESCALATION"]
    assert "## Screen\n" in mail.body
    assert "NO IDEA WHAT TO DO" in mail.body


def test_after_a_complete_closing_the_teams_directory_is_gone(lab: Lab) -> None:
    lab.create()
    lab.start("ada")
    place = Path(lab.app.home, "teams", TEAM)
    assert (place / "prompts").is_dir() or (place / "witness").is_dir()
    answer = lab.ask()
    lab.approve(answer)
    answer = lab.finish(answer)
    assert answer["deleted"] is True
    assert not place.exists()
    assert os.path.isfile(f"{answer['archive']}/team/witness/state.json")


def test_state_json_of_the_witness_has_the_fields_of_the_requirement(lab: Lab) -> None:
    task_id = escalate(lab)
    file = Path(lab.app.home, "teams", TEAM, "witness", "state.json")
    pending: dict[str, Any] = {}
    deadline = time.monotonic() + LIMIT_S  # the engine writes it after the commit
    while pending.get("attempts") != 1:
        assert time.monotonic() < deadline, pending
        pending = json.loads(file.read_text())["pending_verifications"].get("ada", {})
    assert list(pending) == ["issue_id", "signaled_at", "attempts", "last_issues"]
    assert pending["issue_id"] == task_id
    assert pending["signaled_at"].endswith("+00:00")
    assert "half.txt" in pending["last_issues"][0]


def test_human_is_shown_as_the_states_page_says(lab: Lab) -> None:
    escalate(lab)
    decide(lab.app, "e1", "human")
    lab.wait_state("ada#1", lambda m: m.state is State.RUNNING)
    assert " parked " in describe_team(status(lab.app, TEAM)[0])[2]
    assert [e["state"] for e in escalations(lab.app, every=True)] == ["decided"]
    answer = lab.ask()
    lab.approve(answer)
    lab.wait_state("ada#1", lambda m: m.state is State.ESCALATED)
    decide(lab.app, "e2", "human")
    assert [e["state"] for e in escalations(lab.app)] == ["parked"]
    assert "Your decision: e2." in "\n".join(describe_team(status(lab.app, TEAM)[0]))
