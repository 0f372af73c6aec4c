"""From a call's parameters to its result: opens the state, calls one use case, says what went wrong.

Imported with the first call. Mail and tasks need no settings and no adapters, so a member's first call of
such a tool opens the store alone.
"""

from __future__ import annotations

import importlib
import json
import os
import queue
import sys
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.app.caller import identify
from headcount.app.mail import count_unread
from headcount.app.session import open_session
from headcount.errors import Bug, HeadcountError
from headcount.mcp_server import mcp_protocol
from headcount.mcp_server.arguments import check_arguments, in_our_words
from headcount.mcp_server.mcp_protocol import ProtocolError
from headcount.mcp_server.tools import BY_NAME, WAITING
from headcount.store import is_made

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headcount.app.app import App
    from headcount.app.session import Session

    Say = Callable[[Any, dict[str, Any] | ProtocolError], None]
    Handler = Callable[[Any, dict[str, Any]], Mapping[str, object]]

# module -> its tools, one function each; a call imports the module of its tool and no other
_MODULES = {
    "team_tools": (
        "team_create", "teammate_spawn", "team_shutdown", "shutdown_status", "escalation_list",
        "escalation_decide",
    ),
    "mail_tools": ("send_message", "inbox"),
    "task_tools": (
        "task_create", "task_update", "task_list", "task_claim", "task_find_available", "task_auto_claim",
        "task_complete", "member_done", "review_submit",
    ),
    "ask_tools": ("ask_list", "ask_decide", *WAITING),
    "witness_tools": (
        "witness_findings", "witness_verdict", "witness_nudge", "witness_capture", "witness_handoff",
    ),
}  # fmt: skip
MODULE_OF = {tool: module for module, tools in _MODULES.items() for tool in tools}
_WITHOUT_APP = ("mail_tools", "task_tools", "ask_tools")
_LEAVE_S = 5.0  # for calls that wait, once their client is gone


