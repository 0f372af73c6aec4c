"""Agents that speak ACP, as real programs: tools in the first turn, mail, asks, limits, crashes, the end.

`python -m bench.acp` runs them often, and prints figures.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from client_lab import POLICY, Lab, fingerprint, git, installed
from test_limits import LIMITS
from test_two_members import APPROVE

from headcount.agents.acp.known_agents import AGENTS
from headcount.app.mail import send
from headcount.app.permissions import decide_ask, list_asks

# The quickest here; all of them with HEADCOUNT_ACP_AGENTS="claude codex gemini opencode qwen copilot".
SOME = os.environ.get("HEADCOUNT_ACP_AGENTS", "copilot").split()
HERE = {"call": "send_message", "with": {"type": "message", "recipient": "lead", "content": "here"}}
# No agent runs another program unasked with permissions = "edit".
COMMIT = """python3 -c "open('ann.txt', 'w')" && git add ann.txt && git commit -q -m 'by ann'"""
# Codex asks only to leave its sandbox.
OUTSIDE = {"sandbox_permissions": "require_escalated", "justification": "to commit"}
LEAVE = {"if_last": "asked to stand down", "do": [APPROVE], "again": True}
SLOW = {"error": 429, "kind": "rate_limit_error", "message": "Rate limit: too many requests.",
        "headers": {"x-should-retry": "false"}}  # fmt: skip


def start(lab: Lab, name: str, prompt: str) -> str:
    installed(AGENTS[name].argv[0])
    return lab.start("ann", "acp", command=AGENTS[name].argv, prompt=prompt)


def wait_ask(lab: Lab, limit_s: float = 60) -> dict[str, Any]:
    deadline = time.monotonic() + limit_s
    while not (found := list_asks(lab.app, "crew")):
        assert time.monotonic() < deadline, lab.output("ann#1")
        time.sleep(0.05)
    return dict(found[0])


def adapter(lab: Lab, key: str) -> int:
    """The process that the member's host has started."""
    found = {process.pid: process for process in lab.processes(key)}
    host = next(p for p in found.values() if p.ppid not in found)
    return next(p.pid for p in found.values() if p.ppid == host.pid)


@pytest.mark.parametrize("name", AGENTS)
def test_an_acp_agent_has_its_tools_at_once_takes_mail_asks_and_leaves_nothing(
    name: str, open_lab: Callable[..., Lab]
) -> None:
    commit = {"shell": COMMIT, "with": OUTSIDE if name == "codex" else {}}
    react = [LEAVE, {"if_last": "Now commit.", "do": [commit]}]
    lab = open_lab([{"when": "You are ann", "react": react, "steps": [[HERE]]}])
    lab.permit("edit")
    users = fingerprint(lab.home)
    key = start(lab, name, "Say that you are here.")
    lab.wait(key, lambda m: m.activity == "idle")
    assert lab.standin.missing == [], "headcount's tools are in the first request"
    send(lab.app, "ann", "More", "Now commit.", "crew")
    ask = wait_ask(lab)
    assert "git commit" in ask["command"], ask
    decide_ask(lab.app, ask["id"], "allow", team="crew")
    lab.wait(key, lambda m: m.activity == "idle")
    assert git(lab.workspace(key), "log", "-1", "--format=%s") == "by ann"
    assert "Say that you are here." in lab.standin.requests[-1]["all"], "in the session of the first turn"
    answer = lab.finish(lab.stand_down())
    assert answer["status"] == "shutdown" and answer["members"][0]["outcome"] == "clean", answer
    assert lab.alive() == []
    assert fingerprint(lab.home) == users


@pytest.mark.parametrize("name", [name for name in SOME if AGENTS[name].at_limit != "silent"])
def test_an_acp_agent_at_its_limit_is_parked_and_works_again(name: str, open_lab: Callable[..., Lab]) -> None:
    """An agent that retries by itself is believed only after several attempts."""
    limits = [[LIMITS["gemini"]]] if name == "gemini" else [[SLOW]] * (3 if name == "opencode" else 1)
    lane = {"when": "You are ann", "react": [LEAVE], "steps": [*limits, [HERE]]}
    lab = open_lab([lane], replace(POLICY, limit_wait_s=1))
    key = start(lab, name, "Say that you are here.")
    lab.wait_note("limited")
    lab.wait(key, lambda m: m.activity == "idle")
    kinds = [entry.kind for entry in lab.journal("limited", "limit_over")]
    assert (kinds[0], kinds[-1]) == ("limited", "limit_over")


@pytest.mark.parametrize("name", SOME)
def test_an_adapter_killed_in_its_turn_is_started_again_and_does_the_work(
    name: str, open_lab: Callable[..., Lab]
) -> None:
    steps: list[Any] = [[{"sleep": 600}], [HERE]]
    lab = open_lab([{"when": "You are ann", "react": [LEAVE], "steps": steps}])
    key = start(lab, name, "Say that you are here.")
    deadline = time.monotonic() + 60
    while not lab.standin.requests:
        assert time.monotonic() < deadline, lab.output(key)
        time.sleep(0.05)
    os.kill(adapter(lab, key), signal.SIGKILL)
    lab.wait(key, lambda m: m.activity == "idle")
    assert len(lab.journal("turn_failed")) == 1
    answer = lab.finish(lab.stand_down())
    assert answer["status"] == "shutdown" and lab.alive() == []
