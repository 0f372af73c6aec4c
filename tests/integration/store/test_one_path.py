"""A member's shell, the MCP server and the operator's commands share use cases: one answer, one code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headcount.mcp_server.tool_calls import ToolCaller

if TYPE_CHECKING:
    from conftest import World


def call_tool(env: dict[str, str], tool: str, **arguments: Any) -> dict[str, Any]:
    caller = ToolCaller(env)
    try:
        return caller.call({"name": tool, "arguments": arguments})["structuredContent"]
    finally:
        caller.close()


def task_lists(world: World, *, owner: str) -> list[Any]:
    """The answers of every front end: two callers in the shell, and the same two over MCP."""
    shell = [world.json(who, "task", "list", "--owner", owner) for who in ("alice", None)]
    tools = [call_tool(world.env(who), "task_list", owner=owner) for who in ("alice", None)]
    return [
        *(answer.get("error", {}).get("code") if isinstance(answer, dict) else answer for answer in shell),
        *(answer["error"]["code"] if "error" in answer else answer["tasks"] for answer in tools),
    ]


def refusals(world: World, name: str | None, **changes: str) -> list[str]:
    """The error codes of a member's command, of the operator's command path and of a tool."""
    env = world.env(name, **changes)
    answers = [world.json(name, "inbox", **changes), world.json(name, "status", **changes)]
    answers += [call_tool(env, "inbox"), call_tool(env, "shutdown_status", team_name="review")]
    return [answer["error"]["code"] for answer in answers]


@pytest.mark.parametrize("owner", ["alice", "alice#1", "review/alice"])
def test_the_owner_of_tasks_may_be_given_as_any_address_of_the_member(world: World, owner: str) -> None:
    world.add_task("t1", status="in_progress", owner="alice#1")
    world.add_task("t2", status="in_progress", owner="bob#1")
    lists = task_lists(world, owner=owner)
    assert [[task["id"] for task in found] for found in lists] == [["t1"]] * 4
    assert all(found == lists[0] for found in lists)


@pytest.mark.parametrize("owner", ["alcie", "alice#9", "lead", ""])
def test_an_unknown_owner_of_tasks_is_an_error(world: World, owner: str) -> None:
    assert task_lists(world, owner=owner) == ["unknown-member"] * 4


@pytest.mark.parametrize("name", [None, "alice"])
def test_an_empty_token_never_makes_an_operator(world: World, name: str | None) -> None:
    assert refusals(world, name, HEADCOUNT_TOKEN="") == ["bad-token"] * 4


@pytest.mark.parametrize(
    "changes",
    [{"HEADCOUNT_TEAM": "other"}, {"HEADCOUNT_MEMBER": "bob"}, {"HEADCOUNT_GENERATION": "2"}],
)
def test_a_variable_that_contradicts_the_token_is_refused(world: World, changes: dict[str, str]) -> None:
    assert refusals(world, "alice", **changes) == ["bad-token"] * 4


def test_the_token_of_a_gone_member_has_one_error_code(world: World) -> None:
    with world.store.write() as tx:
        tx.seal(world.team.id, "alice#1")
    assert refusals(world, "alice") == ["bad-token"] * 4


def test_a_caller_that_is_not_recognised_is_in_the_journal_with_what_it_tried(world: World) -> None:
    refusals(world, "alice", HEADCOUNT_TOKEN="wrong")
    with world.store.read() as tx:
        tried = [(entry.about, entry.data["action"], entry.data["code"]) for entry in tx.journal("")]
    assert tried == [("alice", action, "bad-token") for action in ("inbox", "", "inbox", "shutdown_status")]


def test_a_member_cannot_name_another_team(world: World) -> None:
    shell = world.json("alice", "inbox", "--team", "other")["error"]["code"]
    tool = call_tool(world.env("alice"), "inbox", team_name="other")["error"]["code"]
    assert (shell, tool) == ("other-team", "other-team")


def test_an_answer_given_in_the_shell_and_over_mcp_is_one_answer(world: World) -> None:
    world.ask("alice")
    assert world.json("alice", "approve")["requestId"] == "r1"
    given = {"type": "shutdown_response", "recipient": "lead", "request_id": "r1"}
    again = call_tool(world.env("alice"), "send_message", **given, approve=True)
    assert again["requestId"] == "r1" and again["messageId"] is None
    other = call_tool(world.env("alice"), "send_message", **given, approve=False, reason="busy")
    assert other["error"] == world.json("alice", "reject", "--reason", "busy")["error"]
    assert other["error"]["code"] == "already-answered"
    assert [mail.subject for mail in world.inbox("lead")] == ["Shutdown approved"]
