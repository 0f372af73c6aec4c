"""The table of tools: what is in it, and that a client and a model can use it."""

from __future__ import annotations

import importlib
import inspect
import json

import pytest
from jsonschema import Draft202012Validator

from headcount.mcp_server.tool_calls import MODULE_OF
from headcount.mcp_server.tools import PERMISSION_PROMPT, TOOLS

# As the documented surface has it: parameters, a ! for those that cannot be left out.
SURFACE = {
    "team_create": "team_name! description agent_type",
    "teammate_spawn": "team_name name! agent model prompt",
    "team_shutdown": "team_name reason",
    "shutdown_status": "team_name request_id",
    "send_message": "type! recipient content summary request_id approve reason team_name",
    "inbox": "unread mark_read from team_name",
    "task_create": "subject! description activeForm dependsOn metadata team_name",
    "task_update": "task_id! subject description dependsOn metadata release withdraw team_name",
    "task_list": "status owner metadata team_name",
    "task_claim": "task_id! team_name",
    "task_find_available": "team_name",
    "task_auto_claim": "team_name",
    "task_complete": "task_id! team_name",
    "member_done": "task_id checklist team_name",
    "review_submit": "task_id! verdict! issues team_name",
    "witness_findings": "member! live team_name",
    "witness_verdict": "member! verdict! issues team_name",
    "witness_nudge": "member! text! team_name",
    "witness_capture": "member! team_name",
    "witness_handoff": "member remarks next_steps team_name",
    "escalation_list": "all team_name",
    "ask_list": "all team_name",
    "ask_decide": "id! decision! reason team_name",
    "escalation_decide": "id! decision! reason team_name",
}
READERS = {
    "shutdown_status", "task_list", "task_find_available", "witness_findings", "witness_capture",
    "escalation_list", "ask_list",
}  # fmt: skip

tools = pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)


def test_the_tools_are_those_of_the_surface_with_their_parameters() -> None:
    listed = {
        tool.name: " ".join(
            name + ("!" if name in tool.input_schema["required"] else "")
            for name in tool.input_schema["properties"]
        )
        for tool in TOOLS
    }
    assert listed == SURFACE


@tools
def test_every_schema_is_valid_and_closed(tool) -> None:
    Draft202012Validator.check_schema(tool.input_schema)
    assert tool.input_schema["additionalProperties"] is False
    assert set(tool.input_schema["required"]) <= set(tool.input_schema["properties"])


@tools
def test_every_parameter_says_one_type_and_what_it_is_for(tool) -> None:
    """One type each: clients that map schemas onto another dialect drop what they cannot map."""
    for name, schema in tool.input_schema["properties"].items():
        assert isinstance(schema["type"], str), name
        assert schema["description"], name


@tools
def test_every_tool_has_all_hints(tool) -> None:
    """An unset hint means destructive."""
    hints = tool.as_dict()["annotations"]
    assert set(hints) == {"title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
    assert hints["readOnlyHint"] == (tool.name in READERS)
    assert not (hints["readOnlyHint"] and hints["destructiveHint"])


def test_only_what_can_end_processes_is_destructive_and_a_forced_end_asks_the_user() -> None:
    assert {t.name for t in TOOLS if t.hints["destructiveHint"]} == {"team_shutdown", "escalation_decide"}
    asking = {
        t.name for t in TOOLS if t.as_dict().get("_meta") == {"anthropic/requiresUserInteraction": True}
    }
    assert asking == {"escalation_decide"}


@tools
def test_every_tool_has_a_handler_of_its_name(tool) -> None:
    module = importlib.import_module(f"headcount.mcp_server.{MODULE_OF[tool.name]}")
    given, args = inspect.signature(getattr(module, tool.name)).parameters
    assert given in ("app", "session") and args == "args"


def test_no_handler_is_without_a_tool() -> None:
    assert set(MODULE_OF) == {tool.name for tool in TOOLS} | {PERMISSION_PROMPT.name}


def test_the_list_stays_small_enough_for_every_turn_of_every_client() -> None:
    """It is in the context of each request: about four characters a token."""
    said = json.dumps([tool.as_dict() for tool in TOOLS], separators=(",", ":"))
    assert len(said) < 18_200
    assert all(len(tool.describes) < 300 for tool in TOOLS)
