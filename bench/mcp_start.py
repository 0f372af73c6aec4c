"""From the start of `headcount mcp` to its answers, as a ratio to `python -c pass`.

    python bench/mcp_start.py [--runs N]

Cold: nothing of ours runs and there is no state yet. Warm: an engine drives a team of this state directory.
The official SDK's own stdio server is measured beside it, with one tool. The clock stops at the answer; the
processor time is that of the whole process, which ends after the answer. On a busy machine compare that one.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

_OURS = [os.path.join(os.path.dirname(sys.executable), "headcount"), "mcp"]
_QUICK = {"HEADCOUNT_POLICY_ANSWER_TIMEOUT_S": "1", "HEADCOUNT_POLICY_NUDGE_TIMEOUT_S": "1"}

_SDK = """
import anyio, mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
async def tools(ctx, params):
    return types.ListToolsResult(tools=[types.Tool(name="t", input_schema={"type": "object"})])
server = Server("sdk", on_list_tools=tools)
async def main():
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
anyio.run(main)
"""
_OPENING = (
    {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                   "clientInfo": {"name": "bench", "version": "1"}},
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
)  # fmt: skip
_LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
_CALL = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "escalation_list", "arguments": {}},
}


class Took(NamedTuple):
    clock_s: float
    processor_s: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as place:
        env = {**os.environ, **_QUICK, "HEADCOUNT_HOME": f"{place}/state", "GIT_CONFIG_GLOBAL": "/dev/null"}
        # As after an install: with bytecode, wherever it may be written. The first run of each makes it.
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        env["PYTHONPYCACHEPREFIX"] = f"{place}/bytecode"
        sdk = [sys.executable, "-c", _SDK]
        _show(runs, env, {
            "tools/list, cold": lambda: _first(_OURS, _LIST, env),
            "first call, cold": lambda: _first(_OURS, _CALL, env),
            "tools/list, the SDK's own server": lambda: _first(sdk, _LIST, env),
        })  # fmt: skip
        with _team(place, env):
            _show(runs, env, {
                "tools/list, warm": lambda: _first(_OURS, _LIST, env),
                "first call, warm": lambda: _first(_OURS, _CALL, env),
            })  # fmt: skip


def _show(runs: int, env: dict[str, str], measures: dict[str, Callable[[], Took]]) -> None:
    """Round by round, so that a noisy minute of the machine touches every row."""
    rows = {"python -c pass": lambda: _run([sys.executable, "-c", "pass"], env), **measures}
    seen: dict[str, list[Took]] = {name: [] for name in rows}
    for turn in range(runs + 1):
        for name, measure in rows.items():
            took = measure()
            if turn:
                seen[name].append(took)
    base = [statistics.median(column) for column in zip(*seen["python -c pass"], strict=True)]
    print(f"{'':34} {'clock':>11} {'ratio':>7} {'processor':>11} {'ratio':>7}   median of {runs}")
    for name, taken in seen.items():
        clock, cpu = (statistics.median(column) for column in zip(*taken, strict=True))
        ratios = clock / base[0], cpu / base[1]
        print(f"{name:34} {clock * 1e3:8.1f} ms {ratios[0]:6.2f}x {cpu * 1e3:8.1f} ms {ratios[1]:6.2f}x")


def _run(command: list[str], env: dict[str, str]) -> Took:
    began, before = time.perf_counter(), _children_s()
    subprocess.run(command, check=True, env=env)
    return Took(time.perf_counter() - began, _children_s() - before)


def _first(command: list[str], request: dict[str, object], env: dict[str, str]) -> Took:
    """Start it, write what a client writes, and stop the clock at the answer to `request`."""
    began, before = time.perf_counter(), _children_s()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as server:
        assert server.stdin and server.stdout
        server.stdin.write(b"".join(json.dumps(m).encode() + b"\n" for m in (*_OPENING, request)))
        server.stdin.flush()
        while b'"id":2' not in (line := server.stdout.readline()):
            assert line, "the server ended without an answer"
        took = time.perf_counter() - began
        server.stdin.close()
    return Took(took, _children_s() - before)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def _team(place: str, env: dict[str, str]) -> Iterator[None]:
    """While an engine is resident: a team is there, with a member at work."""
    definition = f"{place}/team.py"
    with open(definition, "w", encoding="utf-8") as file:
        file.write(_TEAM)
    quiet: dict[str, Any] = {
        "check": True,
        "env": env,
        "cwd": place,
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
    }
    subprocess.run([_OURS[0], "up", definition], **quiet)
    try:
        yield
    finally:
        subprocess.run([_OURS[0], "down", "bench"], **quiet)


_TEAM = """
from headcount import Command, Team, Teammate, Workflow, define_team, define_worker
one = define_worker("one", command=["sleep", "1000"])
bench = define_team("bench", [one])
doc = Command(name="bench", description="bench")[
    Workflow(name="Bench", team=bench)[Team(team=bench)[Teammate(worker=one, description="d", prompt="p")]]
]
"""


if __name__ == "__main__":
    main()
