"""The server over streamable HTTP, by the official SDK: for clients that cannot start a process.

Loopback only. Whoever holds the token acts as the operator, so it is in a file for its owner alone and is
shown once; a page in a browser gets nowhere, because Host and Origin must be ours; and a member that reads
the file is still not the operator, because the process at the other end of the connection is looked at.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import socket
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server.lowlevel.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from starlette.responses import JSONResponse

from headcount import __version__
from headcount.app.peer import why_not_operator
from headcount.errors import HeadcountError, NotAllowed, WorldError
from headcount.mcp_server.session import Session
from headcount.mcp_server.speech import INSTRUCTIONS, NAME, ProtocolError
from headcount.mcp_server.tools import TOOLS

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

HOST = "127.0.0.1"
PATH = "/mcp"
TOKEN_FILE = "mcp.token"
_CALLS_AT_ONCE = 4
_SHORTEST_TOKEN = 32


def serve_http(port: int, *, as_json: bool = False) -> int:
    """Serve until a signal ends it."""
    session = Session()
    app = session.open()
    if app.caller.is_member:
        raise NotAllowed(
            "A member does not serve others", f"only the operator may, and this is {app.caller.who}",
            ("Use `headcount mcp` on standard input and output",), code="not-operator",
        )  # fmt: skip
    token, is_new = read_token(app.home)
    listener = _listen(port)
    port = listener.getsockname()[1]
    _announce(f"http://{HOST}:{port}{PATH}", f"{app.home}/{TOKEN_FILE}", token if is_new else None, as_json)
    config = uvicorn.Config(
        Guard(make_app(session, port), token), log_level="warning", lifespan="on", proxy_headers=False
    )
    uvicorn.Server(config).run(sockets=[listener])
    session.close()
    return 0


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except (OSError, OverflowError) as error:
        raise WorldError(
            f"Could not listen on {HOST}:{port}", getattr(error, "strerror", None) or str(error),
            ("Leave out --port, and a free one is taken",), code="port-taken",
        ) from None  # fmt: skip


def _announce(url: str, token_file: str, new_token: str | None, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"url": url, "tokenFile": token_file, "token": new_token}), flush=True)
        return
    print(f"Serving MCP on {url}")
    if new_token is not None:
        print(f"Token, shown only now: {new_token}")
    print(f"Send it as `Authorization: Bearer TOKEN`. It is kept in {token_file}", flush=True)


def read_token(home: str) -> tuple[str, bool]:
    """The token of this state directory, and whether it was made just now, for want of one."""
    path, making = f"{home}/{TOKEN_FILE}", f"{home}/{TOKEN_FILE}.{os.getpid()}"
    token = secrets.token_urlsafe(32)
    with os.fdopen(os.open(making, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(f"{token}\n")
    try:
        os.link(making, path)  # whole or not at all, and only the first of two servers makes one
    except FileExistsError:
        os.chmod(path, 0o600)
        return _kept_token(path), False
    finally:
        os.unlink(making)
    return token, True


def _kept_token(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        token = file.read().strip()
    if len(token) >= _SHORTEST_TOKEN:
        return token
    raise WorldError(f"{path} holds no token", f"it must have at least {_SHORTEST_TOKEN} characters",
                     ("Delete it, and start again: a new one is made",), code="bad-token-file")  # fmt: skip


def make_app(session: Session, port: int) -> ASGIApp:
    """Without sessions of its own: every request stands for itself, so a restart is not noticed."""
    limiter = anyio.CapacityLimiter(_CALLS_AT_ONCE)

    async def list_tools(*_: Any) -> types.ListToolsResult:
        return types.ListToolsResult.model_validate({"tools": [tool.as_dict() for tool in TOOLS]})

    async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        call = {"name": params.name, "arguments": params.arguments}
        try:
            result = await anyio.to_thread.run_sync(session.call, call, limiter=limiter)
        except ProtocolError as error:
            raise MCPError(error.code, error.message, error.data) from None
        return types.CallToolResult.model_validate(result)

    server: Server[Any] = Server(
        NAME, version=__version__, title=NAME, instructions=INSTRUCTIONS, on_list_tools=list_tools,
        on_call_tool=call_tool,
    )  # fmt: skip
    ours = [f"{HOST}:{port}", f"localhost:{port}"]
    return server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        transport_security=TransportSecuritySettings(
            allowed_hosts=ours, allowed_origins=[f"http://{host}" for host in ours]
        ),
    )


class Guard:
    """Nobody without the token, and no member with it."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            refusal = await self._why_not(scope)
            if refusal is not None:
                await self._refuse(refusal)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _why_not(self, scope: Scope) -> HeadcountError | None:
        said = dict(scope["headers"]).get(b"authorization", b"")
        if not hmac.compare_digest(said, self._expected):
            return NotAllowed(
                "The token is missing or wrong", "each request needs `Authorization: Bearer TOKEN`",
                (f"It is in {TOKEN_FILE} of the state directory",), code="bad-token",
            )  # fmt: skip
        refused = await anyio.to_thread.run_sync(why_not_operator, scope["client"], scope["server"])
        if refused:
            return NotAllowed(
                "The caller is not the operator", refused,
                ("Use `headcount mcp` on standard input and output",), code="not-operator",
            )  # fmt: skip
        return None

    def _refuse(self, refusal: HeadcountError) -> JSONResponse:
        unknown = refusal.code == "bad-token"
        headers = {"WWW-Authenticate": "Bearer"} if unknown else {}
        return JSONResponse({"error": refusal.as_dict()}, 401 if unknown else 403, headers)
