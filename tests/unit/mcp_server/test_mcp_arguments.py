"""What a client sends is a stranger's: every wrong argument is refused with a typed error that names it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from headcount.errors import UsageError
from headcount.mcp_server.arguments import check_arguments, in_our_words
from headcount.mcp_server.tools import BY_NAME, TOOLS

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def _fitting(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    return {
        "string": st.text(max_size=20),
        "boolean": st.booleans(),
        "array": st.lists(st.text(max_size=5), max_size=3),
        "object": st.dictionaries(st.text(max_size=5), st.integers(), max_size=3),
    }[schema["type"]]


@st.composite
def _calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Mostly right, so that both answers are common."""
    tool = draw(st.sampled_from(TOOLS))
    properties = tool.input_schema["properties"]
    given: dict[str, Any] = {}
    for name, schema in properties.items():
        if name in tool.input_schema["required"] or draw(st.booleans()):
            given[name] = draw(_fitting(schema))
    if draw(st.booleans()):
        name = draw(st.sampled_from(list(properties)) | st.text(max_size=8))
        given[name] = draw(ANYTHING)
    return tool.name, given


@settings(max_examples=400)
@given(_calls())
def test_the_small_check_agrees_with_a_full_validator(call: tuple[str, dict[str, Any]]) -> None:
    name, given = call
    without_nulls = {key: value for key, value in given.items() if value is not None}
    valid = Draft202012Validator(BY_NAME[name].input_schema).is_valid(without_nulls)
    try:
        assert check_arguments(BY_NAME[name], given) == without_nulls
    except UsageError as error:
        assert not valid or error.code == "invalid-text"
    else:
        assert valid


def _deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("tool", "given", "code", "field"),
    [
        ("task_create", {}, "missing-argument", "subject"),
        ("task_create", {"subject": None}, "missing-argument", "subject"),
        ("task_create", {"subject": 7}, "invalid-argument", "subject"),
        ("task_create", {"subject": ["x"]}, "invalid-argument", "subject"),
        ("task_create", {"subject": "x" * 1_001}, "too-long", "subject"),
        ("task_create", {"subject": "x", "description": "x" * 200_001}, "too-long", "description"),
        ("task_create", {"subject": "\ud800"}, "invalid-text", "subject"),
        ("task_create", {"subject": "x", "dependsOn": "t1"}, "invalid-argument", "dependsOn"),
        ("task_create", {"subject": "x", "dependsOn": [1]}, "invalid-argument", "dependsOn[0]"),
        ("task_create", {"subject": "x", "dependsOn": ["t"] * 1_001}, "invalid-argument", "dependsOn"),
        ("task_create", {"subject": "x", "metadata": []}, "invalid-argument", "metadata"),
        ("task_create", {"subject": "x", "metadata": _deep(5_000)}, "invalid-argument", "metadata"),
        ("task_create", {"subject": "x", "\x1b[2J": 1}, "unknown-argument", "\N{REPLACEMENT CHARACTER}[2J"),
        ("inbox", {"unread": "yes"}, "invalid-argument", "unread"),
        ("inbox", {"unread": 1}, "invalid-argument", "unread"),
        ("send_message", {"type": "telegram"}, "invalid-argument", "type"),
        ("escalation_decide", {"id": "e1", "decision": "nuke"}, "invalid-argument", "decision"),
        ("escalation_decide", {"id": "e1", "decision": "wait", "force": True}, "unknown-argument", "force"),
    ],
)
def test_a_wrong_argument_is_a_typed_error_that_names_it(
    tool: str, given: dict[str, Any], code: str, field: str
) -> None:
    with pytest.raises(UsageError) as refused:
        check_arguments(BY_NAME[tool], given)
    assert refused.value.code == code
    assert field in refused.value.what
    assert "\x1b" not in refused.value.render()
    assert refused.value.hints


def test_a_null_is_an_argument_that_was_left_out() -> None:
    assert check_arguments(BY_NAME["inbox"], {"unread": None, "mark_read": True}) == {"mark_read": True}


@pytest.mark.parametrize(
    ("said", "approve"),
    [
        ({"type": "shutdown_acknowledged"}, True),
        ({"type": "shutdown_approved"}, True),
        ({"type": "approve_shutdown"}, True),
        ({"type": "shutdownApproved"}, True),
        ({"type": "shutdown_rejected", "reason": "busy"}, False),
        ({"type": "shutdown_reply", "approved": False, "reason": "busy"}, False),
    ],
)
def test_A2_an_answer_under_another_name_becomes_a_shutdown_response(
    said: dict[str, Any], approve: bool
) -> None:
    ours = in_our_words("send_message", {**said, "recipient": "lead", "requestId": "r1"})
    arguments = check_arguments(BY_NAME["send_message"], ours)
    assert arguments["type"] == "shutdown_response"
    assert arguments["approve"] is approve
    assert arguments["request_id"] == "r1"
    assert arguments["recipient"] == "lead"


def test_A2_an_unknown_reply_is_refused_at_once_with_the_types_that_there_are() -> None:
    said = {"type": "shutdown_perhaps", "recipient": "lead"}
    with pytest.raises(UsageError, match="type") as refused:
        check_arguments(BY_NAME["send_message"], in_our_words("send_message", said))
    assert "shutdown_response" in refused.value.why


def test_other_tools_and_plain_messages_are_left_alone() -> None:
    for tool, said in (("send_message", {"type": "message"}), ("task_list", {"type": "shutdown_approved"})):
        assert in_our_words(tool, said) is said
