"""Serve the live page: its files, its streams, and thin endpoints over the use cases."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import os
import secrets
import socket
import sys
import traceback
from importlib import resources
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from headcount.app.metrics import write_metrics
from headcount.errors import Bug, HeadcountError, UsageError, WorldError
from headcount.web import calls
from headcount.web.feed import Feed
from headcount.web.guard import Guard, refuse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import FrameType

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from headcount.app.app import App

    Endpoint = Callable[[Request], Awaitable[Response]]

LOOPBACK = "127.0.0.1"
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_PROMETHEUS = "text/plain; version=0.0.4"
_MOST_BYTES = 64_000
_CONNECTIONS = 64  # a browser opens six; each stream of a watched team is one
_HEADERS_S = 10.0  # from the first byte to the end of the headers
_BODY_S = 10.0
_KEEP_ALIVE_S = 5


def serve(
    app: App, host: str = LOOPBACK, port: int = 0, token_file: str | None = None, *, as_json: bool = False
) -> int:
    """Serve until a signal ends it. Anyone with the printed address acts as the operator."""
    app.check("serve")
    token = read_token(token_file)
    listener = _listen(host, port)
    port = listener.getsockname()[1]
    _announce(f"http://{host}:{port}/#{token}", as_json)
    if not ipaddress.ip_address(host).is_loopback:
        # To standard error: the answer stays one line for programs.
        print(f"Warning: other machines can reach {host}, and nothing is encrypted.", file=sys.stderr)
        print(
            "Anyone who sees one request has the token. Use a tunnel or TLS in front of it.",
            file=sys.stderr, flush=True,
        )  # fmt: skip
    feed = Feed(app)
    site = make_site(app, feed, token, host, port)
    protocol = make_protocol(_HEADERS_S, 2 * _CONNECTIONS)
    config = uvicorn.Config(
        site, log_level="warning", timeout_graceful_shutdown=5, http=protocol, ws="none",
        proxy_headers=False, limit_concurrency=_CONNECTIONS, timeout_keep_alive=_KEEP_ALIVE_S,
    )  # fmt: skip
    _Server(config, feed).run(sockets=[listener])
    return 0


class _Server(uvicorn.Server):
    """A stream never ends by itself: it is closed when the server is told to end."""

    def __init__(self, config: uvicorn.Config, feed: Feed) -> None:
        super().__init__(config)
        self._feed = feed

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._feed.end()
        super().handle_exit(sig, frame)


def make_site(app: App, feed: Feed, token: str, host: str, port: int) -> ASGIApp:
    async def watch_teams(_: Request) -> Response:
        return StreamingResponse(feed.teams(), media_type="text/event-stream")

    async def watch_team(request: Request) -> Response:
        events = feed.team(request.path_params["team"])
        return StreamingResponse(events, media_type="text/event-stream")

    async def watch_member(request: Request) -> Response:
        return StreamingResponse(feed.transcript(**request.path_params), media_type="text/event-stream")

    async def measure(_: Request) -> Response:
        return Response(await run_in_threadpool(write_metrics, app), media_type=_PROMETHEUS)

    routes = [
        Route("/api/events", watch_teams),
        Route("/api/teams/{team}/events", watch_team),
        Route("/api/teams/{team}/members/{member}/transcript", watch_member),
        *(Route(path, _get(app, call)) for path, call in calls.READING.items()),
        *(Route(path, _post(app, call), methods=["POST"]) for path, call in calls.CHANGING.items()),
        Route("/metrics", measure),
        Route("/", _file),
        Route("/{name}", _file),
    ]
    return Guard(Starlette(routes=routes), token, host, port)


def _get(app: App, call: calls.Reading) -> Endpoint:
    async def answer(request: Request) -> Response:
        return await _answer(lambda: call(app, **request.path_params))

    return answer


def _post(app: App, call: calls.Changing) -> Endpoint:
    async def answer(request: Request) -> Response:
        try:
            body = _read_body(await _receive_body(request))
        except UsageError as error:
            return refuse(error)
        except ClientDisconnect:
            return Response(status_code=400)
        return await _answer(lambda: call(app, body, **request.path_params))

    return answer


async def _answer(call: Callable[[], Any]) -> Response:
    try:
        return JSONResponse(await run_in_threadpool(call))
    except HeadcountError as error:
        return refuse(error)
    except Exception:
        traceback.print_exc(file=sys.stderr)
        return refuse(
            Bug("The call failed", "this is a bug in headcount", ("See the output of `headcount serve`",))
        )


async def _receive_body(request: Request) -> bytes:
    """Up to the limit, and within its time: more is not read, and the connection is closed."""
    raw = b""
    try:
        async with asyncio.timeout(_BODY_S):
            async for chunk in request.stream():
                raw += chunk
                if len(raw) > _MOST_BYTES:
                    break
    except TimeoutError:
        raise UsageError("The body did not arrive in time", f"within {_BODY_S:g} s", code="usage") from None
    return raw


def _read_body(raw: bytes) -> dict[str, Any]:
    try:
        body = json.loads(raw) if len(raw) <= _MOST_BYTES else None
    except (ValueError, RecursionError):
        body = None
    if isinstance(body, dict):
        return body
    raise UsageError("The call has no body that can be read", "it must be a small JSON object", code="usage")


async def _file(request: Request) -> Response:
    """The page's own files, which are all in one folder: a name with a slash reaches no route."""
    name = request.path_params.get("name", "index.html")
    file = resources.files("headcount.web") / "static" / name
    kind = _TYPES.get(name.rpartition(".")[2])
    if kind is None or name.startswith(".") or not file.is_file():
        return Response("Not found", 404)
    return Response(file.read_bytes(), media_type=kind)


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port))
    except (OSError, OverflowError) as error:
        raise WorldError(
            f"Could not listen on {host}:{port}", getattr(error, "strerror", None) or str(error),
            ("Leave out --port, and a free one is taken",), code="port-taken",
        ) from None  # fmt: skip


