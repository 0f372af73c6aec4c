"""From a commit to the page: milliseconds until an ask, a mail and an activity of one of 50 members arrive.

    python bench/page_latency.py [--runs N] [--members N]

Reads the page's stream as a browser does, without drawing. The ratio is to a bare server-sent event of the
same server software in the same run: what the machine takes at least.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from scene import make_team, open_empty

from headcount.app.app import App
from headcount.app.doing import DoingFile
from headcount.app.mail import send
from headcount.domain.asks import Ask
from headcount.protocol.member import Member

BARE = """
import asyncio, uvicorn, sys
from starlette.applications import Starlette
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
rung = asyncio.Queue()
async def events(request):
    async def read():
        yield "data: {}\\n\\n"
        while True:
            yield f"data: {await rung.get()}\\n\\n"
    return StreamingResponse(read(), media_type="text/event-stream")
async def ring(request):
    rung.put_nowait((await request.body()).decode())
    return Response("")
routes = [Route("/events", events), Route("/ring", ring, methods=["POST"])]
import socket
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
config = uvicorn.Config(Starlette(routes=routes), log_level="warning", timeout_graceful_shutdown=1)
uvicorn.Server(config).run(sockets=[listener])
"""


class Reader:
    """Reads events of a stream in a thread, and waits for one that holds a text."""

    def __init__(self, address: str, path: str, token: str = "") -> None:
        self._connection = http.client.HTTPConnection(address)
        self._connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        self._answer = self._connection.getresponse()
        self._news = threading.Condition()
        self._events: list[tuple[float, str]] = []
        threading.Thread(target=self._read, daemon=True).start()
        self.wait("{")

    def _read(self) -> None:
        for line in iter(self._answer.readline, b""):
            if line.startswith(b"data: "):
                with self._news:
                    self._events.append((time.monotonic(), line.decode()))
                    self._news.notify()

    def wait(self, text: str) -> float:
        """When the first event with this text arrived; those before it are forgotten."""
        with self._news:
            while True:
                while self._events:
                    at, event = self._events.pop(0)
                    if text in event:
                        return at
                if not self._news.wait(10):
                    raise SystemExit(f"No event with {text!r} within 10 s")


@contextmanager
def running(command: list[str], cwd: str) -> Iterator[str]:
    """A server, as the first line that it prints."""
    server = subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield server.stdout.readline()
    finally:
        server.terminate()
        server.wait()


def acts(app: App, members: list[Member]) -> dict[str, Callable[[str, int], None]]:
    """What is measured: each makes something with a text for the member with a number."""

    def ask(text: str, number: int) -> None:
        now = time.time()
        key = members[number].key
        with app.store.write(team="bench") as tx:
            asked = tx.add_ask(Ask("", "bench#1", key, "command", text, "", "", "/", now, now + 600))
            tx.add_entry("bench#1", "ask", key, {"ask": asked.id, "kind": "command", "title": text})
        app.store.ring(["engine", "team/bench"])

    def mail(text: str, number: int) -> None:
        send(app, members[number].name, text, "body", team="bench")

    def activity(text: str, number: int) -> None:
        DoingFile(app.home, "bench", members[number].key).report(text)

    return {"ask": ask, "mail": mail, "activity": activity}


def measure(
    runs: int, act: Callable[[str, int], None], reader: Reader, name: str, members: int
) -> list[float]:
    times = []
    for run in range(runs):
        text = f"{name} number {run}."
        time.sleep(0.05 + run % 7 * 0.1)  # at any moment of the server's own rhythm
        began = time.monotonic()
        act(text, run % members)
        times.append((reader.wait(text) - began) * 1000)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--members", type=int, default=50)
    given = parser.parse_args()
    app = open_empty()
    try:
        with app.store.write() as tx:
            team = make_team(tx, "bench", *(f"m{number:03}" for number in range(given.members)))
        os.makedirs(f"{app.home}/teams/bench", exist_ok=True)
        found: dict[str, list[float]] = {}
        with running([sys.executable, "-c", BARE], "/") as port:
            address = f"127.0.0.1:{port.strip()}"
            found["bare event"] = measure(
                given.runs, lambda text, _: post(address, text), Reader(address, "/events"), "bare", 1
            )
        with running([sys.executable, "-m", "headcount", "serve", "--json"], app.root) as line:
            address, _, token = json.loads(line)["url"].removeprefix("http://").partition("/#")
            reader = Reader(address, "/api/teams/bench/events", token)
            for name, act in acts(app, list(team.members.values())).items():
                found[name] = measure(given.runs, act, reader, name, given.members)
    finally:
        app.close()
        shutil.rmtree(app.root)
    show(found, given.members)


def post(address: str, text: str) -> None:
    connection = http.client.HTTPConnection(address)
    connection.request("POST", "/ring", text)
    connection.getresponse().read()
    connection.close()


def show(found: dict[str, list[float]], members: int) -> None:
    bare = statistics.median(found["bare event"])
    print(f"{members} members, {len(found['ask'])} of each, load {os.getloadavg()[0]:.1f}")
    for name, times in found.items():
        median: Any = statistics.median(times)
        print(f"{name:<12} median {median:6.0f} ms  worst {max(times):6.0f} ms  {median / bare:6.1f} x bare")


if __name__ == "__main__":
    main()
