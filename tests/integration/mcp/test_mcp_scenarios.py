"""What goes wrong elsewhere, at this layer: real servers on a real store, members by their tokens."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp_lab import HEADCOUNT, TEAM, Lab, Server

from headcount.app.lock import is_driven
from headcount.protocol.member import State

TO_LEAD = {"type": "message", "recipient": "lead"}


@pytest.fixture
def crew(lab: Lab) -> Lab:
    lab.add_team()
    return lab


def ask(lab: Lab, *names: str) -> str:
    """A stand-down of the whole team, asked for by the operator without an engine; its request id."""
    from headcount.app.standing_down import stand_down

    report = stand_down(lab.app, TEAM, names or None, "Task complete")
    return str(report["requestId"])


def member(lab: Lab, key: str) -> Any:
    """As the rules see it after they heard everything that was said."""
    return lab.app.hear(TEAM).members[key]


# --- answers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        {"type": "shutdown_response", "approve": True, "request_id": "R"},
        {"type": "shutdown_acknowledged", "request_id": "R"},
        {"type": "shutdown_approved", "requestId": "R"},
        {"type": "approve_shutdown", "requestId": "R"},
        {"type": "message", "content": json.dumps({"type": "shutdown_approved", "requestId": "R"})},
    ],
    ids=lambda said: said["type"],
)
def test_A2_an_approval_counts_under_every_name(crew: Lab, said: dict[str, Any]) -> None:
    alice, _ = crew.server(crew.add_member("alice")), crew.add_member("bob")
    request = ask(crew)
    said = json.loads(json.dumps(said).replace('"R"', f'"{request}"').replace('\\"R\\"', f'\\"{request}\\"'))
    answer = alice.ok("send_message", recipient="lead", **said)
    assert answer["answer"] == "approved"
    assert member(crew, "alice#1").answer == "approved"


def test_A2_an_unknown_reply_is_told_at_once_and_leaves_the_question_open(crew: Lab) -> None:
    alice = crew.server(crew.add_member("alice"))
    ask(crew)
    error = alice.call("send_message", type="shutdown_perhaps", recipient="lead").error
    assert "type" in error["what"]
    assert member(crew, "alice#1").answer is None


def test_A3_plain_text_is_delivered_and_is_not_an_answer(crew: Lab) -> None:
    alice, _ = crew.server(crew.add_member("alice")), crew.add_member("bob")
    request = ask(crew)
    sent = alice.ok("send_message", type="message", recipient="lead", content="Acknowledged. Exiting.")
    assert sent["delivered"]
    assert request in sent["note"], "its sender is told how to answer"
    asked = member(crew, "alice#1")
    assert (asked.state, asked.answer) == (State.ASKED, None)


@pytest.mark.parametrize(
    ("left_out", "field"),
    [("recipient", "recipient"), ("request_id", "request_id"), ("approve", "approve")],
)
def test_A11_an_answer_that_lacks_something_is_a_typed_error_that_names_it(
    crew: Lab, left_out: str, field: str
) -> None:
    alice = crew.server(crew.add_member("alice"))
    said = {"type": "shutdown_response", "recipient": "lead", "request_id": ask(crew), "approve": True}
    del said[left_out]
    error = alice.call("send_message", **said).error
    assert field in f"{error['what']} {error['why']}"
    assert member(crew, "alice#1").answer is None


def test_A11_an_answer_to_an_unknown_request_counts_for_nothing_and_is_audited(crew: Lab) -> None:
    alice = crew.server(crew.add_member("alice"))
    said = {"type": "shutdown_response", "recipient": "lead", "approve": True}
    assert alice.call("send_message", **said, request_id="r0").error["code"] == "nothing-to-answer"
    request = ask(crew)
    error = alice.call("send_message", **said, request_id="r0").error
    assert error["code"] == "unknown-request"
    assert "request_id" in error["what"] and request in error["why"]
    assert member(crew, "alice#1").answer is None
    assert [e.data["code"] for e in crew.journal("refused")] == ["nothing-to-answer", "unknown-request"]


def test_A10_the_first_answer_counts_and_a_contradiction_is_told_so(crew: Lab) -> None:
    alice, _ = crew.server(crew.add_member("alice")), crew.add_member("bob")
    said = {"type": "shutdown_response", "recipient": "lead", "request_id": ask(crew)}
    alice.ok("send_message", **said, approve=True)
    member(crew, "alice#1")
    assert alice.call("send_message", **said, approve=False, reason="no").error["code"] == "already-answered"
    assert alice.ok("send_message", **said, approve=True)["answer"] == "approved"
    assert member(crew, "alice#1").answer == "approved"


def test_A8_a_rejection_needs_a_reason_and_keeps_it_word_for_word(crew: Lab) -> None:
    alice, _ = crew.server(crew.add_member("alice")), crew.add_member("bob")
    request = ask(crew)
    said = {"type": "shutdown_response", "recipient": "lead", "request_id": request, "approve": False}
    assert "reason" in alice.call("send_message", **said).error["why"]
    alice.ok("send_message", **said, reason="Half of the parser\nis not committed.")
    member(crew, "alice#1")
    status = crew.server().ok("shutdown_status", request_id=request)
    assert status["status"] == "rejected"
    assert status["rejectedBy"] == [{"name": "alice", "reason": "Half of the parser\nis not committed."}]


# --- who may -----------------------------------------------------------------------------------------------


def test_A13_a_member_cannot_open_a_stand_down(crew: Lab) -> None:
    alice = crew.server(crew.add_member("alice"))
    crew.add_member("bob")
    for recipient in ("bob", "lead", "alice"):
        error = alice.call("send_message", type="shutdown_request", recipient=recipient).error
        assert error["code"] == "not-allowed"
    assert member(crew, "bob#1").state is State.RUNNING


def test_A13_a_lead_that_is_a_process_goes_only_with_its_team(crew: Lab) -> None:
    chief = crew.add_member("chief", role="lead")
    for server in (crew.server(chief), crew.server()):
        error = server.call("send_message", type="shutdown_request", recipient="chief").error
        assert error["code"] == "lead-goes-last"
    assert member(crew, "chief#1").request is None


def test_A14_a_plain_member_may_not_shut_the_team_down_and_the_refusal_is_audited(crew: Lab) -> None:
    error = crew.server(crew.add_member("alice")).call("team_shutdown", reason="I am done").error
    assert error["code"] == "not-allowed"
    assert "operator, lead" in error["why"], "it says who may"
    (audit,) = crew.journal("refused")
    assert (audit.about, audit.data["action"]) == ("alice#1", "stand_down_team")
    assert crew.server().ok("shutdown_status")["status"] == "active"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("team_create", {"team_name": "mine"}),
        ("teammate_spawn", {"name": "more"}),
        ("task_create", {"subject": "s"}),
        ("witness_findings", {"member": "alice"}),
        ("witness_verdict", {"member": "alice", "verdict": "clean"}),
        ("witness_nudge", {"member": "alice", "text": "t"}),
        ("witness_capture", {"member": "alice"}),
        ("witness_handoff", {}),
        ("review_submit", {"task_id": "t1", "verdict": "pass"}),
        ("escalation_decide", {"id": "e1", "decision": "force-kill"}),
        ("send_message", {"type": "broadcast", "content": "all"}),
        ("send_message", {"type": "message", "recipient": "bob", "content": "psst"}),
    ],
)
def test_what_a_worker_may_not_do_is_refused_and_audited(
    crew: Lab, tool: str, arguments: dict[str, Any]
) -> None:
    alice = crew.server(crew.add_member("alice"))
    crew.add_member("bob")
    assert alice.call_with(tool, arguments).error["code"] in ("not-allowed", "no-peer-mail")
    assert [e.about for e in crew.journal("refused")] == ["alice#1"]


def test_a_member_is_its_team_s_and_no_other_s(crew: Lab) -> None:
    crew.add_team("other")
    alice = crew.server(crew.add_member("alice"))
    assert alice.call("inbox", team_name="other").error["code"] == "other-team"
    assert alice.ok("inbox") == {"messages": []}


@pytest.mark.parametrize("token", ["", "wrong"])
def test_a_mark_without_the_right_token_is_nobody(crew: Lab, token: str) -> None:
    env = {**crew.add_member("alice"), "HEADCOUNT_TOKEN": token}
    assert crew.server(env).call("task_list").error["code"] == "unknown-caller"


def test_a_member_that_washed_its_environment_is_not_the_operator(crew: Lab) -> None:
    """A shell that carries the mark starts the server without it."""
    clean = " ".join(f"-u {name}" for name in crew.add_member("alice") if name.startswith("HEADCOUNT_"))
    server = f"env {clean} {' '.join(HEADCOUNT)} mcp"
    washed = Server(["sh", "-c", f"{server}; true"], crew.place, crew.add_member("bob"))
    assert washed.call("team_shutdown", team_name=TEAM).error["code"] == "no-identity"
    washed.close()


def test_a_token_is_void_once_its_incarnation_is_gone(crew: Lab) -> None:
    alice = crew.server(crew.add_member("alice"))
    alice.ok("inbox")
    with crew.app.store.write() as tx:
        tx.seal(f"{TEAM}#1", "alice#1")
    assert alice.call("inbox").error["code"] == "unknown-caller"


def test_a_member_s_server_never_starts_an_engine(crew: Lab) -> None:
    chief = crew.server(crew.add_member("chief", role="lead"))
    crew.add_member("alice")
    assert chief.ok("team_shutdown")["pendingApprovals"] == ["alice"]
    assert not is_driven(crew.home)


# --- standing down -----------------------------------------------------------------------------------------


def test_a_team_without_members_is_shut_down_at_once(crew: Lab) -> None:
    operator = crew.server()
    answer = operator.ok("team_shutdown", team_name=TEAM, reason="All done")
    assert answer == {"teamId": f"{TEAM}#1", "status": "shutdown", "deleted": True}
    assert operator.ok("team_shutdown", team_name=TEAM) == answer, "asking again is no error"


def test_B3_two_calls_are_one_stand_down_with_one_id(crew: Lab) -> None:
    crew.add_member("alice")
    crew.add_member("bob")
    one, two = crew.server(), crew.server()
    first, second = one.ok("team_shutdown"), two.ok("team_shutdown", reason="again")
    assert first["status"] == second["status"] == "pending_shutdown"
    assert first["requestId"] == second["requestId"]
    assert sorted(second["pendingApprovals"]) == ["alice", "bob"]
    assert len(crew.journal("stand_down")) == 1


def test_only_active_members_are_asked(crew: Lab) -> None:
    crew.add_member("alice")
    bob = crew.add_member("bob")
    crew.run("idle", env=bob)
    assert crew.server().ok("team_shutdown")["pendingApprovals"] == ["alice"]


def test_when_all_have_approved_the_team_is_closed(crew: Lab) -> None:
    alice, operator = crew.server(crew.add_member("alice")), crew.server()
    pending = operator.ok("team_shutdown", reason="All done")
    (request,) = alice.ok("inbox", unread=True)["messages"]
    assert (request["type"], request["requestId"]) == ("shutdown_request", pending["requestId"])
    alice.ok("send_message", type="shutdown_response", recipient="lead", request_id=request["requestId"],
             approve=True)  # fmt: skip
    done = crew.wait(
        lambda: (s := operator.ok("shutdown_status", team_name=TEAM))["status"] == "shutdown" and s
    )
    (line,) = done["members"]
    assert (line["name"], line["answer"], line["outcome"]) == ("alice", "approved", "clean")
    assert done["deleted"] is True
    assert done["requestId"] == pending["requestId"]


def test_a_request_to_one_member_leaves_the_team(crew: Lab) -> None:
    alice, operator = crew.server(crew.add_member("alice")), crew.server()
    crew.add_member("bob")
    sent = operator.ok("send_message", type="shutdown_request", recipient="alice", reason="Review complete")
    assert sent["delivered"] and sent["status"] == "pending_shutdown"
    (mail,) = alice.ok("inbox")["messages"]
    assert mail["id"] == sent["messageId"]
    assert "Review complete" in mail["body"]
    assert member(crew, "bob#1").state is State.RUNNING


def test_an_unknown_request_id_is_a_typed_error(crew: Lab) -> None:
    error = crew.server().call("shutdown_status", request_id="no-such").error
    assert error["code"] == "unknown-request"
    assert "request_id" in error["what"]


# --- mail --------------------------------------------------------------------------------------------------


def test_a_message_looks_the_same_here_and_on_the_command_line(crew: Lab) -> None:
    env = crew.add_member("alice")
    alice = crew.server(env)
    crew.server().ok(
        "send_message", type="message", recipient="alice", summary="Hi", content="Größe\n\x1b[2J"
    )
    (here,) = alice.ok("inbox", unread=True)["messages"]
    (there,) = crew.run("inbox", "--peek", env=env)
    assert here == there
    assert set(here) == {
        "id", "type", "template", "from", "to", "subject", "body", "requestId", "priority", "sentAt", "read",
    }  # fmt: skip
    assert here["body"] == "Größe\n\x1b[2J", "whole, as it was sent"


def test_reading_marks_nothing_unless_it_is_told_to(crew: Lab) -> None:
    alice = crew.server(crew.add_member("alice"))
    crew.server().ok("send_message", type="message", recipient="alice", content="one")
    assert len(alice.ok("inbox", unread=True)["messages"]) == 1
    assert len(alice.ok("inbox", unread=True, mark_read=True)["messages"]) == 1
    assert alice.ok("inbox", unread=True)["messages"] == []
    assert alice.ok("inbox")["messages"][0]["read"] is True


def test_a_member_hears_of_its_unread_mail_with_every_answer(crew: Lab) -> None:
    alice = crew.server(crew.add_member("alice"))
    assert "unread" not in alice.ok("task_list")
    crew.server().ok("send_message", type="message", recipient="alice", content="one")
    assert alice.ok("task_list")["unread"] == 1


def test_a_broadcast_reaches_everyone_under_an_id_each(crew: Lab) -> None:
    servers = [crew.server(crew.add_member(name)) for name in ("alice", "bob")]
    sent = crew.server().ok("send_message", type="broadcast", content="Stop\nplease")
    assert len(set(sent["messageIds"])) == 2
    for server in servers:
        (mail,) = server.ok("inbox")["messages"]
        assert (mail["type"], mail["subject"], mail["body"]) == ("broadcast", "Stop", "Stop\nplease")


def test_an_inbox_too_large_for_one_answer_comes_whole_in_several(crew: Lab) -> None:
    alice, operator = crew.server(crew.add_member("alice")), crew.server()
    for number in range(4):
        operator.ok("send_message", type="message", recipient="alice", content=f"{number}" * 90_000)
    bodies: list[str] = []
    while messages := (answer := alice.ok("inbox", unread=True, mark_read=True))["messages"]:
        bodies += [message["body"] for message in messages]
        assert ("note" in answer) == (len(bodies) < 4)
    assert bodies == [f"{number}" * 90_000 for number in range(4)]


def test_C5_mail_to_nobody_is_an_error_that_says_who_is_there(crew: Lab) -> None:
    crew.add_member("alice")
    error = crew.server().call("send_message", type="message", recipient="alise", content="x").error
    assert error["code"] == "unknown-recipient"
    assert any("alice" in hint for hint in error["hints"])


@pytest.mark.parametrize(
    ("tool", "arguments", "field"),
    [
        ("send_message", {**TO_LEAD, "content": "x" * 100_001}, "content"),
        ("send_message", {**TO_LEAD, "content": "x", "summary": "s" * 201}, "summary"),
        ("task_create", {"subject": "s" * 201}, "subject"),
        ("task_create", {"subject": "s", "description": "ü" * 5_001}, "description"),
        ("team_create", {"team_name": "big", "description": "x" * 10_001}, "description"),
        ("teammate_spawn", {"name": "big", "prompt": "x" * 100_001}, "prompt"),
    ],
)  # fmt: skip
def test_E7_a_limit_is_enforced_and_said_with_both_numbers(
    crew: Lab, tool: str, arguments: dict[str, Any], field: str
) -> None:
    error = crew.server().call_with(tool, arguments).error
    assert error["code"] == "too-long"
    assert error["what"].startswith(field)
    assert "the limit is" in error["why"]


# --- tasks -------------------------------------------------------------------------------------------------


def test_tasks_go_from_creation_to_review_and_look_the_same_on_the_command_line(crew: Lab) -> None:
    env = crew.add_member("alice")
    alice, operator = crew.server(env), crew.server()
    first = operator.ok("task_create", subject="Parse", description="all", metadata={"area": "x"})["task"]
    operator.ok("task_create", subject="Print", dependsOn=[first["id"]], activeForm="Printing")
    assert [t["id"] for t in alice.ok("task_find_available")["tasks"]] == [first["id"]]
    assert alice.ok("task_auto_claim")["task"]["id"] == first["id"]
    assert alice.ok("task_auto_claim")["task"] is None
    assert alice.ok("task_list") == {"tasks": crew.run("task", "list", env=env)}
    assert alice.ok("member_done", checklist=True) == {"status": "inspection_started", "task": first["id"]}
    assert [t["id"] for t in operator.ok("task_list", status="in_review", owner="alice")["tasks"]] == ["t1"]
    assert operator.ok("task_complete", task_id=first["id"])["task"]["status"] == "complete"
    with crew.app.store.read() as tx:
        (mail,) = tx.inbox(f"{TEAM}#1", ["witness"])
    assert mail.template == "WORKER_DONE" and "[CHECKLIST_VERIFIED]: true" in mail.body


def test_a_worker_s_complete_is_a_done_signal(crew: Lab) -> None:
    alice, operator = crew.server(crew.add_member("alice")), crew.server()
    operator.ok("task_create", subject="Parse")
    alice.ok("task_claim", task_id="t1")
    assert alice.ok("task_complete", task_id="t1")["task"]["status"] == "in_review"
    assert member(crew, "alice#1").state is State.INSPECTING


def test_B5_a_lost_race_is_a_clean_refusal_that_names_the_winner(crew: Lab) -> None:
    alice, bob = crew.server(crew.add_member("alice")), crew.server(crew.add_member("bob"))
    crew.server().ok("task_create", subject="Parse")
    alice.ok("task_claim", task_id="t1")
    error = bob.call("task_claim", task_id="t1").error
    assert error["code"] == "already-claimed"
    assert "alice#1" in error["why"]


def test_E6_only_its_owner_reports_a_task_done_and_dependencies_are_known(crew: Lab) -> None:
    alice, bob = crew.server(crew.add_member("alice")), crew.server(crew.add_member("bob"))
    operator = crew.server()
    operator.ok("task_create", subject="Parse")
    alice.ok("task_claim", task_id="t1")
    assert bob.call("task_complete", task_id="t1").error["code"] == "not-owner"
    assert bob.call("member_done", task_id="t1").error["code"] == "not-owner"
    assert operator.call("task_create", subject="s", dependsOn=["t9"]).error["code"] == "unknown-task"
    assert operator.ok("task_list")["tasks"][0]["status"] == "in_progress"


def test_B2_nothing_is_claimed_while_the_team_is_stood_down(crew: Lab) -> None:
    alice, _ = crew.server(crew.add_member("alice")), crew.add_member("bob")
    crew.server().ok("task_create", subject="Parse")
    ask(crew)
    assert alice.call("task_auto_claim").error["code"] == "draining"


def test_a_review_is_kept_with_its_words(crew: Lab) -> None:
    carol = crew.server(crew.add_member("carol", role="spec-reviewer"))
    operator = crew.server()
    operator.ok("task_create", subject="Parse")
    assert operator.call("review_submit", task_id="t1", verdict="pass").error["code"] == "no-reviewer"
    missing = carol.call("review_submit", task_id="t1", verdict="changes").error
    assert "issues" in missing["why"]
    carol.ok("review_submit", task_id="t1", verdict="changes", issues=["no tests", "typo in a.py"])
    member(crew, "carol#1")
    (entry,) = crew.journal("reviewed")
    assert entry.about == "carol#1"
    assert (entry.data["verdict"], entry.data["words"]) == ("changes", "no tests\ntypo in a.py")


# --- the witness -------------------------------------------------------------------------------------------


def test_a_handoff_is_composed_from_the_journal_and_is_never_empty(crew: Lab) -> None:
    from headcount.domain.templates import read_metadata

    crew.add_member("alice")
    eye = crew.server(crew.add_member("eye", role="witness"))
    ask(crew, "alice")
    note = eye.ok("witness_handoff", remarks="alice is slow", next_steps=["Look at alice"])
    told = read_metadata(note["body"])
    assert (told["template"], told["handoff_type"], told["rig"]) == ("WITNESS_HANDOFF", "witness_cycle", TEAM)
    assert told["active_worker_count"] == "2"
    for words in ("- alice: asked", "asked to stand down alice#1", "alice is slow", "- Look at alice"):
        assert words in note["body"]
    assert [m["id"] for m in eye.ok("inbox")["messages"]] == [note["messageId"]]
    with crew.app.store.read() as tx:
        handover = tx.fact(f"{TEAM}#1", "eye", "handover")
    assert handover == {"note": note["body"], "open": True, "from": "eye#1"}


def test_a_verdict_that_nobody_asked_for_is_declined(crew: Lab) -> None:
    crew.add_member("alice")
    error = crew.server().call("witness_verdict", member="alice", verdict="clean").error
    assert error["code"] == "no-verdict-wanted"


def test_a_nudge_that_reached_nobody_says_so_and_is_in_the_mail(crew: Lab) -> None:
    alice = crew.server(crew.add_member("alice"))
    sent = crew.server().ok("witness_nudge", member="alice", text="Are you there?")
    assert sent["delivered"] is False
    (mail,) = alice.ok("inbox")["messages"]
    assert (mail["id"], mail["body"], mail["priority"]) == (sent["messageId"], "Are you there?", "high")


def inspected(lab: Lab, key: str, clean: bool | None, *issues: str) -> Any:
    """Its workspace was read, as the engine would report it; the member as it then is."""
    from headcount.protocol import events as ev

    epoch = member(lab, key).epoch
    return lab.app.hear(TEAM, ev.Inspected(key, epoch, False, clean, issues)).members[key]


def test_a_verdict_on_the_findings_that_were_mailed_decides(crew: Lab) -> None:
    alice = crew.server(crew.add_member("alice"))
    eye = crew.server(crew.add_member("eye", role="witness"))
    alice.ok("member_done")
    assert inspected(crew, "alice#1", None, "1 untracked: build.log").judging
    (mail,) = [m for m in eye.ok("inbox")["messages"] if m["subject"].startswith("Verdict wanted")]
    assert "build.log" in mail["body"]
    eye.ok("witness_verdict", member="alice", verdict="dirty", issues=["commit build.log or remove it"])
    judged = member(crew, "alice#1")
    assert (judged.state, judged.issues) == (State.NUDGED, ("commit build.log or remove it",))
    (told,) = [m for m in alice.ok("inbox")["messages"] if m["template"] == "VERIFICATION_FAILED"]
    assert "commit build.log or remove it" in told["body"]


def test_the_first_decision_about_an_escalation_wins(crew: Lab) -> None:
    alice, chief = crew.server(crew.add_member("alice")), crew.server(crew.add_member("chief", role="lead"))
    for _ in range(3):
        alice.ok("member_done")
        inspected(crew, "alice#1", False, "1 changed, not committed: a.py")
    (escalation,) = chief.ok("escalation_list")["escalations"]
    assert (escalation["id"], escalation["member"], escalation["state"]) == ("e1", "alice", "open")
    assert alice.call("escalation_decide", id="e1", decision="wait").error["code"] == "not-allowed"
    assert chief.ok("escalation_decide", id="e1", decision="human", reason="I look")["by"] == "chief#1"
    assert chief.call("escalation_decide", id="e1", decision="force-kill").error["code"] == "already-decided"
    assert member(crew, "alice#1").activity == "parked"
    assert [e["id"] for e in chief.ok("escalation_list", all=True)["escalations"]] == ["e1"]
