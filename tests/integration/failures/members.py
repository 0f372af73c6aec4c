"""What members do in these scenarios, as shell scripts; and the operator's commands, as a user runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from engine.lab import Lab

READY = 'touch "$HEADCOUNT_HOME/ready-$HEADCOUNT_MEMBER"'
WAIT = "sleep 1000 & wait"
STUBBORN = f"trap '' TERM; {READY}; while :; do sleep 0.1; done"
DIRTY = f"echo new > new.txt; {READY}; {WAIT}"
QUIET = f"{READY}; {WAIT}"


def start(lab: Lab, name: str, script: str = QUIET, **more: Any) -> str:
    """Its workspace, when it has done what it does."""
    key = lab.start(name, script, **more).key
    lab.wait_flag(f"ready-{name}")
    return lab.workspace(key)


def headcount(lab: Lab, *words: str, code: int = 0, env: dict[str, str] | None = None) -> Any:
    """The command as the operator runs it, in a process of its own; its answer."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("HEADCOUNT_")}
    done = subprocess.run(
        [sys.executable, "-m", "headcount", *words, "--json"], cwd=lab.app.root, env={**clean, **(env or {})},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return json.loads(done.stdout) if done.stdout else json.loads(done.stderr)
