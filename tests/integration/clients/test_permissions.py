"""`permissions = "edit"`: its files, git and headcount; nothing else unasked."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from client_lab import Lab, git

# Codex keeps to its sandbox instead, which is the kernel's to enforce and may not be nested here.
ASKING = ("claude", "gemini", "opencode")


@pytest.mark.parametrize("client", ASKING)
def test_a_member_may_edit_and_commit_and_do_nothing_else(client: str, open_lab: Callable[..., Lab]) -> None:
    lab = open_lab([])
    workspace = f"{lab.app.root}/.headcount/worktrees/crew/ann"
    steps = [
        [{"write": f"{workspace}/a.txt", "content": "by ann\n"}],
        [{"shell": "git add a.txt"}],
        [{"shell": "git commit -m more"}],
        [{"shell": f"touch {lab.home}/outside"}],
        [{"shell": "headcount idle"}],
    ]
    lab.standin.lanes.append({"when": "You are ann", "steps": steps})
    lab.permit("edit")
    key = lab.start("ann", client, prompt="Write a.txt.")
    lab.wait(key, lambda m: m.activity == "idle")
    assert git(lab.app.root, "show", "headcount/crew/ann:a.txt") == "by ann", lab.output(key)[-3000:]
    assert not os.path.exists(f"{lab.home}/outside")