def _announce(url: str, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"url": url}), flush=True)
        return
    print(f"Serving on {url}")
    print("Anyone with this link controls your teams. Ctrl-C closes the page, not the teams.", flush=True)


# --- protocol --------------------------------------------------------------------------------------------
#
# HTTP with limits: so many connections, and each sends the headers of a request in time or is closed.


def make_protocol(headers_s: float, connections: int) -> type[H11Protocol]:
    """Return uvicorn's protocol with a time limit for headers, which it lacks before the first request."""

    class Protocol(H11Protocol):
        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) > connections:
                transport.abort()
            else:
                self._wait_for_headers()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is not h11.IDLE:
                self._stop_waiting()
            elif self._deadline is None:
                self._wait_for_headers()  # the first bytes of another request

        def _wait_for_headers(self) -> None:
            self._deadline = self.loop.call_later(headers_s, self.transport.close)

        def _stop_waiting(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

    return Protocol


# --- token -----------------------------------------------------------------------------------------------
#
# The token of the page: new at each start, or kept in a file where an address has to stay valid.


_BYTES = 32
_SHORTEST = 32


def read_token(path: str | None) -> str:
    """Return the token in the file, which is created for its owner alone; without a file a new token."""
    if path is None:
        return secrets.token_urlsafe(_BYTES)
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "r+", encoding="utf-8", errors="replace") as file:
            os.fchmod(file.fileno(), 0o600)
            token = file.read().strip()
            if not token:
                token = secrets.token_urlsafe(_BYTES)
                file.write(f"{token}\n")
    except OSError as error:
        raise WorldError(
            f"Could not use {path}",
            error.strerror or str(error),
            ("Name another file",),
            code="bad-token-file",
        ) from None
    if len(token) < _SHORTEST or not token.isascii():
        raise WorldError(
            f"{path} holds no token", f"it must have at least {_SHORTEST} plain characters",
            ("Delete it, and start again: a new one is made",), code="bad-token-file",
        )  # fmt: skip
    return token
