"""The thread that performs calls, one after the other. Imported with the first call."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.mcp_server import speech
from headcount.mcp_server.speech import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.mcp_server.session import Session

    Say = Callable[[Any, dict[str, Any] | ProtocolError], None]


class _Call(NamedTuple):
    request_id: Any
    params: dict[str, Any]


class Worker:
    """Calls are answered in the order in which they came, unless they are cancelled.

    A call that is being performed is not torn apart by a cancellation: what it does is one transaction. Its
    answer is not sent, as the protocol wants it.
    """

    def __init__(self, say: Say, session: Session) -> None:
        self._say = say
        self._session = session
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._open: set[Any] = set()
        self._thread = threading.Thread(target=self._run, name="calls", daemon=True)
        self._thread.start()

    def put(self, request_id: Any, params: dict[str, Any]) -> None:
        with self._lock:
            if request_id in self._open:
                raise ProtocolError(speech.INVALID_REQUEST, "A request with this id is under way")
            self._open.add(request_id)
        self._calls.put(_Call(request_id, params))

    def cancel(self, request_id: Any) -> None:
        if isinstance(request_id, str | int | float):
            with self._lock:
                self._open.discard(request_id)

    def finish(self) -> None:
        self._calls.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            if not self._wanted(call):
                continue
            answer = self._perform(call)
            with self._lock:
                wanted = call.request_id in self._open
                self._open.discard(call.request_id)
            if wanted:
                try:
                    self._say(call.request_id, answer)
                except BrokenPipeError:
                    break  # the client is gone; the main thread sees the end of input by itself
        self._session.close()

    def _wanted(self, call: _Call) -> bool:
        with self._lock:
            return call.request_id in self._open

    def _perform(self, call: _Call) -> dict[str, Any] | ProtocolError:
        try:
            return speech.in_envelope(self._session.call(call.params), speech.read_version(call.params))
        except ProtocolError as error:
            return error
