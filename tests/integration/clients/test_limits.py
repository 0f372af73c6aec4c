"""A usage limit, a conversation that no longer fits, a budget: as the interfaces themselves say it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from client_lab import POLICY, TEAM, Lab
from test_two_members import APPROVE, commit_file

from headcount.app.starting import Plan
from headcount.app.teams import spawn, status
from headcount.errors import Declined


def limit(seconds: float) -> dict[str, Any]:
    """A 429 of the Messages interface, as for a subscription whose time window is used up."""
    reset = str(int(time.time() + seconds))
    return {"error": 429, "kind": "rate_limit_error", "message": "This request would exceed your rate limit.",
            "headers": {"anthropic-ratelimit-unified-status": "rejected", "x-should-retry": "false",
                        "anthropic-ratelimit-unified-reset": reset, "retry-after": str(int(seconds)),
                        "anthropic-ratelimit-unified-representative-claim": "five_hour"}}  # fmt: skip


def test_a_usage_limit_parks_the_member_holds_starts_and_is_lifted(open_lab: Callable[..., Lab]) -> None:
    lane = {"when": "You are ann", "steps": [[limit(12)], [{"shell": commit_file("ann")}]]}
    lab = open_lab([lane])
    key = lab.start("ann", "claude", prompt="Write ann.txt.")
    lab.wait(key, lambda m: m.activity == "limited")
    with pytest.raises(Declined) as refused:
        spawn(lab.app, TEAM, Plan("bob", command=("true",)))
    assert refused.value.code == "usage-limit" and key in refused.value.why
    (team,) = status(lab.app, TEAM)
    assert team["members"][0]["activity"] == "limited"

    lab.wait(key, lambda m: m.activity == "idle", 90)
    assert [entry.kind for entry in lab.journal("limited", "limit_over")] == ["limited", "limit_over"]
    assert len(lab.journal("starting")) == 1  # parked, not started anew
    assert sum("Write ann.txt." in r["last"] for r in lab.standin.requests) == 2  # and told again
    lab.start("bob", "command", command=("true",))


LIMITS: dict[str, dict[str, Any]] = {
    "codex": {"error": 429, "kind": "usage_limit_reached", "message": "The usage limit has been reached",
              "fields": {"plan_type": "plus"}},
    "gemini": {"error": 429, "kind": "RESOURCE_EXHAUSTED", "message": "You exceeded your current quota.",
               "fields": {"details": [{"@type": "type.googleapis.com/google.rpc.QuotaFailure",
                                       "violations": [{"quotaId": "GenerateRequestsPerDay-FreeTier"}]}]}},
}  # fmt: skip


@pytest.mark.parametrize("client", LIMITS)
def test_a_usage_limit_of_another_client_parks_its_member_too(
    client: str, open_lab: Callable[..., Lab]
) -> None:
    """opencode is not here: it waits for the end of a limit by itself, and says nothing."""
    lane = {"when": "You are ann", "steps": [[LIMITS[client]]] * 9}
    lab = open_lab([lane], replace(POLICY, answer_timeout_s=2))
    key = lab.start("ann", client, prompt="Work.")
    lab.wait(key, lambda m: m.activity == "limited")
    with pytest.raises(Declined) as refused:
        spawn(lab.app, TEAM, Plan("bob", command=("true",)))
    assert refused.value.code == "usage-limit"
    answer = lab.finish(lab.stand_down(force=True))
    assert answer["status"] == "shutdown" and lab.alive() == []


def test_a_conversation_that_no_longer_fits_is_begun_anew(open_lab: Callable[..., Lab]) -> None:
    too_long = {"error": 400, "kind": "invalid_request_error",
                "message": "prompt is too long: 208310 tokens > 200000 maximum"}  # fmt: skip
    react = [{"if_last": "Go on.", "do": [too_long]}]
    lab = open_lab([{"when": "You are ann", "react": react * 3, "steps": [[{"text": "Here."}]]}])
    key = lab.start("ann", "claude", prompt="Begin.")
    lab.wait(key, lambda m: m.activity == "idle")
    with lab.app.store.write() as tx:
        sent = tx.send("crew#1", "operator", "operator", "ann", "More", "Go on.")
    lab.app.store.ring(sent.channels)
    failed = lab.wait_note("turn_failed", 90)
    assert failed.data["overflow"], failed
    deadline = time.monotonic() + 60
    while sum("Go on." in r["last"] and "Here." not in r["all"] for r in lab.standin.requests) == 0:
        assert time.monotonic() < deadline, lab.output(key)
        time.sleep(0.1)


def test_above_its_budget_a_member_is_asked_to_stand_down(open_lab: Callable[..., Lab]) -> None:
    react = [{"if_last": "asked to stand down", "do": [APPROVE]}]
    lab = open_lab([{"when": "You are ann", "react": react}], replace(POLICY, budget_tokens=100))
    key = lab.start("ann", "claude", prompt="Work.")
    member = lab.wait(key, lambda m: m.settled, 90)
    assert (member.answer, member.outcome, member.over_budget) == ("approved", "clean", True)
    (asked,) = lab.journal("stand_down")
    assert "budget" in asked.data["reason"] and asked.data["by"] == "policy"
