"""A team of Claude Code's own, made by the real program: its lead is killed, and who is left is named."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from client_lab import git, installed, user_home
from standin import Standin

SESSION = "1a2b3c4d-2222-4333-8444-555555555555"
TEAM = "session-1a2b3c4d"
LIMIT_S = 60


class Native(NamedTuple):
    """The lead in a tmux server of the test's own, in a worktree; its teammate in a pane beside it."""

    place: Path
    env: dict[str, str]

    def tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self.place / "tmux.sock", "-f", "/dev/null", *words], cwd=self.worktree,
            env=self.env, capture_output=True, text=True, timeout=20,
        )  # fmt: skip
        return done.stdout

    def headcount(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "headcount", *words], cwd=self.place / "repo", env=self.env,
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    @property
    def worktree(self) -> Path:
        return self.place / "work"

    def panes(self) -> dict[str, int]:
        lines = self.tmux("list-panes", "-a", "-F", "#{pane_id} #{pane_pid}").splitlines()
        return {pane: int(pid) for pane, pid in (line.split() for line in lines)}

    def observed(self) -> dict[str, Any]:
        teams = json.loads(self.headcount("sweep", "--dry-run", "--json"))["nativeTeams"]
        return next((team for team in teams if team["team"] == TEAM), {"members": []})


@pytest.fixture
def native(tmp_path: Path) -> Iterator[Native]:
    mate = {"name": "ann", "description": "a mate", "prompt": "As a teammate: leave a file."}
    standin = Standin({"lanes": [
        {"when": "As the lead", "steps": [[{"call": "Agent", "with": mate}]]},
        {"when": "As a teammate", "steps": [[{"shell": "echo half > half.txt"}], [{"sleep": 120}]]},
    ]})  # fmt: skip
    env = {
        **os.environ, **user_home(tmp_path / "home", standin.url), "GIT_CONFIG_GLOBAL": os.devnull,
        "PATH": f"{installed()}:{os.environ['PATH']}", "TERM": "screen-256color", "IS_SANDBOX": "1",
        "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1",
        "GIT_AUTHOR_NAME": "T", "GIT_AUTHOR_EMAIL": "t@localhost", "GIT_COMMITTER_NAME": "T",
        "GIT_COMMITTER_EMAIL": "t@localhost",
    }  # fmt: skip
    lab = Native(tmp_path, env)
    (tmp_path / "repo").mkdir()
    _settle_dialogs(lab)
    for words in (("init", "-q", "-b", "main"), ("commit", "-q", "--allow-empty", "-m", "first"),
                  ("worktree", "add", "-q", "-b", "work", str(lab.worktree))):  # fmt: skip
        subprocess.run(["git", *words], cwd=tmp_path / "repo", env=env, check=True)
    subprocess.run(
        ["tmux", "-S", tmp_path / "tmux.sock", "-f", "/dev/null", "new-session", "-d", "-x", "160", "-y",
         "50", "--", "claude", "--permission-mode", "bypassPermissions", "--teammate-mode", "tmux",
         "--session-id", SESSION, "--", "As the lead: make a team."],
        cwd=lab.worktree, env=env, check=True,
    )  # fmt: skip
    yield lab
    left = [*lab.panes().values()]
    lab.tmux("kill-server")
    _wait(lambda: not any(map(_is_alive, left)), f"one of {left} lives on")
    standin.close()


def _settle_dialogs(lab: Native) -> None:
    """As a user who has answered every dialog of a first start before."""
    path = lab.place / "home" / ".claude.json"
    trust = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    keys = {"approved": [lab.env["ANTHROPIC_API_KEY"][-20:]], "rejected": []}
    places = {str(lab.worktree): trust, str(lab.place / "repo"): trust}
    known = {"bypassPermissionsModeAccepted": True, "customApiKeyResponses": keys, "projects": places}
    path.write_text(json.dumps({**json.loads(path.read_text()), **known}))


def _wait(condition: Callable[[], object], why: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, why
        time.sleep(0.1)


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.timeout(180)
def test_the_teammates_of_a_killed_lead_are_named_saved_on_request_and_ended_only_by_name(
    native: Native,
) -> None:
    half = native.worktree / "half.txt"
    _wait(half.exists, f"no teammate worked: {native.tmux('capture-pane', '-p')}")
    _wait(lambda: [m for m in native.observed()["members"] if m["pids"]], "no teammate was seen")
    team = native.observed()
    assert (team["leadAlive"], team["orphans"]) == (True, [])

    lead = json.loads((native.place / f"home/.claude/teams/{TEAM}/config.json").read_text())["leadProcess"][
        "pid"
    ]
    assert lead in native.panes().values()  # the one that this test has started
    os.kill(lead, signal.SIGKILL)
    _wait(lambda: lead not in native.panes().values(), "the lead's pane stays")
    team = native.observed()
    assert (team["leadAlive"], team["orphans"]) == (False, ["ann"])
    (ann,) = team["members"]
    (pid,) = ann["pids"]
    assert native.panes() == {ann["pane"]: pid}
    shown = native.headcount("status")
    for words in ("its lead is dead", f"({pid})", f"pane {ann['pane']}", "half.txt", "alive without a lead"):
        assert words in shown, shown

    native.headcount("sweep")
    (saved,) = json.loads(native.headcount("sweep", "--native", TEAM, "--json"))
    kept = git(native.place / "repo", "ls-tree", "-r", "--name-only", saved["salvage"])
    assert any(path.endswith("half.txt") for path in kept.splitlines())
    assert half.read_text() == "half\n" and _is_alive(pid)  # looked at and saved, and nothing else

    native.headcount("sweep", "--native", TEAM, "--end", str(pid))
    _wait(lambda: not _is_alive(pid), "it was named, and lives on")
    assert half.read_text() == "half\n"
