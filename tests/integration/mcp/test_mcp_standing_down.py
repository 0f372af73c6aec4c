"""Standing down over the tools, and what the witness does there. Real servers on a real store."""

from __future__ import annotations

from typing import Any

from mcp_lab import TEAM, Lab, ask, member

from headcount.protocol.member import State


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


def test_a_handoff_is_composed_from_the_journal_and_is_never_empty(crew: Lab) -> None:
    from headcount.domain.templates import read_metadata

    crew.add_member("alice")
    eye = crew.server(crew.add_member("eye", role="witness"))
    ask(crew, "alice")
    note = eye.ok("witness_handoff", remarks="alice is slow", next_steps=["Look at alice"])
    told = read_metadata(note["body"])
    assert (told["template"], told["handoff_type"], told["rig"]) == ("WITNESS_HANDOFF", "witness_cycle", TEAM)
    assert told["active_worker_count"] == "1", "who hands over is no worker, nor is the lead"
    assert "- eye: " not in note["body"]
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
    return lab.app.apply(TEAM, ev.Inspected(key, epoch, False, clean, issues)).team.members[key]


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
