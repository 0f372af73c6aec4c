"""A team of real processes, the page served by a real `headcount serve`, looked at by a real browser."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from dataclasses import replace
from typing import Any

from headcount.app.app import App
from headcount.app.member_start import Plan
from headcount.app.team_start import wait_for
from headcount.app.teams import create_team, spawn
from headcount.domain.policy import Policy
from headcount.protocol.effects import Note
from headcount.protocol.member import Member, State

TEAM = "crew"
# A page, a server and a team, on a machine that has other things to do.
LIMIT_S = 60.0
QUICK = Policy(
    answer_timeout_s=1.0, nudge_timeout_s=0.4, exit_grace_s=0.3, stop_grace_s=3.0, salvage_timeout_s=30
)
POLITE = "sleep 1000 & wait"
# Never answers, and leaves a file lying around: it ends with an escalation.
UNTIDY = "echo mine > notes.md; touch $HEADCOUNT_HOME/untidy-$HEADCOUNT_MEMBER; sleep 1000 & wait"
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


def chromium() -> str:
    """Debian's. A machine without it fails these tests: a page that nobody looked at is not tested."""
    found = shutil.which("chromium")
    assert found is not None, "chromium is not installed: apt-get install chromium"
    return found


class WebLab:
    def __init__(self, app: App) -> None:
        self.app = app
        self.server: subprocess.Popen[str] | None = None
        self.url = ""

    def create(self, policy: Policy = QUICK) -> None:
        self.app.settings = type(self.app.settings)(policy=policy)
        create_team(self.app, TEAM, "Those who are looked at", environ=os.environ)

    def start(self, name: str, script: str = POLITE, **more: Any) -> None:
        """Returns when it runs, and, if it is untidy, when its file is there."""
        key = spawn(self.app, TEAM, Plan(name, command=("bash", "-c", script), **more)).key
        self.wait(lambda team: team.members[key].state is not State.STARTING)
        if UNTIDY in script:
            self.wait(lambda _: os.path.exists(f"{self.app.home}/untidy-{name}"))

    def wait(self, condition: Any, limit_s: float = LIMIT_S) -> None:
        assert condition(wait_for(self.app, TEAM, condition, limit_s))

    def put(self, change: dict[str, Member], notes: list[Note]) -> None:
        """Members as a step would have left them, where nobody drives."""
        with self.app.store.write() as tx:
            team = tx.load_team(TEAM)
            assert team is not None
            tx.save_team(team, replace(team, members={**team.members, **change}))
            tx.note(team.id, notes)
        self.app.store.ring([f"team/{TEAM}"])

    def serve(self, *words: str) -> str:
        """The whole address, with its token."""
        self.server = subprocess.Popen(
            [sys.executable, "-m", "headcount", "serve", "--json", *words],
            cwd=self.app.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.server.stdout is not None
        self.url = json.loads(self.server.stdout.readline())["url"]
        return self.url

    def stop_serving(self) -> None:
        if self.server is not None:
            self.server.terminate()
            self.server.communicate(timeout=LIMIT_S)

    @property
    def origin(self) -> str:
        return self.url.partition("/#")[0]

    @property
    def token(self) -> str:
        return self.url.partition("#")[2]

    def call(self, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """What a program other than the page gets: status and answer."""
        data = None if body is None else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(f"{self.origin}/{path}", data, named)
        try:
            with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                said = error.read().decode()
                return error.code, json.loads(said) if said.startswith("{") else said
