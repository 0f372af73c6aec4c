"""Mail and tasks over the tools. Real servers on a real store."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_lab import TEAM, Lab, ask, member

from headcount.protocol.member import State

TO_LEAD = {"type": "message", "recipient": "lead"}


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
