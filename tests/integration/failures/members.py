"""What members do in these scenarios, as shell scripts; and the operator's commands, as a user runs them."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from engine.lab import TEAM, Lab

READY = 'touch "$HEADCOUNT_HOME/ready-$HEADCOUNT_MEMBER"'
WAIT = "sleep 1000 & wait"
STUBBORN = f"trap '' TERM; {READY}; while :; do sleep 0.1; done"
DIRTY = f"echo new > new.txt; {READY}; {WAIT}"
QUIET = f"{READY}; {WAIT}"
ASKED = "headcount inbox --unread --wait 30 > /dev/null"
APPROVES = f"{READY}; {ASKED}; headcount approve; {WAIT}"


def until(flag: str) -> str:
    """The script goes on when the test has raised this."""
    return f'while [ ! -e "$HEADCOUNT_HOME/{flag}" ]; do sleep 0.02; done'


def tell(command: str, name: str) -> str:
    """What a command of the script answers, and its exit code, for the test to read."""
    file = f'"$HEADCOUNT_HOME/{name}"'
    return f'{{ {command}; echo "$?"; }} > {file}.new 2>&1; mv {file}.new {file}'


def rejects(reason: str) -> str:
    return f"headcount reject --reason {shlex.quote(reason)}"


def start(lab: Lab, name: str, script: str = QUIET, **more: Any) -> str:
    """Its workspace, when it has done what it does."""
    ready = Path(f"{lab.app.home}/ready-{name}")
    ready.unlink(missing_ok=True)
    key = lab.start(name, script, **more).key
    lab.wait_flag(ready.name)
    return lab.workspace(key)


def raise_flag(lab: Lab, name: str) -> None:
    Path(f"{lab.app.home}/{name}").touch()


def told(lab: Lab, name: str) -> tuple[str, int]:
    """What `tell` has written down."""
    lab.wait_flag(name)
    said, _, code = Path(f"{lab.app.home}/{name}").read_text().strip().rpartition("\n")
    return said, int(code)


def record_of(lab: Lab, key: str) -> tuple[str, dict[str, Any]]:
    """Where what the keeper wrote about a start stands, and what it is."""
    with lab.app.store.read() as tx:
        mark = (tx.fact(f"{TEAM}#1", key, "start") or {})["mark"]
    path = f"{lab.app.home}/run/{mark}/process.json"
    return path, json.loads(Path(path).read_text())


def kill_agent(lab: Lab, key: str) -> None:
    os.kill(record_of(lab, key)[1]["pid"], signal.SIGKILL)


def headcount(lab: Lab, *words: str, code: int = 0, env: dict[str, str] | None = None) -> Any:
    """The command as the operator runs it, in a process of its own; its answer."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("HEADCOUNT_")}
    done = subprocess.run(
        [sys.executable, "-m", "headcount", *words, "--json"], cwd=lab.app.root, env={**clean, **(env or {})},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return json.loads(done.stdout) if done.stdout else json.loads(done.stderr)
