"""A permission request from the client's call to the page, and the answer back to the client: milliseconds.

python bench/asks.py [--runs N]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from scene import make_team

from headcount.app.app import open_app
from headcount.app.page import Onlooker
from headcount.app.permissions import decide_ask
from headcount.ports import Identity

_SHELL = {"tool_name": "Bash", "input": {"command": "make test"}}
_CALL = {
    "jsonrpc": "2.0",
    "method": "tools/call",
    "params": {"name": "permission_prompt", "arguments": _SHELL},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=50)
    runs = parser.parse_args().runs
    asked, answered = [], []
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(["git", "init", "-q", place], check=True)
        app = open_app(place, {})
        with app.store.write() as tx:
            team = make_team(tx, "bench", "alice")
            tx.add_token(Identity(team.id, "alice#1", "worker"), "token")
        page = Onlooker(app, "bench")
        app.store.listen("team/bench")
        member = {"HEADCOUNT_HOME": app.home, "HEADCOUNT_TEAM": "bench", "HEADCOUNT_MEMBER": "alice",
                  "HEADCOUNT_GENERATION": "1", "HEADCOUNT_TOKEN": "token"}  # fmt: skip
        server = subprocess.Popen(
            [sys.executable, "-m", "headcount", "mcp"], cwd=place, env={**os.environ, **member},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert server.stdin is not None and server.stdout is not None
        for number in range(runs + 1):
            begun = time.monotonic()
            server.stdin.write(json.dumps({**_CALL, "id": number}).encode() + b"\n")
            server.stdin.flush()
            while not (view := page.look()).asks:
                app.store.wait("team/bench", 1)
            seen = time.monotonic()
            decide_ask(app, view.asks[0]["id"] or "", "allow")
            committed = time.monotonic()
            server.stdout.readline()
            if number:  # the first call opens the state
                asked.append((seen - begun) * 1e3)
                answered.append((time.monotonic() - committed) * 1e3)
        server.communicate()
        app.close()
    for name, times in (("call → view of the page", asked), ("answer → client", answered)):
        times.sort()
        print(f"{name}: median {statistics.median(times):.1f} ms, most {times[-1]:.1f} ms ({runs} times)")


if __name__ == "__main__":
    main()
