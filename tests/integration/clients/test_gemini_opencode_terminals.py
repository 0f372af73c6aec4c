"""Gemini CLI and opencode in terminals: a team's whole life, a crash, a dialog; judged by journal and git."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from client_lab import POLICY, TEAM, Lab, fingerprint, git
from test_two_members import works

from headcount.app.member_start import Plan
from headcount.app.team_status import status
from headcount.app.teams import spawn
from headcount.protocol.member import State

# Two of them at once draw their first screen late where the machine has other things to do.
PATIENT = replace(POLICY, start_timeout_s=150, exit_grace_s=20)
BOTH = pytest.mark.parametrize("client", ["gemini", "opencode"])


def wait_until(condition: Callable[[], object], limit_s: float = 60) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.05)


def busy(name: str) -> dict[str, Any]:
    """Reads its mail, commits a file, and is then busy for a while."""
    work = works(name)
    return {**work, "steps": [*work["steps"][:2], [{"shell": "touch $HEADCOUNT_HOME/busy; sleep 6"}]]}


@BOTH
def test_two_members_in_terminals_work_and_leave_and_one_hears_while_it_is_busy(
    client: str, open_lab: Callable[..., Lab]
) -> None:
    lab = open_lab([works("ann"), busy("bob")], PATIENT)
    users = fingerprint(lab.home)
    plans = [
        Plan(n, client, prompt=f"Write {n}.txt.", runtime="tmux", awaits_review=True) for n in ("ann", "bob")
    ]
    ann, _ = (spawn(lab.app, TEAM, plan).key for plan in plans)
    lab.wait(ann, lambda m: m.state is State.VERIFIED, 90)
    wait_until(lambda: os.path.exists(f"{lab.app.home}/busy"))
    wait_until(lambda: status(lab.app, TEAM)[0]["usage"].get(ann, {}).get("tokens", 0) >= 330)  # of 3 answers
    asked = lab.stand_down()
    answer = lab.finish(asked)

    assert lab.standin.missing == []
    assert answer["status"] == "shutdown", answer
    assert {(m["name"], m["answer"], m["outcome"]) for m in answer["members"]} == {
        ("ann", "approved", "clean"),
        ("bob", "approved", "clean"),
    }
    told = next(
        r["last"]
        for r in lab.standin.requests
        if "You are bob" in r["all"] and asked["requestId"] in r["last"]
    )
    assert "Output" in told or "(no output)" in told, told  # with the result of its command: no interruption
    for name in ("ann", "bob"):
        assert git(lab.app.root, "show", f"headcount/crew/{name}:{name}.txt") == f"by {name}"
    assert not any(entry.data["to"] == "killing" for entry in lab.journal("moved"))
    assert lab.alive() == []
    assert fingerprint(lab.home) == users


@BOTH
def test_C1_killed_in_mid_turn_in_its_terminal_it_loses_nothing_and_leaves_the_users_files_alone(
    client: str, open_lab: Callable[..., Lab]
) -> None:
    lab = open_lab(
        [{"when": "You are ann", "steps": [[{"shell": "echo half > half.txt"}], [{"sleep": 120}]]}], PATIENT
    )
    users = fingerprint(lab.home)
    key = lab.start("ann", client, prompt="Leave something, then think.", runtime="tmux")
    wait_until(lambda: len(lab.standin.requests) > 1)
    for process in lab.processes(key):
        with contextlib.suppress(ProcessLookupError):  # a hook or a command that has just ended
            os.kill(process.pid, signal.SIGKILL)
    member = lab.wait(key, lambda m: m.settled)

    assert member.outcome == "already_gone"
    assert "half.txt" in git(lab.app.root, "log", "--all", "--name-only", "--format=", "--", "*half.txt")
    assert lab.alive() == []
    assert fingerprint(lab.home) == users


@pytest.mark.parametrize(
    ("client", "settings", "content", "asks"),
    [
        ("gemini", ".gemini/settings.json", {}, "authenticate"),
        ("opencode", ".config/opencode/opencode.json", {"enabled_providers": ["nobody"]}, "provider"),
    ],
)
def test_a_client_that_nobody_has_set_up_waits_in_a_dialog_and_the_error_says_what_to_do(
    client: str, settings: str, content: dict[str, Any], asks: str, open_lab: Callable[..., Lab]
) -> None:
    lab = open_lab([], PATIENT)
    (lab.home / settings).write_text(json.dumps(content))
    member = lab.member(lab.start("ann", client, prompt="Work.", runtime="tmux"))
    assert member.state is State.GONE
    assert "dialog" in member.failure and asks in member.failure and "by hand" in member.failure, (
        member.failure
    )
    assert lab.alive() == []


def test_in_a_terminal_gemini_may_edit_and_commit_and_is_asked_nothing(open_lab: Callable[..., Lab]) -> None:
    """What it may not do is denied, as it is without a terminal: a dialog would wait for ever. opencode's
    settings say the same in both."""
    lab = open_lab([], replace(PATIENT, on_ask="deny"))
    outside = f"/var/tmp/headcount-outside-{os.getpid()}"
    steps = [
        [{"write": f"{lab.app.root}/.headcount/worktrees/crew/ann/a.txt", "content": "by ann\n"}],
        [{"shell": f"touch {outside}"}],
        [{"shell": "git add a.txt"}],
        [{"shell": "git commit -m more"}],
        [{"shell": "headcount idle"}],
    ]
    lab.standin.lanes.append({"when": "You are ann", "steps": steps})
    lab.permit("edit")
    key = lab.start("ann", "gemini", prompt="Write a.txt.", runtime="tmux")
    lab.wait(key, lambda m: m.activity == "idle")
    try:
        assert git(lab.app.root, "show", "headcount/crew/ann:a.txt") == "by ann", lab.output(key)[-3000:]
        assert not os.path.exists(outside)
    finally:
        if os.path.exists(outside):
            os.unlink(outside)
