"""Agents that speak ACP, as real programs: tools in the first turn, mail, asks, limits, the end."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from client_lab import Lab, fingerprint, git
from test_two_members import APPROVE, commit_file

from headcount.agents.acp.known_agents import AGENTS
from headcount.app.mail import send


@pytest.mark.parametrize("name", AGENTS)
def test_an_acp_agent_has_the_tools_at_once_takes_mail_in_one_session_and_leaves_nothing(
    name: str, open_lab: Callable[..., Lab]
) -> None:
    here = {"call": "send_message", "with": {"type": "message", "recipient": "lead", "content": "here"}}
    react = [
        {"if_last": "asked to stand down", "do": [APPROVE]},
        {"if_last": "Now commit.", "do": [{"shell": commit_file("ann")}]},
    ]
    lab = open_lab([{"when": "You are ann", "react": react, "steps": [[here]]}])
    users = fingerprint(lab.home)
    key = lab.start("ann", "acp", command=AGENTS[name].argv, prompt="Say that you are here.")
    lab.wait(key, lambda m: m.activity == "idle")
    assert lab.standin.missing == []
    send(lab.app, "ann", "More", "Now commit.", "crew")
    lab.wait(key, lambda m: m.activity == "working")
    lab.wait(key, lambda m: m.activity == "idle")
    assert "Say that you are here." in lab.standin.requests[-1]["all"], (
        "the second turn has the first one's session"
    )
    answer = lab.finish(lab.stand_down())
    assert answer["status"] == "shutdown" and answer["members"][0]["outcome"] == "clean", answer
    assert git(lab.app.root, "show", "headcount/crew/ann:ann.txt") == "by ann"
    assert lab.alive() == []
    assert fingerprint(lab.home) == users
