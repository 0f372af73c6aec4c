"""What a repository's own settings allow, with the real Claude Code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from client_lab import Lab, git

_TRIES = 'python3 -c \'open("made.txt", "w")\''


def test_what_the_repository_allows_counts_for_members_where_its_user_trusts_it(
    open_lab: Callable[..., Lab],
) -> None:
    lab = open_lab([{"when": "You are ann", "steps": [[{"shell": _TRIES}]]}])
    lab.permit("edit")
    settings = Path(lab.app.root, ".claude/settings.json")
    settings.parent.mkdir()
    settings.write_text(json.dumps({"permissions": {"allow": ["Bash(python3:*)"]}}))
    git(lab.app.root, "add", ".claude")
    git(lab.app.root, "commit", "--quiet", "-m", "What may be done here")

    key = lab.start("ann", "claude", prompt="Work a little.")
    lab.wait(key, lambda m: m.activity == "idle")

    assert Path(lab.workspace(key), "made.txt").exists(), lab.output(key)
