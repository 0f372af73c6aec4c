"""The server as a process: how soon it answers, what it keeps off its output, how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from mcp_lab import HEADCOUNT, TEAM, Lab, Server

from headcount.mcp_server.tools import TOOLS

# Whatever one of these names is too heavy, or not needed, before a client has seen the tools.
HEAVY = (
    "asyncio",
    "mcp",
    "pydantic",
    "dataclasses",
    "subprocess",
    "apsw",
    "headcount.store",
    "headcount.app",
)
NOT_FOR_READING = (
    "subprocess",
    "hashlib",
    "logging",
    "headcount.domain.settings",
    "headcount.protocol.events",
    "headcount.protocol.step",
    "headcount.engine.apply",
    "headcount.app.engine_loop",
    "headcount.app.member_start",
    "headcount.runtime.processes",
)
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


def test_the_tools_are_listed_before_anything_heavy_is_imported_or_opened(lab: Lab) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "headcount", "mcp"]
    server = Server(command, lab.place, {**lab.env, "HEADCOUNT_HOME": f"{lab.place}/elsewhere"})
    assert len(server.ask("tools/list")["result"]["tools"]) == len(TOOLS)
    imported = {line.rpartition("|")[2].strip() for line in server.close().splitlines()}
    assert "headcount.mcp_server.tools" in imported
    assert imported.isdisjoint(HEAVY)
    assert not os.path.exists(f"{lab.place}/elsewhere")


@pytest.mark.parametrize("words", [["mcp"], ["status"]])
def test_reading_a_team_imports_no_rule_no_setting_and_no_engine(lab: Lab, words: list[str]) -> None:
    lab.add_team()
    # The first command after a change of git's index asks git whether it tracks the state.
    subprocess.run([*HEADCOUNT, "status"], cwd=lab.place, env=lab.env, capture_output=True, check=True)
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "headcount", *words],
        input=json.dumps({**LIST, "method": "tools/call", "params": {"name": "escalation_list"}}) + "\n",
        cwd=lab.place, env=lab.env, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "headcount.protocol.team" in imported  # it has read the team
    assert imported.isdisjoint(NOT_FOR_READING), sorted(imported & set(NOT_FOR_READING))


def test_calls_that_were_accepted_are_finished_when_the_input_ends(lab: Lab) -> None:
    lab.add_team()
    calls = [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call",
         "params": {"name": "task_create", "arguments": {"subject": f"s{number}"}}}
        for number in range(20)
    ]  # fmt: skip
    said = "".join(json.dumps(call) + "\n" for call in calls)
    done = subprocess.run(
        [*HEADCOUNT, "mcp"],
        input=said,
        cwd=lab.place,
        env=lab.env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == list(range(20))
    assert done.returncode == 0
    assert done.stderr == ""
    with lab.app.store.read() as tx:
        assert [task.subject for task in tx.tasks(f"{TEAM}#1")] == [f"s{number}" for number in range(20)]


def test_a_client_that_is_gone_ends_the_server_quietly(lab: Lab) -> None:
    lab.add_team()
    server = lab.server()
    server.ok("task_list")
    assert server.process.stdout is not None
    server.process.stdout.close()
    server.write({"jsonrpc": "2.0", "id": 9, "method": "ping"})
    assert server.process.wait(30) == 0
    assert server.process.stderr is not None
    assert b"Traceback" not in server.process.stderr.read()


def test_a_ping_is_answered_while_a_call_waits(lab: Lab) -> None:
    """Another process holds the one write transaction; the call waits for it, the connection does not."""
    lab.add_team()
    server = lab.server()
    server.ok("task_list")
    call = {"name": "task_create", "arguments": {"subject": "s"}}
    with lab.app.store.write():
        server.write({"jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": call})
        server.write({"jsonrpc": "2.0", "id": "quick", "method": "ping"})
        assert server.read() == {"jsonrpc": "2.0", "id": "quick", "result": {}}
    assert server.read()["id"] == "slow"


def test_a_call_that_was_cancelled_is_not_answered(lab: Lab) -> None:
    lab.add_team()
    server = lab.server()
    server.ok("task_list")
    call = {"name": "task_create", "arguments": {"subject": "s"}}
    with lab.app.store.write():
        for request_id in ("kept", "dropped"):
            server.write({"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": call})
        server.write(
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "dropped"}}
        )
        server.write({"jsonrpc": "2.0", "id": "heard", "method": "ping"})
        assert server.read()["id"] == "heard"
    assert server.read()["id"] == "kept"
    assert len(server.ok("task_list")["tasks"]) == 1


def test_what_a_child_prints_does_not_reach_the_client(lab: Lab) -> None:
    """git, an engine, a library that prints: descriptor 1 is not the protocol's any more."""
    code = (
        "import os, subprocess, threading\n"
        "from headcount.mcp_server import mcp_protocol, stdio\n"
        "def loud(params):\n"
        "    print('from python', flush=True)\n"
        "    subprocess.run(['sh', '-c', 'echo from a child; cat'], check=True)\n"
        "    return {}\n"
        "mcp_protocol.ANSWERS['ping'] = loud\n"
        "stdio.serve()\n"
    )
    server = Server([sys.executable, "-c", code], lab.place, lab.env)
    assert server.ask("ping")["result"] == {}
    assert len(server.ask("tools/list")["result"]["tools"]) == len(TOOLS), (
        "the child ate nothing of the input"
    )
    assert server.close() == "from python\nfrom a child\n"


@pytest.mark.parametrize(
    ("words", "code"),
    [(["mcp", "--http"], 2), (["mcp", "more"], 2)],
)
def test_a_wrong_command_line_says_so(lab: Lab, words: list[str], code: int) -> None:
    done = subprocess.run(
        [*HEADCOUNT, *words], cwd=lab.place, env=lab.env, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == code
    assert done.stdout == ""
    assert "Traceback" not in done.stderr and done.stderr
