"""Exchange JSON-RPC messages with one agent process, a line each, on its standard input and output.

A thread reads what the agent writes. It never answers and never touches the store: it hands each message to
the host, which takes them one by one. An agent may write anything. A line that is not a message is skipped,
a line that is too long is cut, and an agent that writes faster than the host reads has to wait.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from typing import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Message = dict[str, Any]

LONGEST_LINE = 4 << 20
_WAITING_MESSAGES = 500
_AT_ONCE = 1 << 16
_HEAD = 4096  # of a line that is too long: enough for its id and method in every agent that we know
_ID = re.compile(rb'"id"\s*:\s*(-?\d+|"[^"\\]*")')
_METHOD = re.compile(rb'"method"\s*:\s*"([^"\\]*)"')
METHOD_NOT_FOUND, INVALID_REQUEST = -32601, -32600
_EOF_S, _TERM_S, _KILL_S = 1.5, 0.7, 1.0
_WRITE_S = 30.0  # for an agent to read some of what is written to it


class AgentGone(Exception):
    """The agent process has ended, closed its output, or reads nothing."""


class Refused(Exception):
    """The agent answered a request with an error."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Link:
    """One agent process. All methods are for one thread, the host's."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        pipe = subprocess.PIPE
        # In a process group of its own, so that one signal reaches an agent that re-executed itself.
        self.child = subprocess.Popen(
            argv, env=env, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, process_group=0
        )
        self.ended = os.pidfd_open(self.child.pid)
        """Readable when the process has ended."""
        self.errors: deque[str] = deque(maxlen=100)
        """What it wrote to standard error lately, about a line each. It is passed on to ours, too."""
        self._arrived: queue.Queue[Message | None] = queue.Queue(_WAITING_MESSAGES)
        self._wanted = False
        self._gone = False
        self._reads = True
        self._last_id = 0
        assert self.child.stdin is not None
        os.set_blocking(self.child.stdin.fileno(), False)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    # --- to the agent

    def notify(self, method: str, params: Message) -> None:
        self._write({"method": method, "params": params})

    def request(self, method: str, params: Message) -> int:
        """Send a request and return its id."""
        self._wanted = True
        self._last_id += 1
        self._write({"id": self._last_id, "method": method, "params": params})
        return self._last_id

    def answer(self, to: Message, result: Message) -> None:
        self._write({"id": to["id"], "result": result})

    def refuse(self, to: Message, code: int, text: str) -> None:
        self._write({"id": to["id"], "error": {"code": code, "message": text}})

    def _write(self, message: Message) -> None:
        # ASCII: half a surrogate pair, which a stranger's text may hold, cannot be written in another way.
        data = memoryview(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        assert self.child.stdin is not None
        try:
            while data:
                self._wait_for_reader()
                with contextlib.suppress(BlockingIOError):
                    data = data[os.write(self.child.stdin.fileno(), data) :]
        except (OSError, ValueError) as error:
            raise AgentGone(str(error)) from error

    def _wait_for_reader(self) -> None:
        """Wait until the pipe takes some bytes. An agent that reads nothing once is given up."""
        assert self.child.stdin is not None
        waiting = select.poll()
        waiting.register(self.child.stdin.fileno(), select.POLLOUT)
        self._reads = self._reads and bool(waiting.poll(_WRITE_S * 1000))
        if not self._reads:
            raise AgentGone("the agent reads nothing")

    # --- from the agent

    def take(self, limit_s: float | None = None) -> Message | None:
        """Return the next message, or None after `limit_s`. Raise `AgentGone` after the last one."""
        if self._gone:
            raise AgentGone("the agent has ended")
        try:
            message = self._arrived.get(timeout=limit_s)
        except queue.Empty:
            return None
        if message is None:
            self._gone = True
            raise AgentGone("the agent has ended")
        return message

    def rest(self) -> None:
        """Drop notifications until the next request. Requests of the agent wait for that."""
        self._wanted = False

    def _read(self) -> None:
        """Read until the process has ended. A process that it left may hold its output open for ever."""
        assert self.child.stdout is not None and self.child.stderr is not None
        output, errors = self.child.stdout.fileno(), self.child.stderr.fileno()
        lines = _Lines()
        waiting = select.poll()
        waiting.register(self.ended, select.POLLIN)
        for fd in (output, errors):
            os.set_blocking(fd, False)
            waiting.register(fd, select.POLLIN)
        open_, ended = {output, errors}, False
        while output in open_ and not ended:
            ready = {fd for fd, _ in waiting.poll()}
            ended = self.ended in ready
            for fd in list(open_ if ended else open_ & ready):
                if not self._take_all(fd, lines if fd == output else None):
                    waiting.unregister(fd)
                    open_.discard(fd)
        self._arrived.put(None)

    def _take_all(self, fd: int, lines: _Lines | None) -> bool:
        """Read what a pipe holds now. False: it is closed."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(fd, _AT_ONCE):
                if lines is None:
                    self._pass_on(data)
                else:
                    for message in lines.read(data):
                        self._hand_over(message)
            return False
        return True

    def _hand_over(self, message: Message) -> None:
        if self._wanted:
            self._arrived.put(message)
        elif "id" in message:
            with contextlib.suppress(queue.Full):
                self._arrived.put_nowait(message)

    def _pass_on(self, data: bytes) -> None:
        text = data.decode(errors="replace")
        self.errors.extend(line for line in text.split("\n") if line.strip())
        sys.stderr.write(text)
        sys.stderr.flush()

    # --- the end

    def leave(self, ends_on_eof: bool) -> int:
        """End the process: close its input, then SIGTERM, then SIGKILL, to its group. Return its exit code.

        The host does not reap it before the last signal, so that no other group can have its number.
        """
        assert self.child.stdin is not None
        with contextlib.suppress(OSError):
            self.child.stdin.close()
        if not self.has_ended(_EOF_S if ends_on_eof else 0.0):
            self._signal(signal.SIGTERM)
            self.has_ended(_TERM_S)
        self._signal(signal.SIGKILL)
        if self.has_ended(_KILL_S):
            self._close()
        return self.child.poll() or 0

    def _close(self) -> None:
        """Close the descriptors, unless the reader still reads what a process of the agent writes."""
        deadline = time.monotonic() + _KILL_S
        while self._reader.is_alive() and time.monotonic() < deadline:
            with contextlib.suppress(queue.Empty):  # the reader may wait for room for a message
                self._arrived.get(timeout=0.01)
        if self._reader.is_alive():
            return
        for file in (self.child.stdout, self.child.stderr):
            assert file is not None
            file.close()
        os.close(self.ended)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(OSError):
            os.killpg(self.child.pid, number)

    def has_ended(self, wait_s: float = 0.0) -> bool:
        waiting = select.poll()
        waiting.register(self.ended, select.POLLIN)
        return bool(waiting.poll(wait_s * 1000))


class _Lines:
    """Bytes in, messages out. Never holds more than one line of the allowed length."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def read(self, data: bytes) -> list[Message]:
        messages = []
        *whole, rest = data.split(b"\n")
        for part in whole:
            self._add(part)
            message = self._message()
            self._parts, self._size = [], 0
            if message:
                messages.append(message)
        self._add(rest)
        return messages

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= LONGEST_LINE:
            self._parts.append(part)
        elif len(self._parts) != 1 or len(self._parts[0]) > _HEAD:
            self._parts = [b"".join([*self._parts, part])[:_HEAD]]

    def _message(self) -> Message | None:
        line = b"".join(self._parts)
        if self._size > LONGEST_LINE:
            return _cut_message(line)
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return None
        return message if isinstance(message, dict) else None


def _cut_message(head: bytes) -> Message | None:
    """Return what is known of a message that is too long: enough to refuse it, or to fail a request."""
    number, method = _ID.search(head), _METHOD.search(head)
    if number is None:
        return None
    message: Message = {"id": json.loads(number[1]), "too_long": True}
    return {**message, "method": method[1].decode()} if method else message