class ToolCaller:
    """One client's calls. The state is opened with the first one, and the caller is identified with each."""

    def __init__(
        self, environ: Mapping[str, str] | None = None, start: str | None = None, gone: int | None = None
    ) -> None:
        """`gone` is a descriptor that is readable when nobody waits for the answer any more."""
        self._environ = dict(os.environ if environ is None else environ)
        self._start = start
        self._gone = gone
        self._session: Session | None = None
        self._app: App | None = None

    def call(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The result of `tools/call`. Raises `ProtocolError` only where the request itself is wrong."""
        name, given = _read_call(params)
        try:
            arguments = check_arguments(BY_NAME[name], in_our_words(name, given))
            return _answer(self._perform(name, arguments), structured=name not in WAITING)
        except HeadcountError as error:
            return _refusal(error)
        except Exception:
            # Ours, and never the model's to read: the trace goes to the log of the client.
            import traceback

            traceback.print_exc(file=sys.stderr)
            bug = Bug(f"{name} failed", "this is a bug in headcount", ("The server's log has the details",))
            return _refusal(bug)

    def close(self) -> None:
        for opened in (self._session, self._app):
            if opened is not None:
                opened.close()
        self._session = self._app = None

    def _perform(self, name: str, arguments: dict[str, Any]) -> Mapping[str, object]:
        module = importlib.import_module(f"headcount.mcp_server.{MODULE_OF[name]}")
        handler: Handler = getattr(module, name)
        session = self._open(name, arguments)
        if name in WAITING:
            from headcount.mcp_server.ask_tools import permission_prompt

            return permission_prompt(session, arguments, self._gone)
        answer = handler(session, arguments)
        waiting = count_unread(session) if session.caller.is_member and name != "inbox" else 0
        # A member that calls anything hears of its mail: a handful of tokens, and only when there is some.
        return {**answer, "unread": waiting} if waiting else answer

    def _open(self, name: str, arguments: dict[str, Any]) -> Session:
        if self._app is None and self._is_light(name, arguments):
            home = os.path.abspath(self._environ["HEADCOUNT_HOME"])
            if self._session is None:
                self._session = open_session(home, self._environ, name)
                return self._session
            return self._identified(self._session, name)
        if self._app is None:
            from headcount.app.app import open_app

            self._app = open_app(self._start, self._environ, action=name)
            return self._app
        return self._identified(self._app, name)

    def _is_light(self, name: str, arguments: dict[str, Any]) -> bool:
        home = self._environ.get("HEADCOUNT_HOME")
        return (
            MODULE_OF[name] in _WITHOUT_APP and arguments.get("type") != "shutdown_request"
            and bool(home) and is_made(os.path.abspath(home or ""))
        )  # fmt: skip

    def _identified(self, session: Session, name: str) -> Session:
        """A member may have been stood down since its last call: then its token is void."""
        if session.caller.is_member:
            session.caller = identify(session.store, self._environ, session.home, name)
        return session


def drive(app: App) -> None:
    """Start an engine if none is running. Not for a member: its engine would carry the member's mark."""
    if not app.caller.is_member:
        from headcount.app.resident import ensure_driven

        ensure_driven(app)


def _read_call(params: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    name, given = params.get("name"), params.get("arguments")
    if not isinstance(name, str):
        raise ProtocolError(mcp_protocol.INVALID_PARAMS, "name must be the name of a tool")
    if name not in BY_NAME:
        known = {"code": "unknown-tool", "what": f"There is no tool {name[:80]}", "why": "", "hints": [
            f"The tools are {', '.join(BY_NAME)}"]}  # fmt: skip
        raise ProtocolError(mcp_protocol.INVALID_PARAMS, f"Unknown tool: {name[:80]}", known)
    if given is not None and not isinstance(given, dict):
        raise ProtocolError(mcp_protocol.INVALID_PARAMS, "arguments must be an object")
    return name, given or {}


def _answer(answer: Mapping[str, object], structured: bool) -> dict[str, Any]:
    """Return the answer as text, and once more as an object: Claude Code wants a permission as text alone."""
    text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
    if not structured:
        return {"content": [{"type": "text", "text": text}], "isError": False}
    return {"content": [{"type": "text", "text": text}], "structuredContent": answer, "isError": False}


def _refusal(error: HeadcountError) -> dict[str, Any]:
    """The same fields as in `--json`, and the same text that a person would read."""
    return {
        "content": [{"type": "text", "text": error.render()}],
        "structuredContent": {"error": error.as_dict()},
        "isError": True,
    }


class _Call(NamedTuple):
    request_id: Any
    params: dict[str, Any]


class Worker:
    """Calls are answered in the order in which they came, unless they are cancelled.

    A call that is being performed is not torn apart by a cancellation: what it does is one transaction. Its
    answer is not sent, as the protocol wants it. A call that waits for a person has a thread of its own, so
    that the others do not wait for it; a cancellation ends its wait.
    """

    def __init__(self, say: Say, caller: ToolCaller) -> None:
        self._say = say
        self._caller = caller
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._open: set[Any] = set()
        self._waiting: dict[Any, tuple[threading.Thread, int]] = {}  # with what ends the wait
        self._thread = threading.Thread(target=self._run, name="calls", daemon=True)
        self._thread.start()

    def put(self, request_id: Any, params: dict[str, Any]) -> None:
        with self._lock:
            if request_id in self._open:
                raise ProtocolError(mcp_protocol.INVALID_REQUEST, "A request with this id is under way")
            self._open.add(request_id)
        call = _Call(request_id, params)
        if params.get("name") in WAITING:
            self._start_waiting(call)
        else:
            self._calls.put(call)

    def cancel(self, request_id: Any) -> None:
        if isinstance(request_id, str | int | float):
            with self._lock:
                self._open.discard(request_id)
                self._end_waits([request_id])

    def finish(self) -> None:
        with self._lock:
            threads = [thread for thread, _ in self._waiting.values()]
            self._end_waits(list(self._waiting))
        self._calls.put(None)
        self._thread.join()
        for thread in threads:
            thread.join(_LEAVE_S)

    def _end_waits(self, request_ids: list[Any]) -> None:
        for request_id in request_ids:
            if request_id in self._waiting:
                os.eventfd_write(self._waiting[request_id][1], 1)

    def _start_waiting(self, call: _Call) -> None:
        gone = os.eventfd(0)
        thread = threading.Thread(target=self._wait, args=(call, gone), name="waits", daemon=True)
        with self._lock:
            self._waiting[call.request_id] = thread, gone
        thread.start()

    def _wait(self, call: _Call, gone: int) -> None:
        caller = ToolCaller(gone=gone)
        try:
            self._answer(call, self._perform(call, caller))
        finally:
            caller.close()
            with self._lock:
                del self._waiting[call.request_id]
                os.close(gone)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            if not self._wanted(call):
                continue
            if not self._answer(call, self._perform(call, self._caller)):
                break
        self._caller.close()

    def _answer(self, call: _Call, answer: dict[str, Any] | ProtocolError) -> bool:
        """Send an answer that is still wanted. False: the client is gone, as the main thread sees, too."""
        with self._lock:
            wanted = call.request_id in self._open
            self._open.discard(call.request_id)
        try:
            if wanted:
                self._say(call.request_id, answer)
        except BrokenPipeError:
            return False
        return True

    def _wanted(self, call: _Call) -> bool:
        with self._lock:
            return call.request_id in self._open

    def _perform(self, call: _Call, caller: ToolCaller) -> dict[str, Any] | ProtocolError:
        try:
            return mcp_protocol.in_envelope(caller.call(call.params), mcp_protocol.read_version(call.params))
        except ProtocolError as error:
            return error
