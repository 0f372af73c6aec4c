"""A budget holds inside a turn, and what a client does is seen while it does it: with the real clients."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from client_lab import POLICY, TEAM, Lab

from headcount.app.team_status import status
from headcount.app.transcripts import read_transcript

APPROVE = {"call": "send_message", "with": {"type": "shutdown_response", "recipient": "lead",
           "request_id": {"$match": r"(budget-ann-\d+)"}, "approve": True}}  # fmt: skip


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_F110_a_budget_holds_inside_a_turn(client: str, open_lab: Callable[..., Lab]) -> None:
    """Each answer costs 110 tokens, and the turn has 60 of them. A hook puts the request before Claude Code.
    Codex has no hook, so its turn is ended, and the next one continues it with the request."""
    lane = {"when": "You are ann", "steps": [[{"shell": "git status"}]] * 60,
            "react": [{"if_last": "stand down", "do": [APPROVE]}]}  # fmt: skip
    lab = open_lab([lane], replace(POLICY, budget_tokens=330))
    key = lab.start("ann", client, prompt="Work.")
    member = lab.wait(key, lambda m: m.settled, 90)
    assert (member.outcome, member.answer, member.over_budget) == ("clean", "approved", True)
    (asked,) = lab.journal("stand_down")
    assert "of 330 tokens" in asked.data["reason"]
    (team,) = status(lab.app, TEAM)
    # The request reaches the client some answers later, when the engine has written it.
    assert 330 <= team["usage"][key]["tokens"] < 3300, team["usage"]
    assert len(lab.journal("turn_failed")) == 0


@pytest.mark.parametrize(
    ("client", "runtime"), [("claude", "plain"), ("opencode", "plain"), ("codex", "tmux")]
)
def test_F111_what_a_client_is_doing_is_seen_while_it_does_it(
    client: str, runtime: str, open_lab: Callable[..., Lab]
) -> None:
    command = "tail -f /dev/null"  # Claude Code refuses to run `sleep 300`
    script = [[{"shell": command}]]
    lab = open_lab([{"when": "You are ann", "steps": script}])
    key = lab.start("ann", client, prompt="Work.", runtime=runtime)
    seen: list[Any] = []
    deadline = time.monotonic() + 60
    while f"running {command}" not in seen:
        (member,) = status(lab.app, TEAM, {})[0]["members"]
        seen.append(member["doing"] and member["doing"]["text"])
        assert time.monotonic() < deadline, (set(seen), lab.output(key))
        time.sleep(0.1)
    if client != "opencode":  # its stream has a tool only when that is over
        assert f"> running {command}\n" in "".join(read_transcript(lab.app, "ann"))
