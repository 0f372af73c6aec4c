"""The server on standard input and output: one JSON-RPC message a line.

Written by hand because of when it must answer, not because of what it must say: a client's first turn does
not wait, and the SDK's import alone takes longer than that. So nothing is imported or opened before it is
needed: `tools/list` is answered from the table, and the first call opens the state.

The main thread reads, and answers what needs no state; calls go to one worker, in the order in which they
came. So a ping is answered while a call waits for git. At the end of input, accepted calls are finished.

Standard output belongs to the protocol alone: file descriptors 0 and 1 are moved away before anything else
runs, so that no print and no child process can write into it or read from it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time

from headcount.domain.names import TOOLS_LISTED
from headcount.mcp_server import mcp_protocol
from headcount.mcp_server.mcp_protocol import ProtocolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from io import BufferedReader, FileIO
    from typing import Any

    from headcount.mcp_server.tool_calls import Worker

LONGEST_LINE = 4 * 1024 * 1024


def serve() -> int:
    """Answer until the client closes our input, or stops to read our output. Return the exit code 0."""
    if os.isatty(0):
        sys.stderr.write("Serving MCP on standard input and output; Ctrl-D ends it.\n")
    source, sink = _take_streams()
    server = Server(sink)
    try:
        for line in _lines(source):
            server.hear(line)
        server.finish()
    except BrokenPipeError:
        pass  # the client is gone: nobody is left to tell
    return 0


def _take_streams() -> tuple[BufferedReader, FileIO]:
    source = os.fdopen(os.dup(0), "rb")
    sink = os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return source, sink


def _lines(source: BufferedReader) -> Any:
    """Each line whole; one longer than any honest message is skipped to its end, and comes as None."""
    while line := source.readline(LONGEST_LINE):
        if line.endswith(b"\n") or len(line) < LONGEST_LINE:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = source.readline(LONGEST_LINE)
        yield None


class Server:
    """One connection: requests in, responses out. `hear` never raises but for a client that is gone."""

    def __init__(self, sink: FileIO) -> None:
        self._sink = sink
        self._began: float | None = time.monotonic()  # until the tools were asked for
        self._worker: Worker | None = None

    def hear(self, line: bytes | None) -> None:
        try:
            message = _decode(line)
        except ProtocolError as error:
            self._say(None, error)
            return
        if message is None:
            return
        method = message.get("method")
        if method is None and ("result" in message or "error" in message):
            return  # a response, and we never ask
        if "id" in message:
            self._request(message)
        elif method == "notifications/cancelled":
            self._cancel(message.get("params"))

    def finish(self) -> None:
        if self._worker is not None:
            self._worker.finish()

    def _request(self, message: dict[str, Any]) -> None:
        request_id = message["id"]
        try:
            method, params = _read_request(message)
            if method == "tools/call":
                self._call(request_id, params)
                return
            answer = mcp_protocol.ANSWERS.get(method)
            if answer is None:
                raise ProtocolError(mcp_protocol.METHOD_NOT_FOUND, f"There is no method {method[:80]}")
            version = mcp_protocol.read_version(params)
            self._say(request_id, mcp_protocol.in_envelope(answer(params), version))
            if method == "tools/list" and self._began is not None:
                _record_listed(os.environ, time.monotonic() - self._began)
                self._began = None
        except ProtocolError as error:
            self._say(request_id if _is_id(request_id) else None, error)

    def _call(self, request_id: Any, params: dict[str, Any]) -> None:
        mcp_protocol.read_version(params)
        if self._worker is None:
            from headcount.mcp_server.tool_calls import ToolCaller, Worker

            self._worker = Worker(self._say, ToolCaller())
        self._worker.put(request_id, params)

    def _cancel(self, params: Any) -> None:
        if self._worker is not None and isinstance(params, dict):
            self._worker.cancel(params.get("requestId"))

    def _say(self, request_id: Any, said: dict[str, Any] | ProtocolError) -> None:
        """One write a message, so that two threads never share a line."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id}
        if isinstance(said, ProtocolError):
            message["error"] = {"code": said.code, "message": said.message}
            if said.data is not None:
                message["error"]["data"] = said.data
        else:
            message["result"] = said
        # ASCII, whatever a stranger's text holds: half a surrogate pair cannot be written in any other way.
        _write_all(self._sink, json.dumps(message, separators=(",", ":")).encode() + b"\n")


def _record_listed(environ: Mapping[str, str], took_s: float) -> None:
    """For the hook that holds a first turn until then (`cli/member/hook.py`), with the time that the client
    has needed to come this far. Where there is no such directory, nobody waits."""
    place = environ.get("HEADCOUNT_CLIENT_DIRECTORY")
    if place and os.path.isdir(place):
        with contextlib.suppress(OSError), open(f"{place}/{TOOLS_LISTED}", "w") as file:
            file.write(f"{took_s:.3f}")


def _decode(line: bytes | None) -> dict[str, Any] | None:
    if line is None:
        raise ProtocolError(mcp_protocol.INVALID_REQUEST, f"A message has at most {LONGEST_LINE:,} bytes")
    if not line.strip():
        return None
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(mcp_protocol.PARSE_ERROR, "The line is not JSON") from error
    if not isinstance(message, dict):
        raise ProtocolError(
            mcp_protocol.INVALID_REQUEST, "A message is one JSON object; batches are not spoken"
        )
    return message


def _read_request(message: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    method, params = message.get("method"), message.get("params", {})
    if message.get("jsonrpc") != "2.0" or not isinstance(method, str) or not _is_id(message["id"]):
        raise ProtocolError(mcp_protocol.INVALID_REQUEST, "A request has jsonrpc 2.0, an id and a method")
    if not isinstance(params, dict):
        raise ProtocolError(mcp_protocol.INVALID_PARAMS, "params must be an object")
    return method, params


def _is_id(value: Any) -> bool:
    """Python reads NaN and Infinity, which are not JSON and could not be answered."""
    return type(value) in (str, int) or (type(value) is float and value - value == 0)


def _write_all(sink: FileIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[sink.write(view) :]
