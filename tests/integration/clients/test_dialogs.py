"""A client that needs a person in the middle of its work: told and shown, and nobody else answers for it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from client_lab import POLICY, TEAM, Lab

from headcount.app.team_status import status
from headcount.cli.status_commands import describe_team

SHORT = replace(POLICY, answer_timeout_s=4, nudge_timeout_s=1, exit_grace_s=2)
ATTACH = f"headcount attach ann --team {TEAM}"


@pytest.fixture
def outside() -> Iterator[str]:
    """A file that nobody but a person may let a member make."""
    path = f"/var/tmp/headcount-dialog-{os.getpid()}"
    yield path
    if os.path.exists(path):
        os.unlink(path)


def mail_to_lead(lab: Lab) -> list[str]:
    with lab.app.store.read() as tx:
        return [mail.body for mail in tx.inbox(f"{TEAM}#1", ["lead"]) if mail.sender == "ann#1"]


def activity(lab: Lab) -> str:
    (member,) = status(lab.app, TEAM)[0]["members"]
    return str(member["activity"])


def is_told_and_shown(lab: Lab, key: str, question: str) -> None:
    told = lab.wait_note("dialog")
    assert (told.about, told.data["text"]) == (key, question), lab.output(key)
    (team,) = status(lab.app, TEAM)
    (dialog,) = team["dialogs"]
    assert (dialog["member"], dialog["text"], dialog["attach"]) == (key, question, ATTACH)
    assert activity(lab) == "waiting"
    assert any(question in line and ATTACH in line for line in describe_team(team))
    (mail,) = [body for body in mail_to_lead(lab) if ATTACH in body]
    assert question in mail


def is_told_to_be_over(lab: Lab) -> None:
    lab.wait_note("dialog_over")
    assert status(lab.app, TEAM)[0]["dialogs"] == [] and activity(lab) != "waiting"
    assert len(lab.journal("dialog")) == 1 and len(mail_to_lead(lab)) == 2


def nothing_is_typed(lab: Lab, key: str) -> None:
    """However urgent it is, and though its numbers and its Enter would be an answer."""
    runtime, handle = lab.terminal(key)
    before = len(lab.standin.requests)
    assert not runtime.nudge(handle, "1", urgent=True, tag="held")
    assert not runtime.request_exit(handle, "2", 1.0)
    assert lab.journal("dialog_over") == [] and len(lab.standin.requests) == before


def asks_permission(client: str, lab: Lab, outside: str) -> list[dict[str, Any]]:
    """A step that needs somebody's permission."""
    if client == "claude":
        return [{"shell": f"touch {outside}"}]
    settings = lab.home / ".config/opencode/opencode.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "permission": {"webfetch": "ask"}}))
    return [{"call": "webfetch", "with": {"url": f"{lab.standin.url}/page", "format": "text"}}]


@pytest.mark.parametrize(
    ("client", "question"), [("claude", "Do you want to proceed?"), ("opencode", "△ Permission required")]
)
def test_a_permission_that_is_asked_for_is_told_and_only_a_person_gives_it(
    client: str, question: str, open_lab: Callable[..., Lab], outside: str
) -> None:
    lab = open_lab([], replace(POLICY, start_timeout_s=150))
    lab.permit("edit")
    step = asks_permission(client, lab, outside)
    lab.standin.lanes.append({"when": "You are ann", "steps": [step]})
    key = lab.start("ann", client, prompt="Work a little.", runtime="tmux")
    is_told_and_shown(lab, key, question)
    nothing_is_typed(lab, key)
    assert not os.path.exists(outside)

    before = len(lab.standin.requests)
    lab.person_types(key, "Enter")
    is_told_to_be_over(lab)
    lab.wait(key, lambda m: m.activity == "idle")
    assert len(lab.standin.requests) > before  # with the result of what it was permitted
    assert os.path.exists(outside) == (client == "claude")


@pytest.mark.parametrize(
    ("client", "command", "question"),
    [
        ("codex", "/model", "Select Model and Effort"),
        ("gemini", "/auth", "How would you like to authenticate"),
    ],
)
def test_a_list_that_a_person_left_open_is_told_and_nothing_is_chosen_in_it(
    client: str, command: str, question: str, open_lab: Callable[..., Lab]
) -> None:
    """With the words of a dialog above it, which are the model's own."""
    said = [{"text": "Do you want to proceed?\n\n1. Yes\n2. No"}]
    lab = open_lab([{"when": "You are ann", "steps": [said]}], replace(POLICY, start_timeout_s=150))
    key = lab.start("ann", client, prompt="Work a little.", runtime="tmux")
    lab.wait(key, lambda m: m.activity == "idle")
    lab.person_types(key, command)
    time.sleep(1)  # as a person does: what comes at once is taken for a paste
    lab.person_types(key, "Enter")
    told = lab.wait_note("dialog")
    is_told_and_shown(lab, key, told.data["text"])
    assert told.data["text"].startswith(question)
    nothing_is_typed(lab, key)
    lab.person_types(key, "Escape")
    is_told_to_be_over(lab)


def test_a_stand_down_is_not_typed_into_a_dialog_and_ends_it_all_the_same(
    open_lab: Callable[..., Lab], outside: str
) -> None:
    lab = open_lab([{"when": "You are ann", "steps": [[{"shell": f"touch {outside}"}]]}], SHORT)
    lab.permit("edit")
    key = lab.start("ann", "claude", prompt="Work a little.", runtime="tmux")
    lab.wait_note("dialog")
    answer = lab.finish(lab.stand_down())

    (member,) = answer["members"]
    assert (answer["status"], member["answer"], member["outcome"]) == ("shutdown", "unanswered", "clean")
    assert [entry.about for entry in lab.journal("nudge_undelivered")] == [key]
    assert not lab.journal("nudged")
    assert [entry.data["reason"] for entry in lab.journal("session_ended")] == [
        "other"
    ]  # nor was /exit typed
    assert not os.path.exists(outside)
    assert lab.alive() == []


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_a_login_that_ran_out_is_told_and_over_when_the_model_answers_again(
    client: str, open_lab: Callable[..., Lab]
) -> None:
    """Both stand at their prompt then, with their work undone."""
    ran_out = {"error": 401, "kind": "authentication_error", "message": "OAuth token has expired."}
    lane = {"when": "You are ann", "steps": [[{"text": "Here I am."}]],
            "react": [{"if_last": "Begin with it.", "do": [ran_out], "again": True}]}  # fmt: skip
    lab = open_lab([lane], ANTHROPIC_API_KEY="", CLAUDE_CODE_OAUTH_TOKEN="sk-ant-oat01-dummy")
    key = lab.start("ann", client, prompt="Work a little.", runtime="tmux")
    told = lab.wait_note("dialog")
    assert "401" in told.data["text"] and "token has expired" in told.data["text"]
    is_told_and_shown(lab, key, told.data["text"])
    lab.standin.lanes[0]["react"].clear()  # a person has logged it in
    lab.person_types(key, "Go on.")
    time.sleep(1)
    lab.person_types(key, "Enter")
    is_told_to_be_over(lab)
    lab.wait(key, lambda m: m.activity == "idle")
