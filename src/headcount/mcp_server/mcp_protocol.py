"""What MCP says around a call: versions, capabilities, and the answers that need no state.

Two eras are spoken. A client of the handshake era opens with `initialize` and names a version; one of the
per-request era (2026-07-28) puts its version into the `_meta` of every request and may open with
`server/discover`. Nothing here remembers which: a request says it itself, so there is no order to get wrong.
"""

from __future__ import annotations

import os

from headcount import __version__
from headcount.domain.names import PERMISSION_PROMPT_LISTED
from headcount.mcp_server.tools import PERMISSION_PROMPT, TOOLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
PER_REQUEST_VERSIONS = ("2026-07-28",)

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
UNSUPPORTED_VERSION = -32022

_META = "io.modelcontextprotocol/"
NAME = "headcount"
SERVER = {"name": NAME, "title": "headcount", "version": __version__}
CAPABILITIES = {"tools": {"listChanged": False}}
INSTRUCTIONS = (
    "Teams of agents that are stood down without losing work. As a member: read inbox, commit your work, "
    "call member_done when finished, and answer a shutdown_request with send_message "
    "{type: shutdown_response, recipient, request_id, approve}."
)
# The table is the same as long as the process lives.
_LIST_LIVES_MS = 3_600_000


class ProtocolError(Exception):
    """The request itself is wrong: answered as a JSON-RPC error, not as a tool's."""

    def __init__(self, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


def read_version(params: dict[str, Any]) -> str | None:
    """The version in the request's own envelope; None for the handshake era."""
    meta = params.get("_meta")
    version = meta.get(f"{_META}protocolVersion") if isinstance(meta, dict) else None
    if version is None or version in PER_REQUEST_VERSIONS:
        return version
    raise ProtocolError(
        UNSUPPORTED_VERSION,
        "This protocol version is not spoken here",
        {"supported": [*HANDSHAKE_VERSIONS, *PER_REQUEST_VERSIONS], "requested": version},
    )


def in_envelope(result: dict[str, Any], version: str | None) -> dict[str, Any]:
    """A result as the era of the request wants it."""
    if version is None:
        return result
    return {**result, "resultType": "complete", "_meta": {f"{_META}serverInfo": SERVER}}


def initialize(params: dict[str, Any]) -> dict[str, Any]:
    """The version that the client named if it is spoken here, else the newest that a handshake can name."""
    wanted = params.get("protocolVersion")
    return {
        "protocolVersion": wanted if wanted in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1],
        "capabilities": CAPABILITIES,
        "serverInfo": SERVER,
        "instructions": INSTRUCTIONS,
    }


def discover(params: dict[str, Any]) -> dict[str, Any]:
    return {
        "supportedVersions": list(PER_REQUEST_VERSIONS),
        "capabilities": CAPABILITIES,
        "instructions": INSTRUCTIONS,
        "ttlMs": _LIST_LIVES_MS,
        "cacheScope": "private",
    }


def list_tools(params: dict[str, Any]) -> dict[str, Any]:
    """All in one page; a cursor was never given out, so none is known."""
    if params.get("cursor") is not None:
        raise ProtocolError(INVALID_PARAMS, "cursor is not known: the list has one page")
    prompt = (PERMISSION_PROMPT,) if PERMISSION_PROMPT_LISTED in os.environ else ()
    listed = {"tools": [tool.as_dict() for tool in (*TOOLS, *prompt)]}
    if read_version(params) is None:
        return listed
    return {**listed, "ttlMs": _LIST_LIVES_MS, "cacheScope": "private"}


def ping(params: dict[str, Any]) -> dict[str, Any]:
    return {}


ANSWERS = {
    "initialize": initialize,
    "server/discover": discover,
    "ping": ping,
    "tools/list": list_tools,
}
