"""The reference page has every tool with its parameters, as they are."""

from __future__ import annotations

import os

import pytest

from headcount.mcp_server.tools import TOOLS, Tool

PAGE = os.path.join(os.path.dirname(__file__), "../../../docs/reference/mcp.md")


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_is_documented_with_its_parameters(tool: Tool) -> None:
    with open(PAGE, encoding="utf-8") as file:
        rows = [line.split(" | ") for line in file if line.startswith(f"| `{tool.name}` |")]
    required = tool.input_schema["required"]
    said = [f"`{name}`" + ("" if name in required else "?") for name in tool.input_schema["properties"]]
    assert [row[1] for row in rows] == [", ".join(said)]
