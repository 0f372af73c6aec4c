"""Permission requests of the real clients: carried to a person, and answered by what that person says."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from client_lab import Lab

from headcount.app.permissions import AskAnswer, decide_ask, list_asks

_MAKES = 'python3 -c \'open("made.txt", "w")\''
_LIMIT_S = 60.0


def ann(*steps: Any) -> list[dict[str, Any]]:
    return [{"when": "You are ann", "steps": [[step] for step in steps]}]


def wait_ask(lab: Lab, key: str) -> AskAnswer:
    deadline = time.monotonic() + _LIMIT_S
    while not (found := list_asks(lab.app)):
        assert time.monotonic() < deadline, lab.output(key)
        time.sleep(0.05)
    return found[0]


def is_made(lab: Lab, key: str) -> bool:
    return Path(lab.workspace(key), "made.txt").exists()


def test_claude_waits_for_the_answer_and_does_what_was_allowed(open_lab: Callable[..., Lab]) -> None:
    lab = open_lab(ann({"shell": _MAKES}))
    lab.permit("edit")
    key = lab.start("ann", "claude", prompt="Work a little.")
    ask = wait_ask(lab, key)
    assert (ask["kind"], ask["command"], ask["directory"]) == ("command", _MAKES, lab.workspace(key))
    assert not is_made(lab, key)
    decide_ask(lab.app, ask["id"] or "", "allow")
    lab.wait(key, lambda m: m.activity == "idle")
    assert is_made(lab, key), lab.output(key)
    assert lab.standin.missing == []


def test_claude_reads_why_it_was_denied(open_lab: Callable[..., Lab]) -> None:
    lab = open_lab(ann({"shell": _MAKES}))
    lab.permit("edit")
    key = lab.start("ann", "claude", prompt="Work a little.")
    decide_ask(lab.app, wait_ask(lab, key)["id"] or "", "deny", "use make instead")
    lab.wait(key, lambda m: m.activity == "idle")
    assert not is_made(lab, key)
    assert any("use make instead" in request["last"] for request in lab.standin.requests)
