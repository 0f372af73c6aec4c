"""Clients that do not do as they are told, or are not let: Claude Code, and Codex where that differs."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from client_lab import POLICY, Lab, fingerprint, git
from test_two_members import APPROVE, commit_file

from headcount.protocol.member import State

SHORT = replace(POLICY, answer_timeout_s=4, nudge_timeout_s=1, exit_grace_s=1, on_escalation="force-kill")
LEAVE = {"shell": "echo half > half.txt"}


def ann(*steps: Any, react: tuple[Any, ...] = ()) -> list[dict[str, Any]]:
    return [{"when": "You are ann", "steps": [list(step) for step in steps], "react": list(react)}]


def wait_file(lab: Lab, key: str, name: str) -> None:
    deadline = time.monotonic() + 60
    while not os.path.exists(f"{lab.workspace(key)}/{name}"):
        assert time.monotonic() < deadline, f"{name} did not appear\n{lab.output(key)}"
        time.sleep(0.05)


def test_a_member_that_leaves_changes_is_sent_back_and_commits(open_lab: Callable[..., Lab]) -> None:
    commit = {"shell": "git add half.txt && git commit -q -m half"}
    sent_back = {"if_last": "must be resolved", "do": [commit, {"call": "member_done"}]}
    lab = open_lab(ann([LEAVE], react=({"if_last": "asked to stand down", "do": [APPROVE]}, sent_back)))
    key = lab.start("ann", "claude", prompt="Leave something.")
    wait_file(lab, key, "half.txt")
    answer = lab.finish(lab.stand_down())

    (member,) = answer["members"]
    assert (answer["status"], member["outcome"], member["attempts"]) == ("shutdown", "clean", 2), answer
    assert git(lab.app.root, "show", "headcount/crew/ann:half.txt") == "half"


def test_a_member_that_never_answers_is_salvaged_and_killed(open_lab: Callable[..., Lab]) -> None:
    lab = open_lab(ann([LEAVE], [{"sleep": 120}, {"text": "late"}]), SHORT)
    key = lab.start("ann", "claude", prompt="Leave something, then think for long.")
    wait_file(lab, key, "half.txt")
    answer = lab.finish(lab.stand_down())

    (member,) = answer["members"]
    assert (answer["status"], member["answer"], member["outcome"]) == ("shutdown", "unanswered", "forced")
    saved = git(lab.app.root, "ls-tree", "-r", "--name-only", member["salvage"])
    assert any(path.endswith("half.txt") for path in saved.splitlines()), saved
    assert lab.alive() == []


def test_A3_an_approval_in_plain_text_is_not_believed(open_lab: Callable[..., Lab]) -> None:
    says = {"if_last": "stand down", "do": [{"text": "Acknowledged, I approve. Exiting."}], "again": True}
    lab = open_lab(ann([{"shell": "sleep 3"}], react=(says,)), replace(SHORT, answer_timeout_s=8))
    key = lab.start("ann", "claude", prompt="Work a little.")
    lab.wait(key, lambda m: m.state is State.RUNNING)
    answer = lab.finish(lab.stand_down())

    assert [m["answer"] for m in answer["members"]] == ["unanswered"]
    told = [r["last"] for r in lab.standin.requests if "have not answered" in r["last"]]
    assert len(told) == 1  # the Stop hook says it once, and does not go round in circles


def test_a_turn_that_is_killed_is_begun_again_with_its_mail(open_lab: Callable[..., Lab]) -> None:
    """SIGKILL to the client alone: its host tells the next one what this one was told."""
    lab = open_lab(ann([LEAVE], [{"sleep": 120}], [{"shell": commit_file("ann")}], [{"call": "member_done"}]))
    key = lab.start("ann", "claude", prompt="Write ann.txt.", awaits_review=True)
    wait_file(lab, key, "half.txt")
    while len(lab.standin.requests) < 2:  # until it thinks
        time.sleep(0.05)
    (client,) = [p for p in lab.processes(key) if p.name == "claude"]
    os.kill(client.pid, signal.SIGKILL)
    wait_file(lab, key, "ann.txt")

    assert sum("Write ann.txt." in r["last"] for r in lab.standin.requests) == 2
    assert lab.journal("turn_failed")
    assert os.path.exists(f"{lab.workspace(key)}/half.txt")


@pytest.mark.parametrize("runtime", ["plain", "tmux"])
@pytest.mark.parametrize("client", ["claude", "codex"])
def test_C1_a_member_killed_in_mid_turn_loses_nothing(
    client: str, runtime: str, open_lab: Callable[..., Lab]
) -> None:
    """SIGKILL to everything of it at once. The user's own directories are as they were."""
    lab = open_lab(ann([LEAVE], [{"sleep": 120}]))
    users = fingerprint(lab.home)
    key = lab.start("ann", client, prompt="Leave something, then think.", runtime=runtime)
    wait_file(lab, key, "half.txt")
    for process in lab.processes(key):
        with contextlib.suppress(ProcessLookupError):  # a hook or a command that has just ended
            os.kill(process.pid, signal.SIGKILL)
    member = lab.wait(key, lambda m: m.settled)

    assert member.outcome == "already_gone"
    assert "half.txt" in git(lab.app.root, "log", "--all", "--name-only", "--format=", "--", "*half.txt")
    with lab.app.store.read() as tx:
        unread = [m.subject for m in tx.inbox("crew#1", ["lead"]) if m.bounced_from == key]
    # In a terminal Claude Code's hook has put the mail before the model, and that counts as read.
    assert unread == ([] if (client, runtime) == ("claude", "tmux") else ["Your task"])
    assert fingerprint(lab.home) == users


def test_in_a_terminal_a_nudge_while_busy_arrives_at_the_next_pause(open_lab: Callable[..., Lab]) -> None:
    lab = open_lab(
        ann(
            [{"shell": "touch $HEADCOUNT_HOME/busy; sleep 4"}],
            react=({"if_last": "stand down", "do": [APPROVE]},),
        )
    )
    key = lab.start("ann", "claude", prompt="Work a little.", runtime="tmux")
    deadline = time.monotonic() + 60
    while not os.path.exists(f"{lab.app.home}/busy"):
        assert time.monotonic() < deadline, lab.output(key)
        time.sleep(0.05)
    asked = lab.stand_down()
    before = len(lab.standin.requests)
    answer = lab.finish(asked)

    told = lab.standin.requests[before]["last"]
    assert "tool_result" in told and asked["requestId"] in told  # together with the result: no interruption
    (member,) = answer["members"]
    assert (answer["status"], member["answer"], member["outcome"]) == ("shutdown", "approved", "clean"), (
        answer
    )
    assert lab.journal("session_ended")  # it left by its own way
    assert lab.alive() == []
