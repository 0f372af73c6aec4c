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


def test_claude_waits_for_the_answer_and_does_only_what_was_allowed(open_lab: Callable[..., Lab]) -> None:
    lab = open_lab(ann({"shell": _MAKES}, {"shell": "touch denied.txt"}))
    lab.permit("edit")
    key = lab.start("ann", "claude", prompt="Work a little.")
    first = wait_ask(lab, key)
    assert (first["kind"], first["command"], first["directory"]) == ("command", _MAKES, lab.workspace(key))
    assert not is_made(lab, key)
    decide_ask(lab.app, first["id"] or "", "allow")
    second = wait_ask(lab, key)
    assert is_made(lab, key), lab.output(key)
    decide_ask(lab.app, second["id"] or "", "deny", "use make instead")
    lab.wait(key, lambda m: m.activity == "idle")
    assert not Path(lab.workspace(key), "denied.txt").exists()
    assert any("use make instead" in request["last"] for request in lab.standin.requests)


def test_gemini_waits_in_its_hook_and_does_what_was_allowed(open_lab: Callable[..., Lab]) -> None:
    lab = open_lab(ann({"shell": _MAKES}, {"shell": "touch denied.txt"}))
    lab.permit("edit")
    key = lab.start("ann", "gemini", prompt="Work a little.")
    first = wait_ask(lab, key)
    assert (first["kind"], first["command"]) == ("command", _MAKES)
    decide_ask(lab.app, first["id"] or "", "allow")
    second = wait_ask(lab, key)
    assert is_made(lab, key), lab.output(key)
    decide_ask(lab.app, second["id"] or "", "deny", "use make instead")
    lab.wait(key, lambda m: m.activity == "idle")
    assert not Path(lab.workspace(key), "denied.txt").exists()
    assert any("use make instead" in request["last"] for request in lab.standin.requests)
