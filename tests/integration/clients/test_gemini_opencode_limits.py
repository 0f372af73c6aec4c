"""Limits of Gemini CLI and opencode, as their interfaces say it: parked, held, lifted; and begun anew."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from client_lab import POLICY, TEAM, Lab, git
from test_limits import is_parked_then_goes_on
from test_two_members import commit_file

from headcount.app.team_status import status
from headcount.app.witness import nudge

SOON = replace(POLICY, limit_wait_s=3, start_timeout_s=150)
LIMITS: dict[str, dict[str, Any]] = {
    "gemini": {"error": 429, "kind": "RESOURCE_EXHAUSTED", "message": "You exceeded your current quota.",
               "fields": {"details": [{"@type": "type.googleapis.com/google.rpc.QuotaFailure",
                                       "violations": [{"quotaId": "GenerateRequestsPerDay-FreeTier"}]}]}},
    "opencode": {"error": 429, "kind": "rate_limit_exceeded", "message": "Rate limit reached for requests",
                 "headers": {"retry-after": "4"}},
}  # fmt: skip
TOO_LONG: dict[str, dict[str, Any]] = {
    "gemini": {"error": 400, "kind": "INVALID_ARGUMENT", "message": "The input token count (1058297) exceeds "
               "the maximum number of tokens allowed (1048576)."},
    "opencode": {"error": 400, "kind": "context_length_exceeded", "message": "This model's maximum context "
                 "length is 128000 tokens. However, your messages resulted in 130000 tokens."},
}  # fmt: skip
# opencode's plugin tells of both in the same way, with a terminal and without.
WAYS = [("gemini", "plain"), ("gemini", "tmux"), ("opencode", "plain")]


@pytest.mark.parametrize(("client", "runtime"), WAYS)
def test_a_limit_parks_and_is_lifted_and_what_no_longer_fits_is_made_to_fit(
    client: str, runtime: str, open_lab: Callable[..., Lab]
) -> None:
    """Gemini CLI begins a new conversation, with its task; opencode makes its own shorter, and is let."""
    lane = {"when": "You are ann", "steps": [[LIMITS[client]], [{"shell": commit_file("ann")}]],
            "react": [{"if_last": "Once more.", "do": [TOO_LONG[client]]}]}  # fmt: skip
    lab = open_lab([lane], SOON)
    key = lab.start("ann", client, prompt="Write ann.txt.", runtime=runtime)
    is_parked_then_goes_on(lab, key)
    assert git(lab.app.root, "show", "headcount/crew/ann:ann.txt") == "by ann"
    (team,) = status(lab.app, TEAM)
    assert team["usage"][key]["tokens"] >= 110

    before = len(lab.standin.requests)
    nudge(lab.app, "ann", "Once more.", TEAM)
    deadline = time.monotonic() + 60
    while not any(_fits(request) for request in lab.standin.requests[before:]):
        assert time.monotonic() < deadline, lab.output(key)
        time.sleep(0.1)
    lab.wait(key, lambda m: m.activity == "idle")
    assert len(lab.journal("starting")) == 2  # ann and bob, once each
    if client == "gemini":
        assert any(entry.data["overflow"] for entry in lab.journal("turn_failed"))
    else:
        assert lab.journal("compacting")


def _fits(request: dict[str, Any]) -> bool:
    """Asked again, without what was there before: a part of the command that reads the same in JSON."""
    assert "git add ann.txt" in commit_file("ann")
    return "git add ann.txt" not in request["all"]
