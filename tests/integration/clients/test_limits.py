"""A usage limit, a conversation that no longer fits, a budget: as the interfaces themselves say it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from client_lab import POLICY, TEAM, Lab
from test_two_members import APPROVE, commit_file

from headcount.app.mail import send
from headcount.app.member_start import Plan
from headcount.app.team_status import status
from headcount.app.teams import spawn
from headcount.cli.status_commands import describe_team
from headcount.errors import Declined

# For a limit of which the client does not say when it ends.
SOON = replace(POLICY, limit_wait_s=3)
WAYS = [(client, runtime) for client in ("claude", "codex") for runtime in ("plain", "tmux")]
LIMITS: dict[str, dict[str, Any]] = {
    "claude": {"error": 429, "kind": "rate_limit_error", "message": "This request would exceed your limit.",
               "headers": {"x-should-retry": "false"}},
    "codex": {"error": 429, "kind": "usage_limit_reached", "message": "The usage limit has been reached",
              "fields": {"plan_type": "plus"}},
    "gemini": {"error": 429, "kind": "RESOURCE_EXHAUSTED", "message": "You exceeded your current quota.",
               "fields": {"details": [{"@type": "type.googleapis.com/google.rpc.QuotaFailure",
                                       "violations": [{"quotaId": "GenerateRequestsPerDay-FreeTier"}]}]}},
}  # fmt: skip
TOO_LONG: dict[str, dict[str, Any]] = {
    "claude": {"error": 400, "kind": "invalid_request_error",
               "message": "prompt is too long: 208310 tokens > 200000 maximum"},
    "codex": {"error": 400, "kind": "context_length_exceeded",
              "message": "Your input exceeds the context window of this model."},
}  # fmt: skip


def starts_are_held(lab: Lab, key: str) -> None:
    """Those of the same client and account."""
    with pytest.raises(Declined) as refused:
        spawn(lab.app, TEAM, Plan("bob", lab.start_fact(key)["agent"]))
    assert refused.value.code == "usage-limit" and key in refused.value.why


def is_parked_then_goes_on(lab: Lab, key: str) -> None:
    """Whoever is parked is named with reason and time; later it works, and was never started anew."""
    lab.wait(key, lambda m: m.activity == "limited")
    starts_are_held(lab, key)
    (team,) = status(lab.app, TEAM)
    (limit,) = team["limits"]
    assert limit["member"] == key and limit["reason"] and limit["until"]
    assert any(f"{key} is parked until" in line for line in describe_team(team))
    lab.wait(key, lambda m: m.activity == "idle", 90)
    assert [entry.kind for entry in lab.journal("limited", "limit_over")] == ["limited", "limit_over"]
    assert len(lab.journal("starting")) == 1
    lab.start("bob", "command", command=("true",))


@pytest.mark.parametrize(("client", "runtime"), WAYS)
def test_a_usage_limit_parks_the_member_holds_starts_and_is_lifted(
    client: str, runtime: str, open_lab: Callable[..., Lab]
) -> None:
    work = [{"shell": commit_file("ann")}]
    lab = open_lab([{"when": "You are ann", "steps": [[LIMITS[client]], work]}], SOON)
    key = lab.start("ann", client, prompt="Write ann.txt.", runtime=runtime)
    is_parked_then_goes_on(lab, key)
    told = "Write ann.txt." if runtime == "plain" else "The usage limit is over."
    assert sum(told in r["last"] for r in lab.standin.requests) == (2 if runtime == "plain" else 1)


@pytest.mark.parametrize("runtime", ["plain", "tmux"])
def test_the_end_of_a_subscriptions_window_is_read_from_the_interfaces_headers(
    runtime: str, open_lab: Callable[..., Lab]
) -> None:
    """Far below `limit_wait_s`, so nothing but the headers can have said so."""
    login = {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-dummy"}
    window = {**LIMITS["claude"], "resets_in": 5, "headers": {
        "anthropic-ratelimit-unified-status": "rejected", "x-should-retry": "false",
        "anthropic-ratelimit-unified-reset": "{reset}", "retry-after": "5",
        "anthropic-ratelimit-unified-representative-claim": "five_hour"}}  # fmt: skip
    lane = {"when": "You are ann", "steps": [[window], [{"shell": commit_file("ann")}]]}
    lab = open_lab([lane], replace(POLICY, limit_wait_s=600), **login)
    key = lab.start("ann", "claude", prompt="Write ann.txt.", runtime=runtime)
    is_parked_then_goes_on(lab, key)
    (reset,) = lab.standin.resets
    assert time.time() >= reset
    (limited,) = lab.journal("limited")
    assert limited.data["until"].startswith(time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(reset)))


def test_a_usage_limit_of_gemini_parks_its_member_too(open_lab: Callable[..., Lab]) -> None:
    """opencode is not here: it waits for the end of a limit by itself, and says nothing."""
    lane = {"when": "You are ann", "steps": [[LIMITS["gemini"]]] * 9}
    lab = open_lab([lane], replace(POLICY, answer_timeout_s=2))
    key = lab.start("ann", "gemini", prompt="Work.")
    lab.wait(key, lambda m: m.activity == "limited")
    starts_are_held(lab, key)
    answer = lab.finish(lab.stand_down(force=True))
    assert answer["status"] == "shutdown" and lab.alive() == []


@pytest.mark.parametrize(("client", "tries"), [("claude", 3), ("codex", 1)])
def test_a_conversation_that_no_longer_fits_is_begun_anew(
    client: str, tries: int, open_lab: Callable[..., Lab]
) -> None:
    """Claude Code tries to make it shorter first, by itself."""
    react = [{"if_last": "Go on.", "do": [TOO_LONG[client]]}] * tries
    lab = open_lab([{"when": "You are ann", "react": react, "steps": [[{"text": "Here."}]]}])
    key = lab.start("ann", client, prompt="Begin.")
    lab.wait(key, lambda m: m.activity == "idle")
    send(lab.app, "ann", "More", "Go on.", "crew")
    failed = lab.wait_note("turn_failed", 90)
    assert failed.data["overflow"], failed
    deadline = time.monotonic() + 60
    while sum("Go on." in r["last"] and "Here." not in r["all"] for r in lab.standin.requests) == 0:
        assert time.monotonic() < deadline, lab.output(key)
        time.sleep(0.1)


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_in_a_terminal_a_conversation_that_no_longer_fits_is_begun_anew_with_its_task(
    client: str, open_lab: Callable[..., Lab]
) -> None:
    lane = {"when": "You are ann", "steps": [[TOO_LONG[client]], [{"shell": commit_file("ann")}]]}
    lab = open_lab([lane])
    key = lab.start("ann", client, prompt="Write ann.txt.", runtime="tmux")
    lab.wait(key, lambda m: m.activity == "idle")
    (failed,) = lab.journal("turn_failed")
    assert failed.data["overflow"] and len(lab.journal("starting")) == 1
    anew = [r for r in lab.standin.requests if "begin anew" in r["all"] and "Write ann.txt." in r["all"]]
    assert anew and TOO_LONG[client]["message"] not in anew[0]["all"]


@pytest.mark.parametrize(("client", "runtime"), WAYS)
def test_above_its_budget_a_member_is_asked_to_stand_down(
    client: str, runtime: str, open_lab: Callable[..., Lab]
) -> None:
    react = [{"if_last": "stand down", "do": [APPROVE]}]
    lab = open_lab([{"when": "You are ann", "react": react}], replace(POLICY, budget_tokens=100))
    key = lab.start("ann", client, prompt="Work.", runtime=runtime)
    member = lab.wait(key, lambda m: m.settled, 90)
    assert (member.outcome, member.over_budget) == ("clean", True)
    assert member.answer in ("approved", None)  # who is idle by then is not asked, only looked at
    (asked,) = lab.journal("stand_down")
    assert "budget" in asked.data["reason"] and asked.data["by"] == "policy"
    (team,) = status(lab.app, TEAM)
    assert team["usage"][key]["tokens"] >= 110  # the turn itself may have been cut short
