"""An answer to a stand-down under another name is still an answer (A2)."""

from __future__ import annotations

from headcount.domain.answer_names import APPROVE, read_reply
from headcount.mcp_server.tools import BY_NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_KNOWN = BY_NAME["send_message"].input_schema["properties"]


def in_our_words(tool: str, given: dict[str, Any]) -> dict[str, Any]:
    """`{"type": "shutdown_approved", "requestId": …}` as the `shutdown_response` that it is.

    Done before the arguments are checked. What is no answer in any dialect stays as it is, and is refused
    with the types that there are, so nobody waits for it.
    """
    if tool != "send_message" or given.get("type") in (None, *_KNOWN["type"]["enum"]):
        return given
    reply = read_reply(given)
    if reply is None:
        return given
    verdict, request_id, reason = reply
    ours = {name: value for name, value in given.items() if name in _KNOWN}
    return {
        **ours, "type": "shutdown_response", "approve": verdict == APPROVE, "request_id": request_id,
        "reason": reason,
    }  # fmt: skip
