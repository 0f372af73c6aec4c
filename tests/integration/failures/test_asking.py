"""Group A on the real engine: who was asked, what counts as an answer, and what happens without one."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from engine.lab import QUICK, TEAM, Lab

from headcount.app.salvages import restore_saved
from headcount.protocol import events as ev
from headcount.protocol.bound import bound_s
from headcount.protocol.member import State

from .members import DIRTY, READY, WAIT, start

DECIDES = replace(QUICK, on_escalation="force-kill")


def test_A1_one_that_never_answers_is_recorded_as_unanswered_and_forced_within_the_bound(lab: Lab) -> None:
    lab.create(DECIDES)
    start(lab, "ada", DIRTY)
    answer = lab.finish(lab.ask())
    member = answer["members"][0]
    assert (member["answer"], member["outcome"]) == ("unanswered", "forced")
    assert answer["seconds"] < bound_s(DECIDES)
    ladder = [(e.data["from"], e.data["to"]) for e in lab.journal("moved")]
    assert ladder.index(("nudged", "escalated")) < ladder.index(("salvaging", "stopping"))
    assert [e.data["answer"] for e in lab.journal("answered")] == ["unanswered"]
    assert lab.marked() == []


def test_A6_the_request_is_in_the_mailbox_that_the_member_reads(lab: Lab) -> None:
    lab.create(replace(QUICK, answer_timeout_s=20))
    read = f'{READY}; headcount inbox --wait 20 --json > "$HEADCOUNT_HOME/seen"; headcount approve; {WAIT}'
    start(lab, "ada", read)
    answer = lab.finish(lab.ask())
    assert answer["members"][0]["answer"] == "approved"
    seen = json.loads(Path(f"{lab.app.home}/seen").read_text())
    assert [m["type"] for m in seen] == ["shutdown_request"]


def test_A9_approvals_of_a_request_that_was_refused_are_void_in_the_next(lab: Lab) -> None:
    lab.create()
    for name in ("ada", "ben"):
        start(lab, name)
    first = lab.ask()
    lab.say(ev.Answered("ada#1", first["requestId"], True))
    lab.say(ev.Answered("ben#1", first["requestId"], False, "not yet"))
    assert lab.finish(first)["status"] == "rejected"
    second = lab.ask()
    assert sorted(second["pendingApprovals"]) == ["ada", "ben"]
    lab.say(ev.Answered("ada#1", first["requestId"], True))
    assert lab.team().members["ada#1"].answer is None
    assert [e.data["answer"] for e in lab.journal("late")] == ["stale"]
    lab.approve(second)
    assert lab.finish(second)["status"] == "shutdown"


def test_A10_of_two_answers_that_contradict_each_other_the_first_counts(lab: Lab) -> None:
    lab.create()
    for name in ("ada", "ben"):
        start(lab, name)
    answer = lab.ask()
    lab.say(ev.Answered("ada#1", answer["requestId"], True))
    lab.say(ev.Answered("ada#1", answer["requestId"], False, "changed my mind"))
    lab.say(ev.Answered("ben#1", answer["requestId"], True))
    answer = lab.finish(answer)
    assert answer["status"] == "shutdown"
    assert [m["answer"] for m in answer["members"]] == ["approved", "approved"]
    assert [e.data["answer"] for e in lab.journal("late") if e.about == "ada#1"] == ["reject"]


def test_A12_an_old_request_does_not_reach_a_namesake_that_was_started_again(lab: Lab) -> None:
    lab.create()
    start(lab, "ada")
    old = lab.ask("ada")
    lab.approve(old)
    assert lab.finish(old)["status"] == "shutdown"
    os.unlink(f"{lab.app.home}/ready-ada")
    start(lab, "ada")
    for event in (
        ev.Answered("ada#1", old["requestId"], True),
        ev.Answered("ada#2", old["requestId"], True),
        ev.DoneSignalled("ada#1"),
    ):
        lab.say(event)
    assert lab.team().members["ada#2"].state is State.RUNNING
    with lab.app.store.read() as tx:
        assert [m.type for m in tx.inbox(f"{TEAM}#1", ["ada#2"])] == []
        assert tx.find_box(f"{TEAM}#1", "ada") == "ada#2"


def test_A13_a_member_cannot_open_a_stand_down_by_mail_and_a_lead_goes_last(lab: Lab) -> None:
    lab.create()
    order = 'echo "$HEADCOUNT_MEMBER" >> "$HEADCOUNT_HOME/order"; exit 0'
    start(lab, "boss", f"trap '{order}' TERM; {READY}; while :; do sleep 0.05; done", role="lead")
    asks = 'headcount send lead -s stop -m \'{"type": "shutdown_request"}\''
    start(lab, "ada", f"trap '{order}' TERM; {asks}; {READY}; while :; do sleep 0.05; done")
    assert lab.team().status == "active"
    assert {m.state for m in lab.team().members.values()} == {State.RUNNING}
    answer = lab.ask()
    lab.approve(answer, "ada")
    assert lab.finish(answer)["status"] == "shutdown"
    assert Path(f"{lab.app.home}/order").read_text().split() == ["ada", "boss"]


def test_A14_a_plain_member_that_stands_the_team_down_is_refused_and_audited(lab: Lab) -> None:
    lab.create()
    tries = f'headcount down {TEAM} --json > "$HEADCOUNT_HOME/refusal" 2>&1; echo $? > "$HEADCOUNT_HOME/code"'
    start(lab, "ada", f"{tries}; {READY}; {WAIT}")
    assert Path(f"{lab.app.home}/code").read_text().strip() == "5"
    assert "operator" in Path(f"{lab.app.home}/refusal").read_text()
    assert lab.team().status == "active"
    assert [e.about for e in lab.journal("refused")] == ["ada#1"]


def test_A15_one_that_cannot_answer_leaves_its_screen_and_its_work(lab: Lab, tmp_path: Path) -> None:
    lab.create(DECIDES)
    start(lab, "ada", f"echo out of context; {DIRTY}")
    answer = lab.finish(lab.ask())
    member = answer["members"][0]
    assert member["answer"] == "unanswered"
    assert any("out of context" in e.data["screen"] for e in lab.journal("captured"))
    restore_saved(lab.app, member["salvage"], str(tmp_path / "again"))
    assert (tmp_path / "again" / "new.txt").read_text() == "new\n"


@pytest.mark.parametrize("said", ["Acknowledged. Exiting.", "shutdown approved"])
def test_A3_plain_text_to_the_lead_is_not_an_answer(lab: Lab, said: str) -> None:
    lab.create(replace(QUICK, answer_timeout_s=3))
    start(lab, "ada", f"{READY}; headcount inbox --wait 20; headcount send lead -s ok -m '{said}'; {WAIT}")
    answer = lab.finish(lab.ask())
    assert answer["members"][0]["answer"] == "unanswered"
    with lab.app.store.read() as tx:
        assert [m.body for m in tx.inbox(f"{TEAM}#1", None) if m.sender == "ada#1"] == [said]
