"""A person at a terminal: `headcount` in a real tmux pane, on a socket of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from headcount.app.app import App
from headcount.app.member_start import Plan
from headcount.app.team_start import wait_for
from headcount.app.teams import create_team, spawn
from headcount.domain.policy import Policy
from headcount.protocol.member import State

TEAM = "crew"
LIMIT_S = 60.0
QUICK = Policy(
    answer_timeout_s=1.0, nudge_timeout_s=0.4, exit_grace_s=0.3, stop_grace_s=3.0, salvage_timeout_s=30
)
POLITE = "sleep 1000 & wait"
UNTIDY = "echo mine > notes.md; sleep 1000 & wait"


class TermLab:
    def __init__(self, app: App, socket: str) -> None:
        self.app = app
        self._socket = socket

    def create(self) -> None:
        self.app.settings = type(self.app.settings)(policy=QUICK)
        create_team(self.app, TEAM, "Those who are watched", environ=os.environ)

    def start(self, name: str, script: str = POLITE, **more: Any) -> None:
        key = spawn(self.app, TEAM, Plan(name, command=("bash", "-c", script), **more)).key
        self.wait(lambda team: team.members[key].state is not State.STARTING)

    def wait(self, condition: Any, limit_s: float = LIMIT_S) -> None:
        assert condition(wait_for(self.app, TEAM, condition, limit_s))

    def tmux(self, *words: str) -> str:
        command = ["tmux", "-S", self._socket, "-f", os.devnull, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=LIMIT_S).stdout

    def open(self, *words: str, columns: int = 110, lines: int = 24, **environ: str) -> None:
        """Run `headcount WORDS` in a pane; when it ends, its exit code is shown."""
        given = [f"{name}={value}" for name, value in environ.items()]
        command = ["env", *given, sys.executable, "-m", "headcount", *words]
        script = f'cd {self.app.root}; {" ".join(command)}; echo "ended with $?"; sleep 1000'
        self.tmux("new-session", "-d", "-x", str(columns), "-y", str(lines), "-s", "w", "sh", "-c", script)

    def press(self, *keys: str) -> None:
        self.tmux("send-keys", "-t", "w", *keys)

    def screen(self, *, colours: bool = False) -> str:
        return self.tmux("capture-pane", "-p", "-t", "w", *(["-e"] if colours else []))

    def see(self, *wanted: str, limit_s: float = LIMIT_S) -> str:
        """The screen as soon as all of `wanted` stand on it."""
        return self.see_that(lambda shown: all(text in shown for text in wanted), f"{wanted}", limit_s)

    def see_that(self, holds: Callable[[str], bool], what: str, limit_s: float = LIMIT_S) -> str:
        deadline = time.monotonic() + limit_s
        while True:
            shown = self.screen()
            if holds(shown):
                return shown
            assert time.monotonic() < deadline, f"never saw {what} in:\n{shown}"
            time.sleep(0.05)
