"""Answers to a request to stand down, and who may ask for what: real servers on a real store."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp_lab import HEADCOUNT, TEAM, Lab, Server, ask, member

from headcount.app.lock import is_driven
from headcount.protocol.member import State


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
    assert crew.server(env).call("task_list").error["code"] == "bad-token"


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
    assert alice.call("inbox").error["code"] == "bad-token"


def test_a_member_s_server_never_starts_an_engine(crew: Lab) -> None:
    chief = crew.server(crew.add_member("chief", role="lead"))
    crew.add_member("alice")
    assert chief.ok("team_shutdown")["pendingApprovals"] == ["alice"]
    assert not is_driven(crew.home)
