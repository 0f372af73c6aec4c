"""Hostile arguments to every tool, on a real server: a typed error each time, no trace, and it goes on."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_lab import Lab

from headcount.mcp_server.tools import TOOLS, Tool


def _nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


STRANGE: list[Any] = [
    None, 0, -1, 1.5, True, "", " ", "\x00", "\x1b[2J\x07", "../../etc/passwd", "'; drop table mail; --",
    "🙂" * 400, "x" * 300_000, [], {}, [None], {"a": {"b": None}}, _nested(200), "\ud800", "a\nb", "lead",
    "all", "#", "a#1", "%s%n", "{0.__class__}", "crew", "CREW", "t1", "-", "\u202e",
]  # fmt: skip


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_hostile_argument_is_answered_with_a_typed_error_or_a_plain_answer(lab: Lab, tool: Tool) -> None:
    lab.add_team()
    servers = [lab.server(lab.add_member("alice")), lab.server(lab.add_member("eye", role="witness"))]
    fitting = {name: _fitting(schema) for name, schema in tool.input_schema["properties"].items()}
    for server in servers:
        for name in (*fitting, "no_such_parameter", "__class__"):
            for value in STRANGE:
                result = server.call_with(tool.name, {**fitting, name: value})
                if result.failed:
                    assert set(result.error) == {"code", "what", "why", "hints"}
                    assert result.error["code"] not in ("bug", "error"), (name, value, result.text)
                    assert "\x1b" not in result.text
                assert "Traceback" not in result.text
        assert server.ask("ping")["result"] == {}
        assert server.close() == "", "nothing was wrong on our side"


def _fitting(schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    return {"string": "alice", "boolean": False, "array": ["x"], "object": {"k": "v"}}[schema["type"]]
