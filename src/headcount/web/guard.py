"""Who gets in: the right Host, the token and, to change anything, the page itself; and never a member.

There is no cookie, so a page of another origin has nothing to ride on. The token comes in the part of the
address that a browser never sends (after the #), and the page sends it as a header with every call.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse

from headcount.app.page_caller import why_not_operator
from headcount.errors import HeadcountError, NotAllowed

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_NAMES = ("localhost",)
_HEADERS = {
    # No inline script or style, nothing from elsewhere, and no string ever becomes markup.
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    def __init__(self, app: ASGIApp, token: str, host: str, port: int) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()
        self._port = port
        self._loopback = ipaddress.ip_address(host).is_loopback
        self._names = _NAMES if self._loopback else (*_NAMES, socket.gethostname().lower())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = await self._why_not(scope)
        answer = self._app if refusal is None else refuse(refusal)
        await answer(scope, receive, _with_headers(send))

    async def _why_not(self, scope: Scope) -> HeadcountError | None:
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if not self._is_ours(host):
            return NotAllowed(
                "This is not the address of the page", f"Host is {host[:80]!r}",
                ("Open the address that `headcount serve` printed",), code="wrong-host",
            )  # fmt: skip
        if not scope["path"].startswith(("/api/", "/metrics")):
            return None  # the page's own files: they hold nothing
        return self._why_not_call(scope, headers, host) or await self._why_not_peer(scope)

    def _why_not_call(self, scope: Scope, headers: dict[bytes, bytes], host: str) -> HeadcountError | None:
        if not hmac.compare_digest(headers.get(b"authorization", b""), self._expected):
            return NotAllowed(
                "The token is missing or wrong", "each call needs the one of this `headcount serve`",
                ("Open the address that `headcount serve` printed, whole",), code="bad-token",
            )  # fmt: skip
        origin = headers.get(b"origin", b"").decode("latin-1").lower()
        if scope["method"] not in ("GET", "HEAD") and origin != f"http://{host}":
            return NotAllowed(
                "Only the page itself may change anything", f"Origin is {origin[:80]!r}",
                ("Use the command line instead",), code="wrong-origin",
            )  # fmt: skip
        return None

    async def _why_not_peer(self, scope: Scope) -> HeadcountError | None:
        """A member, or another user, that got hold of the token is still not the operator."""
        refused = await run_in_threadpool(why_not_operator, scope["client"], scope["server"])
        if not refused:
            return None
        return NotAllowed(
            "The caller is not the operator", refused,
            ("A member uses the members' commands: `headcount --help`",), code="not-operator",
        )  # fmt: skip

    def _is_ours(self, host: str) -> bool:
        """Return whether a host is ours. A name may be rebound by another site; a number may not."""
        name, _, port = host.rpartition(":")
        if port != str(self._port):
            return False
        return name in self._names or _is_address(name, self._loopback)


def _is_address(name: str, loopback: bool) -> bool:
    try:
        address = ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return address.is_loopback or not loopback


_STATUS = {1: 409, 2: 400, 4: 503, 5: 403}


def refuse(error: HeadcountError) -> JSONResponse:
    status = 404 if error.code.startswith("unknown-") else _STATUS.get(error.exit_code, 500)
    return JSONResponse({"error": error.as_dict()}, 401 if error.code == "bad-token" else status)


def _with_headers(send: Send) -> Send:
    async def send_more(message: Message) -> None:
        if message["type"] == "http.response.start":
            more = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return send_more
