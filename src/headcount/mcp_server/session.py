"""From a call's parameters to its result: opens the state, finds the handler, says what went wrong."""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import TYPE_CHECKING, Any

from headcount.errors import Bug, HeadcountError
from headcount.mcp_server import speech
from headcount.mcp_server.arguments import check_arguments
from headcount.mcp_server.dialect import in_our_words
from headcount.mcp_server.speech import ProtocolError
from headcount.mcp_server.tools import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headcount.app.app import App


class Session:
    """One caller's calls. The state is opened with the first one, and who calls is looked at with each."""

    def __init__(self, environ: Mapping[str, str] | None = None, start: str | None = None) -> None:
        self._environ = dict(os.environ if environ is None else environ)
        self._start = start
        self._app: App | None = None

    def call(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The result of `tools/call`. Raises `ProtocolError` only where the request itself is wrong."""
        name, given = _read_call(params)
        try:
            arguments = check_arguments(BY_NAME[name], in_our_words(name, given))
            return _answer(self._perform(name, arguments))
        except HeadcountError as error:
            return _refusal(error)
        except Exception:
            # Ours, and never the model's to read: the trace goes to the log of whoever started the server.
            traceback.print_exc(file=sys.stderr)
            bug = Bug(f"{name} failed", "this is a bug of headcount", ("The server's log has the details",))
            return _refusal(bug)

    def close(self) -> None:
        if self._app is not None:
            self._app.close()
            self._app = None

    def _perform(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        from headcount.app.mail import count_unread
        from headcount.mcp_server.handlers import find_handler

        app = self.open()
        answer = find_handler(name)(app, arguments)
        waiting = count_unread(app) if app.caller.is_member and name != "inbox" else 0
        # A member that calls anything hears of its mail: a handful of tokens, and only when there is some.
        return {**answer, "unread": waiting} if waiting else answer

    def open(self) -> App:
        from headcount.app.app import open_app
        from headcount.app.caller import identify

        if self._app is None:
            self._app = open_app(self._start, self._environ)
        elif self._app.caller.is_member:
            # Its incarnation may have been stood down since: then its token is void.
            self._app.caller = identify(self._app.store, self._environ, self._app.home)
        return self._app


def _read_call(params: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    name, given = params.get("name"), params.get("arguments")
    if not isinstance(name, str):
        raise ProtocolError(speech.INVALID_PARAMS, "name must be the name of a tool")
    if name not in BY_NAME:
        known = {"code": "unknown-tool", "what": f"There is no tool {name[:80]}", "why": "", "hints": [
            f"The tools are {', '.join(BY_NAME)}"]}  # fmt: skip
        raise ProtocolError(speech.INVALID_PARAMS, f"Unknown tool: {name[:80]}", known)
    if given is not None and not isinstance(given, dict):
        raise ProtocolError(speech.INVALID_PARAMS, "arguments must be an object")
    return name, given or {}


def _answer(answer: dict[str, Any]) -> dict[str, Any]:
    text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
    return {"content": [{"type": "text", "text": text}], "structuredContent": answer, "isError": False}


def _refusal(error: HeadcountError) -> dict[str, Any]:
    """The same fields as in `--json`, and the same text that a person would read."""
    return {
        "content": [{"type": "text", "text": error.render()}],
        "structuredContent": {"error": error.as_dict()},
        "isError": True,
    }
