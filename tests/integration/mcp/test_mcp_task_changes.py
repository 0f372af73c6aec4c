"""The lead changes, releases and withdraws tasks; tasks and mail are found by what is in them."""

from __future__ import annotations

from mcp_lab import Lab


def test_a_task_is_changed_and_found_by_its_metadata(crew: Lab) -> None:
    operator = crew.server()
    first = operator.ok("task_create", subject="One", metadata={"area": "db", "size": 3})["task"]["id"]
    second = operator.ok("task_create", subject="Two")["task"]["id"]
    changed = operator.ok(
        "task_update", task_id=second, subject="Two, later", dependsOn=[first], metadata={"area": "ui"}
    )["task"]
    assert (changed["subject"], changed["dependsOn"]) == ("Two, later", [first])
    found = operator.ok("task_list", metadata={"area": "db", "size": 3})["tasks"]
    assert [task["id"] for task in found] == [first]
    assert [t["id"] for t in crew.run("task", "list", "--metadata", "area=ui")] == [second]
    assert [t["id"] for t in crew.run("task", "list", "--metadata", "size=3")] == [first]
    crew.run("task", "change", second, "--after", "", "--metadata", "area=")
    (task,) = [t for t in operator.ok("task_list")["tasks"] if t["id"] == second]
    assert (task["dependsOn"], task["metadata"]) == ([], {})
    cycle = operator.call("task_update", task_id=first, dependsOn=[first]).error
    assert cycle["code"]


def test_a_task_is_taken_from_its_owner_who_is_told(crew: Lab) -> None:
    env = crew.add_member("alice")
    alice, bob = crew.server(env), crew.server(crew.add_member("bob"))
    task = crew.server().ok("task_create", subject="One")["task"]["id"]
    alice.ok("task_claim", task_id=task)
    assert alice.call("task_update", task_id=task, release=True).error["code"] == "not-allowed"
    assert crew.run("task", "release", task)["owner"] is None
    (mail,) = alice.ok("inbox")["messages"]
    assert mail["subject"] == f"Task {task} was taken back"
    assert bob.ok("task_auto_claim")["task"]["id"] == task


def test_a_withdrawn_task_holds_nobody_up(crew: Lab) -> None:
    alice = crew.server(crew.add_member("alice"))
    operator = crew.server()
    first = operator.ok("task_create", subject="One")["task"]["id"]
    second = operator.ok("task_create", subject="Two", dependsOn=[first])["task"]["id"]
    alice.ok("task_claim", task_id=first)
    withdrawn = operator.ok("task_update", task_id=first, withdraw="the customer left")["task"]
    assert (withdrawn["status"], withdrawn["reason"]) == ("withdrawn", "the customer left")
    assert [t["id"] for t in alice.ok("task_find_available")["tasks"]] == [second]
    assert alice.ok("task_auto_claim")["task"]["id"] == second
    assert operator.call("task_update", task_id=first, subject="x").error["code"] == "task-ended"


def test_the_inbox_is_filtered_by_sender(crew: Lab) -> None:
    env = crew.add_member("alice")
    alice = crew.server(env)
    lead = crew.server(crew.add_member("boss", role="lead"))
    crew.server().ok("send_message", type="message", recipient="alice", content="from the operator")
    lead.ok("send_message", type="message", recipient="alice", content="from the lead")
    (mail,) = alice.ok("inbox", **{"from": "lead"})["messages"]
    assert mail["body"] == "from the lead"
    (shown,) = crew.run("inbox", "--from", "operator", env=env)
    assert shown["body"] == "from the operator"
    assert [m["body"] for m in alice.ok("inbox", unread=True)["messages"]] == ["from the lead"]


def test_a_message_without_a_subject_gets_one_from_its_text(crew: Lab) -> None:
    env = crew.add_member("alice")
    crew.run("send", "alice", "-s", "", "-m", "Look at  the parser\nplease")
    (mail,) = crew.run("inbox", env=env)
    assert mail["subject"] == "Look at the parser please"
