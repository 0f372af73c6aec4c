"""Check the arguments that a client sent against the table of tools.

This is the small part of JSON Schema that the table uses; a test compares it with a full validator.
Every refusal names the field. Light: the full validator's import costs more than the rest of a call.
"""

from __future__ import annotations

from headcount.domain.answer_names import APPROVE, read_reply
from headcount.domain.names import show
from headcount.errors import UsageError
from headcount.mcp_server.tools import BY_NAME, Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MESSAGE = BY_NAME["send_message"].input_schema["properties"]
_DEEPEST = 20
_TYPES: dict[str, type] = {"string": str, "boolean": bool, "array": list, "object": dict}
_NAMES = {str: "text", bool: "true or false", list: "a list", dict: "an object", int: "a number",
          float: "a number", type(None): "null"}  # fmt: skip


def in_our_words(tool: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return `{"type": "shutdown_approved", "requestId": …}` as the `shutdown_response` that it is (A2).

    Call it before the arguments are checked. Anything that does not count as an answer stays as it is, and
    the check then refuses it with the known types.
    """
    if tool != "send_message" or given.get("type") in (None, *_MESSAGE["type"]["enum"]):
        return given
    reply = read_reply(given)
    if reply is None:
        return given
    verdict, request_id, reason = reply
    ours = {name: value for name, value in given.items() if name in _MESSAGE}
    return {
        **ours, "type": "shutdown_response", "approve": verdict == APPROVE, "request_id": request_id,
        "reason": reason,
    }  # fmt: skip


def check_arguments(tool: Tool, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments as they may be used. A null is a parameter that was left out: models write it so."""
    arguments = {name: value for name, value in given.items() if value is not None}
    properties = tool.input_schema["properties"]
    for name in arguments:
        if name not in properties:
            raise _unknown(tool.name, name, list(properties))
    for name in tool.input_schema["required"]:
        if name not in arguments:
            raise UsageError(
                f"{tool.name} needs {name}", f"{name} is missing", (f"{name}: {_about(properties[name])}",),
                code="missing-argument",
            )  # fmt: skip
    for name, value in arguments.items():
        _check(name, value, properties[name])
    return arguments


def _check(field: str, value: Any, schema: dict[str, Any]) -> None:
    wanted = _TYPES[schema["type"]]
    if type(value) is not wanted:
        raise _wrong(field, f"it must be {_NAMES[wanted]}, and is {_NAMES[type(value)]}", schema)
    if isinstance(value, str):
        _check_text(field, value, schema)
    elif isinstance(value, list):
        _check_list(field, value, schema)
    elif isinstance(value, dict) and _depth(value) > _DEEPEST:
        raise _wrong(field, f"it is nested deeper than {_DEEPEST} levels", schema)


def _check_text(field: str, value: str, schema: dict[str, Any]) -> None:
    if "enum" in schema and value not in schema["enum"]:
        raise _wrong(field, f"it is {show(value)}, and must be one of {', '.join(schema['enum'])}", schema)
    if len(value) > schema.get("maxLength", len(value)):
        limit = schema["maxLength"]
        raise UsageError(
            f"{field} is too long",
            f"it has {len(value):,} characters, the limit is {limit:,}",
            (f"Shorten {field}, or put the rest in a file and name the file",),
            code="too-long",
        )
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _wrong(field, "it is not valid Unicode", schema, code="invalid-text") from None


def _check_list(field: str, value: list[Any], schema: dict[str, Any]) -> None:
    if len(value) > schema.get("maxItems", len(value)):
        raise _wrong(field, f"it has {len(value):,} entries, the limit is {schema['maxItems']:,}", schema)
    for position, item in enumerate(value):
        _check(f"{field}[{position}]", item, schema["items"])


def _depth(value: Any) -> int:
    """Without recursion: the nesting is the client's, the stack is ours."""
    deepest = 0
    todo = [(value, 1)]
    while todo:
        item, depth = todo.pop()
        deepest = max(deepest, depth)
        if isinstance(item, dict | list):
            todo.extend((inner, depth + 1) for inner in (item.values() if isinstance(item, dict) else item))
    return deepest


def _wrong(field: str, why: str, schema: dict[str, Any], code: str = "invalid-argument") -> UsageError:
    return UsageError(f"{field} cannot be used", why, (f"{field}: {_about(schema)}",), code=code)


def _about(schema: dict[str, Any]) -> str:
    return str(schema.get("description") or schema.get("type", ""))


def _unknown(tool: str, name: str, known: list[str]) -> UsageError:
    return UsageError(
        f"{tool} has no parameter {show(name)}",
        f"its parameters are {', '.join(known)}",
        (f"Leave out {show(name)}",),
        code="unknown-argument",
    )
