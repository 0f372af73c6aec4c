"""Group A on the real engine: who was asked, what counts as an answer, and what happens without one.

Members are processes, without a terminal and in one (`runtime`), and answer with the commands that they have.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from engine.lab import PATIENT, QUICK, TEAM, Lab

from headcount.app.salvages import restore_saved
from headcount.protocol import events as ev
from headcount.protocol.bound import bound_s
from headcount.protocol.member import State

from .members import (
    APPROVES,
    ASKED,
    DIRTY,
    READY,
    WAIT,
    headcount,
    kill_agent,
    raise_flag,
    rejects,
    start,
    tell,
    told,
    until,
)

DECIDES = replace(QUICK, on_escalation="force-kill")


@pytest.mark.usefixtures("runtime")
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


_TALKS = """\
import json, subprocess, sys
asked = json.loads(subprocess.check_output(["headcount", "inbox", "--unread", "--wait", "30", "--json"]))
server = subprocess.Popen(["headcount", "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
def call(method, **params):
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    server.stdin.write(json.dumps(message) + "\\n")
    server.stdin.flush()
    print(server.stdout.readline())
client = {"name": "t", "version": "1"}
call("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
for type in sys.argv[1:]:
    arguments = {"type": type, "recipient": "lead", "request_id": asked[-1]["requestId"]}
    call("tools/call", name="send_message", arguments=arguments)
server.stdin.close()
server.wait()
"""


@pytest.mark.usefixtures("runtime")
def test_A2_an_approval_under_another_name_counts_and_an_unknown_one_is_told_so(
    lab: Lab, tmp_path: Path
) -> None:
    """Through the tools, as an agent's client calls them from inside of the member."""
    lab.create(PATIENT)
    talks = tmp_path / "talks.py"
    talks.write_text(_TALKS)
    # The others wait for ada: when all have approved, who has not yet told what it heard never will.
    for name, types, first in [
        ("ada", "shutdown_perhaps shutdown_acknowledged", "true"),
        ("ben", "shutdown_approved", until("ada-told")),
        ("cy", "approve_shutdown", until("ada-told")),
    ]:
        talk = tell(f"python3 {talks} {types}", f"{name}-told")
        start(lab, name, f"{READY}; {first}; {talk}; {WAIT}")
    answer = lab.finish(lab.ask())
    assert answer["status"] == "shutdown"
    assert [(m["answer"], m["outcome"]) for m in answer["members"]] == [("approved", "clean")] * 3
    said, _ = told(lab, "ada-told")
    assert "shutdown_perhaps" in said


@pytest.mark.usefixtures("runtime")
def test_A3_plain_text_to_the_lead_is_not_an_answer(lab: Lab) -> None:
    said = "Acknowledged. Exiting."
    lab.create(replace(QUICK, answer_timeout_s=8))
    tells = tell(f"headcount send lead -s ok -m '{said}'", "sent")
    # What ends it does not end what it says, however late it comes to that.
    start(lab, "ada", f"trap '' TERM; {READY}; {ASKED}; {tells}; trap - TERM; {WAIT}")
    answer = lab.finish(lab.ask())
    assert answer["members"][0]["answer"] == "unanswered"
    assert told(lab, "sent")[1] == 0
    with lab.app.store.read() as tx:
        assert [m.body for m in tx.inbox(f"{TEAM}#1", None) if m.sender == "ada#1"] == [said]


@pytest.mark.usefixtures("runtime")
def test_A5_one_that_died_while_nobody_looked_is_not_waited_for(lab: Lab) -> None:
    lab.create(replace(PATIENT, answer_timeout_s=3600))
    start(lab, "ada", DIRTY)
    lab.stop_driving()
    kill_agent(lab, "ada#1")
    asked = lab.ask()
    lab.drive()
    answer = lab.finish(asked)
    [member] = answer["members"]
    assert answer["status"] == "shutdown"
    assert (member["answer"], member["salvage"] is not None) == ("exited", True)
    assert lab.marked() == []


@pytest.mark.parametrize("joins", [False, True], ids=["at once", "later"])
def test_an_operator_in_a_hurry_waits_for_no_answer_and_loses_nothing(lab: Lab, joins: bool) -> None:
    lab.create(replace(PATIENT, answer_timeout_s=3600))
    start(lab, "ada", DIRTY)
    if joins:
        waiting = headcount(lab, "down", TEAM, "--timeout", "0.5", code=1)
        assert (waiting["status"], waiting["pendingApprovals"]) == ("pending_shutdown", ["ada"])
    answer = headcount(lab, "down", TEAM, "--now")
    [member] = answer["members"]
    assert (answer["status"], member["answer"]) == ("shutdown", "unanswered")
    assert (member["outcome"], member["salvage"] is not None) == ("forced", True)
    assert [entry.data["by"] for entry in lab.journal("answers_not_awaited")] == ["operator"]
    assert lab.marked() == []


def test_A6_the_request_is_in_the_mailbox_that_the_member_reads(lab: Lab) -> None:
    lab.create(PATIENT)
    read = f'{READY}; headcount inbox --wait 20 --json > "$HEADCOUNT_HOME/seen"; headcount approve; {WAIT}'
    start(lab, "ada", read)
    answer = lab.finish(lab.ask())
    assert answer["members"][0]["answer"] == "approved"
    seen = json.loads(Path(f"{lab.app.home}/seen").read_text())
    assert [m["type"] for m in seen] == ["shutdown_request"]


def test_A7_everyone_is_asked_once_with_a_message_of_its_own_and_one_request_id(lab: Lab) -> None:
    """Also when the one who asks is gone in the middle, and somebody asks again."""
    lab.create(PATIENT)
    names = [f"m{n}" for n in range(6)]
    for name in names:
        start(lab, name, APPROVES if name != "m0" else f"{READY}; {until('again')}; {APPROVES}")
    asked = lab.ask()
    lab.stop_driving()
    assert lab.ask()["requestId"] == asked["requestId"]
    lab.drive()
    raise_flag(lab, "again")
    assert lab.finish(asked)["status"] == "shutdown"
    with lab.app.store.read() as tx:
        requests = [m for m in tx.inbox(f"{TEAM}#1", None) if m.type == "shutdown_request"]
    assert sorted(m.to for m in requests) == [f"{name}#1" for name in names]
    assert len({m.id for m in requests}) == len(names)
    assert {m.request_id for m in requests} == {asked["requestId"]}
    assert [m["answer"] for m in lab.ask()["members"]] == ["approved"] * len(names)


@pytest.mark.usefixtures("runtime")
def test_A8_the_reason_of_a_refusal_is_shown_word_for_word_and_the_team_is_usable_again(lab: Lab) -> None:
    lab.create(PATIENT)
    why = 'I am "in the middle"\nof $something'
    start(lab, "ada", APPROVES)
    start(lab, "ben", f"{READY}; {ASKED}; {rejects(why)}; {WAIT}")
    answer = headcount(lab, "down", TEAM, code=1)
    assert answer["status"] == "rejected"
    assert answer["rejectedBy"] == [{"name": "ben", "reason": why}]
    team = lab.team()
    assert str(team.status) == "active"
    assert {m.state for m in team.members.values()} == {State.RUNNING}, "nobody was stopped"
    start(lab, "cy")


@pytest.mark.usefixtures("runtime")
def test_A9_approvals_of_a_request_that_was_refused_are_void_in_the_next(lab: Lab) -> None:
    lab.create(PATIENT)
    approved = 'touch "$HEADCOUNT_HOME/approved"'
    stale = f"{until('again')}; {tell('headcount approve ${2%.}', 'stale')}"
    first = f"set -- $(headcount approve); {approved}"
    start(lab, "ada", f"{READY}; {ASKED}; {first}; {stale}; {until('go')}; headcount approve; {WAIT}")
    refuses = f"{until('approved')}; {rejects('not yet')}"
    start(lab, "ben", f"{READY}; {refuses}; {until('again')}; headcount approve; {WAIT}")
    assert lab.finish(lab.ask())["status"] == "rejected"
    second = lab.ask()
    assert sorted(second["pendingApprovals"]) == ["ada", "ben"]
    raise_flag(lab, "again")
    said, code = told(lab, "stale")
    assert (code, second["requestId"] in said) == (2, True), said
    assert lab.team().members["ada#1"].answer is None
    raise_flag(lab, "go")
    assert lab.finish(second)["status"] == "shutdown"
    [recorded] = lab.journal("refused")
    assert (recorded.about, recorded.data["code"]) == ("ada#1", "unknown-request")


@pytest.mark.usefixtures("runtime")
def test_A10_of_two_answers_that_contradict_each_other_the_first_counts(lab: Lab) -> None:
    lab.create(PATIENT)
    twice = f"headcount approve; {tell(rejects('changed my mind'), 'second')}"
    start(lab, "ada", f"{READY}; {ASKED}; {twice}; {tell('headcount approve', 'repeat')}; {WAIT}")
    start(lab, "ben", f"{READY}; {until('go')}; headcount approve; {WAIT}")
    asked = lab.ask()
    assert told(lab, "repeat")[1] == 0, "the same again is no news"
    said, code = told(lab, "second")
    assert (code, "first answer counts" in said) == (1, True), said
    raise_flag(lab, "go")
    answer = lab.finish(asked)
    assert answer["status"] == "shutdown"
    assert [m["answer"] for m in answer["members"]] == ["approved", "approved"]
    assert [e.data["answer"] for e in lab.journal("late") if "answer" in e.data] == ["reject"]


def test_A12_an_old_request_does_not_reach_a_namesake_that_was_started_again(lab: Lab) -> None:
    lab.create(PATIENT)
    start(lab, "ada")
    old = lab.ask("ada")
    lab.approve(old)
    assert lab.finish(old)["status"] == "shutdown"
    start(lab, "ada")
    stale = (
        ev.Answered("ada#1", old["requestId"], True),
        ev.Answered("ada#2", old["requestId"], True),
        ev.DoneSignalled("ada#1"),
    )
    lab.say(*stale)
    assert lab.team().members["ada#2"].state is State.RUNNING
    with lab.app.store.read() as tx:
        assert [m.type for m in tx.inbox(f"{TEAM}#1", ["ada#2"])] == []
        assert (latest := tx.member_card(f"{TEAM}#1", "ada")) is not None and latest.key == "ada#2"
    new = lab.ask("ada")
    lab.say(*stale)
    asked = lab.team().members["ada#2"]
    assert (asked.state, asked.answer, asked.ask) == (State.ASKED, None, new["requestId"])


@pytest.mark.usefixtures("runtime")
def test_A13_a_member_cannot_open_a_stand_down_by_mail_and_a_lead_goes_last(lab: Lab) -> None:
    lab.create(replace(PATIENT, stop_grace_s=30))
    # Ada takes its time: a lead that is told to end together with it would be first.
    wait = '[ "$HEADCOUNT_MEMBER" = boss ] || sleep 1'
    order = f'trap \'{wait}; echo "$HEADCOUNT_MEMBER" >> "$HEADCOUNT_HOME/order"; exit 0\' TERM'
    ends = "while :; do sleep 0.05; done"
    start(lab, "boss", f"{order}; {READY}; {ends}", role="lead")
    asks = 'headcount send lead -s stop -m \'{"type": "shutdown_request"}\''
    start(lab, "ada", f"{order}; {asks}; {READY}; {ASKED}; headcount approve; {ends}")
    assert lab.team().status == "active"
    assert {m.state for m in lab.team().members.values()} == {State.RUNNING}
    assert lab.finish(lab.ask())["status"] == "shutdown"
    assert Path(f"{lab.app.home}/order").read_text().split() == ["ada", "boss"]


@pytest.mark.usefixtures("runtime")
def test_A14_a_plain_member_that_stands_the_team_down_is_refused_and_audited(lab: Lab) -> None:
    lab.create()
    start(lab, "ada", f"{tell(f'headcount down {TEAM} --json', 'refusal')}; {READY}; {WAIT}")
    said, code = told(lab, "refusal")
    assert (code, "operator" in said) == (5, True), said
    assert lab.team().status == "active"
    assert [e.about for e in lab.journal("refused")] == ["ada#1"]


@pytest.mark.usefixtures("runtime")
def test_A15_one_that_cannot_answer_leaves_its_screen_and_its_work(lab: Lab, tmp_path: Path) -> None:
    lab.create(DECIDES)
    start(lab, "ada", f"echo out of context; {DIRTY}")
    answer = lab.finish(lab.ask())
    member = answer["members"][0]
    assert (member["answer"], member["outcome"]) == ("unanswered", "forced")
    [captured] = lab.journal("captured")
    assert "out of context" in captured.data["screen"]
    restore_saved(lab.app, member["salvage"], str(tmp_path / "again"))
    assert (tmp_path / "again" / "new.txt").read_text() == "new\n"
    assert lab.marked() == []
