"""Processes of the user that have nothing to do with the team. All of them must survive."""

from __future__ import annotations

import os
import subprocess
import sys

_SLEEP = "import time; time.sleep(600)"


class Bystanders:
    """An editor with a file of the repository open, a namesake of a member, a tmux server with a session."""

    def __init__(self, top: str, repo: str, environment: dict[str, str], tmux: bool) -> None:
        self._environment = environment
        self.socket = f"{top}/tmux/user"
        self._file = open(f"{repo}/a.txt")  # noqa: SIM115 - the editor has it open, and so have we
        self._started = {
            "the editor": self._start(
                ["editor", "-c", _SLEEP, f"{repo}/a.txt"], repo, keep=self._file.fileno()
            ),
            "the namesake": self._start(["agent", "-c", _SLEEP, "m0", "headcount", "engine"], top),
        }
        self.server = 0
        if tmux:
            self._tmux("-f", os.devnull, "new-session", "-d", "-s", "mine", "sleep 600")
            self.server = int(self._tmux("display-message", "-p", "#{pid}") or 0)

    def _start(self, words: list[str], cwd: str, keep: int | None = None) -> subprocess.Popen[bytes]:
        nothing = subprocess.DEVNULL
        return subprocess.Popen(
            words, executable=sys.executable, cwd=cwd, env=self._environment, stdin=nothing, stdout=nothing,
            stderr=nothing, pass_fds=() if keep is None else (keep,),
        )  # fmt: skip

    def _tmux(self, *words: str) -> str:
        command = ["tmux", "-S", self.socket, *words]
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True, timeout=20)
        return done.stdout.strip()

    @property
    def pids(self) -> frozenset[int]:
        return frozenset(
            {one.pid for one in self._started.values()} | ({self.server} if self.server else set())
        )

    def harmed(self) -> list[str]:
        """Return who did not survive, in words."""
        found = [
            f"{name} of the user was ended" for name, one in self._started.items() if one.poll() is not None
        ]
        if (
            self.server
            and self._tmux("list-sessions", "-F", "#{session_name}").split("\n").count("mine") != 1
        ):
            found.append("the user's tmux session was ended")
        return found

    def kill_one(self, name: str) -> None:
        self._started[name].kill()
        self._started[name].wait()

    def end(self) -> None:
        self._file.close()
        if self.server:
            self._tmux("kill-server")
        for one in self._started.values():
            one.kill()
            one.wait()
