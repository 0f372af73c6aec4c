"""HTTP with limits: so many connections, and each sends the headers of a request in time or is closed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio


def make_protocol(headers_s: float, connections: int) -> type[H11Protocol]:
    """uvicorn's own, which would wait for ever: its limits begin with the first whole request."""

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
