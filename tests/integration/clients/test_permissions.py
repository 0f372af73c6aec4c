"""`permissions = "edit"`: its files, git and headcount; nothing else unasked."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from client_lab import CLIENTS, Lab, git


def write(client: str, path: str) -> dict[str, Any]:
    """By the client's own tool; Codex has none but its shell, which its sandbox holds."""
    return {"shell": "echo by ann > a.txt"} if client == "codex" else {"write": path, "content": "by ann\n"}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_member_may_edit_and_commit_and_do_nothing_else(client: str, open_lab: Callable[..., Lab]) -> None:
    lab = open_lab([])
    outside = f"/var/tmp/headcount-outside-{os.getpid()}"  # Codex lets everyone write below /tmp
    steps = [
        [write(client, f"{lab.app.root}/.headcount/worktrees/crew/ann/a.txt")],
        [{"shell": "git add a.txt"}],
        [{"shell": "git commit -m more"}],
        [{"shell": f"touch {outside}"}],
        [{"shell": "headcount idle"}],
    ]
    lab.standin.lanes.append({"when": "You are ann", "steps": steps})
    lab.permit("edit")
    key = lab.start("ann", client, prompt="Write a.txt.")
    lab.wait(key, lambda m: m.activity == "idle")
    try:
        assert git(lab.app.root, "show", "headcount/crew/ann:a.txt") == "by ann", lab.output(key)[-3000:]
        assert not os.path.exists(outside)
    finally:
        if os.path.exists(outside):
            os.unlink(outside)
