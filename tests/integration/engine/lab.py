"""A laboratory: a repository, a state directory, an engine in this process, members that are processes."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from headcount.app.adapters import make_runtimes
from headcount.app.app import App
from headcount.app.member_start import Plan
from headcount.app.progress import follow
from headcount.app.resident import driving
from headcount.app.standing_down import stand_down
from headcount.app.team_start import wait_for
from headcount.app.teams import create_team, spawn
from headcount.domain.policy import Policy
from headcount.protocol import events as ev
from headcount.protocol.member import Member, State
from headcount.protocol.team import Team
from headcount.runtime.mark import VARIABLE

TEAM = "crew"
# Whatever is waited for comes at once, or is waited for on a machine that has other things to do.
LIMIT_S = 60.0
# For members that never answer: their limits are all that the test waits for.
QUICK = Policy(
    answer_timeout_s=1.0,
    nudge_timeout_s=0.5,
    exit_grace_s=0.3,
    stop_grace_s=3.0,
    inspect_timeout_s=60,
    salvage_timeout_s=60,
)
# For those that do answer, or are answered for: however late that is, it is in time.
PATIENT = replace(QUICK, answer_timeout_s=LIMIT_S, nudge_timeout_s=LIMIT_S)
# Works a moment, then waits to be told; SIGTERM ends it.
POLITE = "sleep 1000 & wait"


def git(path: str, *words: str) -> str:
    return subprocess.run(["git", "-C", path, *words], check=True, capture_output=True, text=True).stdout


def environment_of(app: App, key: str) -> dict[str, str]:
    """What makes a process that member: the variables of its own process, as the kernel has them, which is
    when it has become the member's program. But for its mark: with that, whoever speaks for the member would
    be ended with it, in the middle of an answer."""
    with app.store.read() as tx:
        mark = (tx.fact(f"{TEAM}#1", key, "start") or {})["mark"]
    handle = make_runtimes(app)["plain"].adopt(mark)
    assert handle is not None
    handle.close()
    deadline = time.monotonic() + LIMIT_S
    while True:
        raw = Path(f"/proc/{handle.record.agent.pid}/environ").read_text()
        found = dict(item.split("=", 1) for item in raw.split("\0") if "=" in item)
        if found.pop(VARIABLE, None) == mark:
            return found
        assert time.monotonic() < deadline, f"{key} did not become its program"
        time.sleep(0.01)


class Lab:
    def __init__(self, app: App) -> None:
        self.app = app
        self.engine = ExitStack()
        self.runtime: str | None = None  # where members run; None: where the settings say

    def drive(self) -> None:
        self.engine.enter_context(driving(self.app))

    def stop_driving(self) -> None:
        self.engine.close()

    def create(self, policy: Policy = PATIENT) -> None:
        self.app.settings = type(self.app.settings)(policy=policy)
        create_team(self.app, TEAM, environ=os.environ)

    def start(self, name: str, script: str = POLITE, **more: Any) -> Member:
        """A member that runs a shell script in its workspace; returned when it runs."""
        more = {"runtime": self.runtime, **more}
        member = spawn(self.app, TEAM, Plan(name, command=("bash", "-c", script), **more))
        return self.wait_state(member.key, lambda m: m.state is not State.STARTING)

    def team(self) -> Team:
        with self.app.store.read() as tx:
            team = tx.load_team(TEAM)
        assert team is not None
        return team

    def wait_state(self, key: str, condition: Callable[[Member], bool], limit_s: float = LIMIT_S) -> Member:
        team = wait_for(self.app, TEAM, lambda t: key in t.members and condition(t.members[key]), limit_s)
        assert condition(team.members[key]), team.members[key]
        return team.members[key]

    def started_in(self) -> set[str]:
        """The runtimes of all who were ever started, as it was recorded."""
        members = self.team().members
        with self.app.store.read() as tx:
            starts = [tx.fact(f"{TEAM}#1", key, "start") or {} for key in members]
        return {str(start["runtime"]) for start in starts}

    def workspace(self, key: str) -> str:
        with self.app.store.read() as tx:
            fact = tx.fact(f"{TEAM}#1", key, "workspace")
        assert fact is not None
        return str(fact["path"])

    def wait_file(self, key: str, name: str, limit_s: float = LIMIT_S) -> str:
        path = f"{self.workspace(key)}/{name}"
        deadline = time.monotonic() + limit_s
        while not os.path.exists(path):
            assert time.monotonic() < deadline, f"{path} did not appear"
            time.sleep(0.01)
        return path

    def wait_flag(self, name: str, limit_s: float = LIMIT_S) -> None:
        """A script says `touch $HEADCOUNT_HOME/NAME` to be heard without making its workspace dirty."""
        deadline = time.monotonic() + limit_s
        while not os.path.exists(f"{self.app.home}/{name}"):
            assert time.monotonic() < deadline, f"{name} was not raised"
            time.sleep(0.01)

    def ask(self, *names: str, **more: Any) -> dict[str, Any]:
        return stand_down(self.app, TEAM, names or None, "enough", **more)

    def say(self, *events: ev.Event) -> None:
        self.app.apply(TEAM, *events)

    def approve(self, answer: dict[str, Any], *names: str) -> None:
        for name in names or answer["pendingApprovals"]:
            self.say(ev.Answered(f"{name}#1", answer["requestId"], True))

    def finish(self, answer: dict[str, Any]) -> dict[str, Any]:
        for now in follow(self.app, TEAM, answer):
            answer = now
        return answer

    def journal(self, *kinds: str) -> list[Any]:
        with self.app.store.read() as tx:
            return tx.journal(f"{TEAM}#1", kinds=kinds or None)

    def marked(self) -> list[str]:
        """What is alive on this machine with a mark of this state directory."""
        found = make_runtimes(self.app)["plain"].list_marked()
        return [f"{mark}: {process.name}" for mark, processes in found.items() for process in processes]
