"""The official Python client, in both eras of the protocol, with every tool."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_lab import HEADCOUNT, LIMIT_S, TEAM, Lab

from headcount.mcp_server.tools import TOOLS

eras = pytest.mark.parametrize("era", ["legacy", "auto"])


class Caller:
    """A client that keeps count of the tools it has called."""

    def __init__(self, client: Client, called: set[str]) -> None:
        self.client = client
        self.called = called

    async def ok(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result.content
        assert json.loads(result.content[0].text) == result.structured_content
        self.called.add(tool)
        return result.structured_content

    async def refused(self, tool: str, **arguments: Any) -> str:
        """Its code; the error has all four fields."""
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error, result.structured_content
        error = result.structured_content["error"]
        assert set(error) == {"code", "what", "why", "hints"}
        self.called.add(tool)
        return str(error["code"])


def _stdio(lab: Lab, env: dict[str, str]) -> Any:
    return stdio_client(
        StdioServerParameters(command=HEADCOUNT[0], args=[*HEADCOUNT[1:], "mcp"], env=env, cwd=lab.place)
    )


@eras
def test_the_official_client_lists_the_tools_as_they_are(lab: Lab, era: str) -> None:
    async def look() -> None:
        async with Client(_stdio(lab, lab.env), mode=era) as client:
            listed = (await client.list_tools()).tools
            as_sent = [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in listed]
            assert as_sent == [tool.as_dict() for tool in TOOLS]

    anyio.run(look)


@eras
def test_an_unknown_tool_is_a_protocol_error_and_a_wrong_argument_a_tool_s(lab: Lab, era: str) -> None:
    async def look() -> None:
        async with Client(_stdio(lab, lab.env), mode=era) as client:
            with pytest.raises(MCPError, match="Unknown tool") as unknown:
                await client.call_tool("team_delete", {})
            assert unknown.value.error.code == -32602
            assert await Caller(client, set()).refused("inbox", unread="yes") == "invalid-argument"

    anyio.run(look)


@eras
def test_the_official_client_calls_every_tool_from_creation_to_shutdown(lab: Lab, era: str) -> None:
    """One member is a real process that answers by itself; two more are spoken for here."""
    _write_agent(lab, "alice")
    called: set[str] = set()

    async def play() -> None:
        async with Client(_stdio(lab, lab.env), mode=era) as client:
            operator = Caller(client, called)
            await _set_up(operator)
            bob, carol = lab.add_member("bob"), lab.add_member("carol", role="spec-reviewer")
            async with Client(_stdio(lab, carol), mode=era) as reviewer:
                await Caller(reviewer, called).ok("review_submit", task_id="t1", verdict="pass")
            async with Client(_stdio(lab, bob), mode=era) as worker:
                await _work(Caller(worker, called))
            await _watch(operator)
            await _end(operator, lab, carol)

    anyio.run(play)
    assert called == {tool.name for tool in TOOLS}


def _write_agent(lab: Lab, name: str) -> None:
    script, settings = f"{lab.place}/{name}.json", f"{lab.place}/headcount.toml"
    command = [sys.executable, "-m", "headcount.agents.scripted", script]
    with open(script, "w", encoding="utf-8") as file:
        json.dump({"steps": [{"do": "print", "text": f"{name} is here"}, {"do": "listen"}]}, file)
    with open(settings, "w", encoding="utf-8") as file:
        file.write(f"[agents.{name}]\ncommand = {json.dumps(command)}\n")


async def _set_up(operator: Caller) -> None:
    assert await operator.ok("team_create", team_name=TEAM, description="d") == {
        "teamId": f"{TEAM}#1", "teamName": TEAM, "status": "active"
    }  # fmt: skip
    started = await operator.ok("teammate_spawn", name="alice", prompt="Say hello")
    assert started == {"teammateId": f"{TEAM}/alice#1", "name": "alice", "generation": 1, "status": "running"}
    assert await operator.refused("teammate_spawn", name="alice") == "still-there"
    await operator.ok("task_create", subject="Parse", description="It")
    await operator.ok("task_create", subject="Print", dependsOn=["t1"])
    changed = await operator.ok("task_update", task_id="t2", description="On paper")
    assert changed["task"]["description"] == "On paper"
    assert len((await operator.ok("task_list"))["tasks"]) == 2


async def _work(worker: Caller) -> None:
    assert [t["id"] for t in (await worker.ok("task_find_available"))["tasks"]] == ["t1"]
    assert (await worker.ok("task_auto_claim"))["task"]["owner"] == "bob#1"
    assert (await worker.ok("task_claim", task_id="t1"))["task"]["status"] == "in_progress"
    assert (await worker.ok("send_message", type="message", recipient="lead", content="Hello"))["delivered"]
    assert (await worker.ok("member_done", checklist=True))["task"] == "t1"


async def _watch(operator: Caller) -> None:
    (mail,) = [m for m in (await operator.ok("inbox"))["messages"] if m["type"] == "message"]
    assert (mail["from"], mail["subject"]) == ("bob#1", "Hello")
    assert (await operator.ok("task_complete", task_id="t1"))["task"]["status"] == "complete"
    assert (await operator.ok("witness_findings", member="alice"))["clean"] is True
    with anyio.fail_after(LIMIT_S):
        while "alice is here" not in (await operator.ok("witness_capture", member="alice"))["screen"]:
            await anyio.sleep(0.1)
    assert "delivered" in await operator.ok("witness_nudge", member="alice", text="Go on")
    assert await operator.refused("witness_verdict", member="alice", verdict="clean") == "no-verdict-wanted"
    assert "Active Workers" in (await operator.ok("witness_handoff", remarks="all well"))["body"]
    assert await operator.ok("escalation_list") == {"escalations": []}
    assert await operator.refused("escalation_decide", id="e1", decision="wait") == "unknown-escalation"
    assert await operator.ok("ask_list") == {"asks": []}
    assert await operator.refused("ask_decide", id="a1", decision="allow") == "unknown-ask"


async def _end(operator: Caller, lab: Lab, carol: dict[str, str]) -> None:
    pending = await operator.ok("team_shutdown", team_name=TEAM, reason="All done")
    assert pending["status"] == "pending_shutdown"
    assert "alice" in pending["pendingApprovals"]
    approval = {"type": "shutdown_response", "recipient": "lead", "request_id": pending["requestId"]}
    lab.server(carol).ok("send_message", **approval, approve=True)
    with anyio.fail_after(LIMIT_S):
        while (await operator.ok("shutdown_status", team_name=TEAM))["status"] != "shutdown":
            await anyio.sleep(0.1)
    done = await operator.ok("shutdown_status", team_name=TEAM)
    outcomes = {line["name"]: (line["answer"], line["outcome"]) for line in done["members"]}
    assert outcomes["alice"] == ("approved", "clean")
    assert done["deleted"] is True
    assert os.path.isdir(done["archive"])
