"""`headcount hook`, as an agent client calls it: mail, an open request, idle, limits, cost, compaction."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from headcount.protocol import events as ev
from headcount.protocol.member import Activity

if TYPE_CHECKING:
    from conftest import World

from conftest import COMMAND


def hook(
    world: World, event: str, given: dict[str, Any] | None = None, *more: str, who: str | None = "alice"
) -> Any:
    done = subprocess.run(
        [COMMAND, "hook", event, *more], env=world.env(who), input=json.dumps(given or {}), text=True,
        capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    return json.loads(done.stdout) if done.stdout else None


def test_mail_is_shown_to_the_model_once(world: World) -> None:
    world.run("boss", "send", "alice", "-s", "s", "-m", "Not on main: \u00e9\U0001f600")
    shown = hook(world, "PostToolUse")["hookSpecificOutput"]
    assert (
        shown["hookEventName"] == "PostToolUse"
        and "Not on main: \u00e9\U0001f600" in shown["additionalContext"]
    )
    assert hook(world, "PostToolUse") is None


def test_input_that_nests_without_end_is_no_input_and_no_bug(world: World) -> None:
    done = subprocess.run(
        [COMMAND, "hook", "Stop"], env=world.env("alice"), input=b"[" * 200_000, capture_output=True,
        timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_turn_does_not_end_before_an_open_request_is_answered(world: World) -> None:
    world.ask("alice", "r7")
    blocked = hook(world, "Stop")
    assert blocked["decision"] == "block" and "headcount approve r7" in blocked["reason"]
    assert hook(world, "Stop", {"stop_hook_active": True}) is None
    world.run("alice", "approve")
    assert hook(world, "Stop") is None
    assert world.inputs() == [ev.Answered("alice#1", "r7", True)]


def test_the_end_of_a_turn_is_idle_and_counted(world: World) -> None:
    assert hook(world, "Stop", {"turn": True}) is None
    assert hook(world, "Stop", {"prompt_response": "Done."}) is None
    idle = ev.IdleReported("alice#1")
    assert world.inputs() == [ev.Spent("alice#1", 0, 1), idle, ev.Spent("alice#1", 0, 2), idle]
    with world.store.read() as tx:
        assert tx.fact(world.team.id, "alice#1", "usage") == {"tokens": 0, "turns": 2}
    assert [mail.type for mail in world.inbox("witness")] == ["idle", "idle"]


def test_a_turn_that_begins_ends_the_idle_report(world: World) -> None:
    hook(world, "UserPromptSubmit")
    assert world.inputs() == []
    world.change("alice", activity=Activity.IDLE)
    hook(world, "UserPromptSubmit")
    assert world.inputs() == [ev.WorkResumed("alice#1")]


def test_a_limit_parks_the_member(world: World) -> None:
    hook(world, "Limited", {"reason": "usage limit", "until": 1_700_000_000})
    assert world.inputs() == [ev.Limited("alice#1", "usage limit", "2023-11-14T22:13:20.000+00:00")]


@pytest.mark.parametrize(("event", "kind"), [("PreCompact", "compacting"), ("SessionEnd", "session_ended")])
def test_a_compaction_and_the_end_of_a_session_are_in_the_journal(
    world: World, event: str, kind: str
) -> None:
    hook(world, event, {"trigger": "auto", "other": 1})
    assert world.notes(kind) == [("alice#1", {"trigger": "auto"})]


def test_the_session_of_the_lead_is_told_how_much_mail_waits(world: World) -> None:
    assert hook(world, "UserPromptSubmit", None, "--lead", who=None) is None
    world.run("alice", "send", "lead", "-s", "s", "-m", "b")
    told = hook(world, "UserPromptSubmit", None, "--lead", who=None)
    assert "(1 for review)" in told["hookSpecificOutput"]["additionalContext"]
    assert [mail.read_at for mail in world.inbox("lead")] == [None]


def test_a_client_that_may_do_everything_asks_for_nothing(world: World) -> None:
    """Only with `permissions = "edit"` its directory has a permit."""
    assert hook(world, "BeforeShell", {"tool_input": {"command": "make test"}}) is None
    with world.store.read() as tx:
        assert tx.asks(world.team.id) == []
