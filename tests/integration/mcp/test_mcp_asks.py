"""Permission requests through the server: a call that waits for a person, beside others that do not."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
from mcp_lab import TEAM, Lab, Server

from headcount.app.permissions import decide_ask
from headcount.domain.asks import Ask

BASH = {"command": "pytest -q", "description": "Run the tests"}
PROMPT = {"name": "permission_prompt", "arguments": {"tool_name": "Bash", "input": BASH, "tool_use_id": "t1"}}


def asks(lab: Lab) -> list[Ask]:
    with lab.app.store.read() as tx:
        return tx.asks(f"{TEAM}#1")


def begin(lab: Lab, server: Server, request_id: int = 100) -> Ask:
    """Call the tool, and wait until the new ask is stored."""
    before = len(asks(lab))
    server.write({"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": PROMPT})
    return lab.wait(lambda: asks(lab)[before:])[0]  # type: ignore[no-any-return]


def answer(server: Server, request_id: int = 100) -> str:
    said = server.read()
    assert said["id"] == request_id and "structuredContent" not in said["result"]
    return str(said["result"]["content"][0]["text"])


def test_other_calls_are_answered_while_one_waits_for_a_person(crew: Lab) -> None:
    server = crew.server(crew.add_member("ann"))
    ask = begin(crew, server)
    assert (ask.kind, ask.command, ask.key) == ("command", "pytest -q", "ann#1")
    assert server.ok("inbox") == {"messages": []}
    decide_ask(crew.app, ask.id, "allow")
    assert answer(server) == (
        '{"behavior":"allow","updatedInput":{"command":"pytest -q","description":"Run the tests"}}'
    )
    ask = begin(crew, server)
    decide_ask(crew.app, ask.id, "deny", "not now")
    assert answer(server) == '{"behavior":"deny","message":"Permission denied: not now."}'


def test_F105_an_answer_survives_the_death_of_the_process_that_waits_for_it(crew: Lab) -> None:
    env = crew.add_member("ann")
    first = crew.server(env)
    ask = begin(crew, first)
    os.kill(first.process.pid, signal.SIGSTOP)
    decide_ask(crew.app, ask.id, "allow")
    os.kill(first.process.pid, signal.SIGKILL)
    first.process.wait()
    second = crew.server(env)
    second.write({"jsonrpc": "2.0", "id": 100, "method": "tools/call", "params": PROMPT})
    assert '"allow"' in answer(second)
    # It was for one call: the next one is asked again.
    again = begin(crew, second)
    assert again.id != ask.id and [one.state for one in asks(crew)] == ["allowed", "open"]
    decide_ask(crew.app, again.id, "deny")
    assert '"deny"' in answer(second)


def test_an_open_ask_is_joined_after_the_death_of_the_process_that_waits(crew: Lab) -> None:
    env = crew.add_member("ann")
    first = crew.server(env)
    ask = begin(crew, first)
    os.kill(first.process.pid, signal.SIGKILL)
    first.process.wait()
    second = crew.server(env)
    second.write({"jsonrpc": "2.0", "id": 100, "method": "tools/call", "params": PROMPT})
    decide_ask(crew.app, ask.id, "allow")
    assert '"allow"' in answer(second)
    assert len(asks(crew)) == 1


@pytest.mark.parametrize("way", ["cancelled", "closed"])
def test_a_client_that_leaves_makes_its_ask_moot(crew: Lab, way: str) -> None:
    server = crew.server(crew.add_member("ann"))
    begin(crew, server)
    if way == "closed":
        server.close()
    else:
        told: dict[str, Any] = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
        server.write({**told, "params": {"requestId": 100}})
    crew.wait(lambda: [one.state for one in asks(crew)] == ["moot"])
    assert [entry.data["reason"] for entry in crew.journal("ask_moot")] == ["its client no longer waits"]


def test_F109_no_member_answers_for_itself_whatever_it_calls(crew: Lab) -> None:
    ann, lead = crew.add_member("ann"), crew.add_member("boss", role="lead")
    server = crew.server(ann)
    ask = begin(crew, server)
    for env in (ann, lead, crew.add_member("rita", role="spec-reviewer")):
        other = crew.server(env)
        assert other.call("ask_decide", id=ask.id, decision="allow").error["code"] == "not-allowed"
        assert crew.run("decide", ask.id, "allow", env=env)["error"]["code"] == "not-allowed"
    refused = [(entry.about, entry.data["action"]) for entry in crew.journal("refused")]
    assert refused.count(("ann#1", "decide_ask")) == 2
    decide_ask(crew.app, ask.id, "deny")
    assert '"deny"' in answer(server)
