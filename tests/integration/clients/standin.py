"""A stand-in for the model behind every client: loopback, scripted, judged by nothing that it says.

It speaks the four interfaces that the clients use (Anthropic Messages, OpenAI Responses, OpenAI Chat
Completions, Gemini generateContent). What it answers is a script, the same for every client:

    {"lanes": [{"when": "You are alice", "steps": [[{"call": "inbox", "with": {"unread": true}}], …],
                "react": [{"if_last": "shutdown_request", "do": [{"call": "send_message", "with": {…}}]}]}]}

A request that lists tools is answered by the first lane whose `when` stands anywhere in it: by the first
reaction whose `if_last` stands in what was said last, which is then used up, else by the lane's next step,
else by "Nothing more to do." Requests without tools (titles, summaries) get "ok".

    {"text": "…"}                       said
    {"call": "inbox", "with": {…}}      a tool by its last name, whatever the client puts in front of it
    {"shell": "git status", "with": {…}}     the client's own shell tool, with more arguments if needed
    {"write": "/w/a.txt", "content": "…"}    the client's own tool for that
    {"sleep": 5}                        thought about for so long
    {"context": 190000}                 so many tokens were read for it (Anthropic Messages)
    {"break": 0.5}                      only so much of the answer is sent, as if that were all
    {"error": 429, "kind": "…"}         the interface's own error, with its headers; `{reset}` in those is the
                                        moment `resets_in` seconds later, which is noted in `resets`

`{"$match": "regex"}` as an argument becomes the last match of its group in the request. A tool that the
client does not list is answered with text, and counted in `missing`.
"""

from __future__ import annotations

import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import model_dialects as dialects

Block = dict[str, Any]


class Standin(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, script: dict[str, Any]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lanes: list[dict[str, Any]] = script["lanes"]
        self.requests: list[dict[str, Any]] = []
        self.missing: list[str] = []
        self.resets: list[int] = []
        self._taken: dict[int, int] = {}
        self._used: set[tuple[int, int]] = set()
        self._lock = threading.Lock()
        # How often it looks whether it is to end: each test waits for that.
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def close(self) -> None:
        self.shutdown()
        self.server_close()

    def answer(self, turn: dialects.Turn) -> list[Block]:
        """The blocks that answer this request, with arguments filled in and tools under their full names."""
        if not turn.tools:
            return [{"text": "ok"}]
        with self._lock:
            self.requests.append({"tools": sorted(turn.tools), "last": turn.last, "all": turn.everything})
            blocks = self._choose(turn)
        return [self._resolve(block, turn) for block in blocks]

    def date_headers(self, error: Block) -> dict[str, str]:
        reset = int(time.time() + error.get("resets_in", 0))
        if "resets_in" in error:
            self.resets.append(reset)
        return {n: value.replace("{reset}", str(reset)) for n, value in error.get("headers", {}).items()}

    def _choose(self, turn: dialects.Turn) -> list[Block]:
        for number, lane in enumerate(self.lanes):
            if lane["when"] not in turn.everything:
                continue
            for which, reaction in enumerate(lane.get("react", [])):
                if reaction["if_last"] in turn.last and (number, which) not in self._used:
                    if not reaction.get("again"):
                        self._used.add((number, which))
                    return list(reaction["do"])
            step = self._taken.get(number, 0)
            self._taken[number] = step + 1
            steps = lane.get("steps", [])
            return list(steps[step]) if step < len(steps) else [{"text": "Nothing more to do."}]
        return [{"text": "No lane."}]

    def _resolve(self, block: Block, turn: dialects.Turn) -> Block:
        if "shell" in block:
            name = next((name for name in turn.tools if name.rpartition("/")[2] in dialects.SHELLS), None)
            arguments = dialects.shell_arguments(name or "", _filled(block["shell"], turn))
            arguments |= block.get("with", {})
        elif "write" in block:
            name = next((name for name in turn.tools if name in dialects.WRITERS), None)
            arguments = dialects.write_arguments(name or "", block["write"], block["content"])
        elif "call" in block:
            name = next((name for name in turn.tools if _is_named(name, block["call"])), None)
            arguments = _filled(block.get("with", {}), turn)
        else:
            return block
        if name is None:
            self.missing.append(block.get("call", "shell"))
            return {"text": f"There is no tool {block.get('call', 'shell')}."}
        return {"tool": name, "arguments": arguments}


def _is_named(full: str, name: str) -> bool:
    """`mcp__headcount__inbox`, `headcount_inbox`, `mcp_headcount_inbox`, or `inbox` in a namespace."""
    return full == name or (full.endswith(name) and "headcount" in full)


def _filled(value: Any, turn: dialects.Turn) -> Any:
    if isinstance(value, dict) and set(value) == {"$match"}:
        found = re.findall(value["$match"], turn.everything)
        return found[-1] if found else "no match"
    if isinstance(value, dict):
        return {key: _filled(item, turn) for key, item in value.items()}
    return value


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Standin

    def log_message(self, *_: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._send(200, "application/json", b"")

    def do_GET(self) -> None:
        self._send(200, "application/json", b'{"object": "list", "data": [], "models": []}')

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        dialect = dialects.find(self.path)
        if dialect is None:
            return self._send(200, "application/json", dialects.small_talk(self.path))
        request = json.loads(body or b"{}")
        blocks = self.server.answer(dialect.read(request))
        for block in blocks:
            time.sleep(block.get("sleep", 0))
        error = next((block for block in blocks if "error" in block), None)
        if error is not None:
            headers = self.server.date_headers(error)
            return self._send(error["error"], "application/json", dialect.error(error), headers)
        spoken = [block for block in blocks if not block.keys() & {"sleep", "context", "break"}]
        request["context"] = max((block.get("context", 0) for block in blocks), default=0)
        kind, answer = dialect.write(request, spoken, self.path)
        part = next((block["break"] for block in blocks if "break" in block), 1)
        return self._send(200, kind, answer, part=part)

    def _send(
        self, status: int, kind: str, body: bytes, headers: dict[str, str] | None = None, part: float = 1
    ) -> None:
        try:
            self.send_response(status)
            body = body[: int(len(body) * part)]
            for name, value in {
                "content-type": kind,
                "content-length": str(len(body)),
                **(headers or {}),
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            pass  # the client was stopped while it waited
