"""The plugin in `plugin/`, loaded by the real Claude Code in a session that a person leads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from client_lab import git, installed, user_home
from standin import Standin

from headcount.app.app import open_app
from headcount.ports import Mail

PLUGIN = Path(__file__).parents[3] / "plugin"
SERVER = "mcp__plugin_headcount_headcount"

Session = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def standin() -> Iterator[Standin]:
    server = Standin({"lanes": []})
    yield server
    server.close()


@pytest.fixture
def session(tmp_path: Path, standin: Standin) -> Session:
    """One turn of a session with the plugin, in a repository; the events that it prints."""
    repo, home = tmp_path / "repo", tmp_path / "home"
    repo.mkdir()
    git(repo, "init", "--quiet")
    env = {**user_home(home, standin.url), "GIT_CONFIG_GLOBAL": os.devnull, "DISABLE_AUTOUPDATER": "1",
           "PATH": f"{installed()}:{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}  # fmt: skip

    def turn(prompt: str) -> list[dict[str, Any]]:
        done = subprocess.run(
            ["claude", "--plugin-dir", PLUGIN, "--permission-mode", "default", "--allowedTools", SERVER,
             "--output-format", "stream-json", "--verbose", "-p", prompt],
            cwd=repo, env=env, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, (done.stdout[-2000:], done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    return turn


def test_the_plugin_loads_with_its_server_commands_and_skill(session: Session) -> None:
    began = next(event for event in session("Hello.") if event.get("subtype") == "init")
    assert ("headcount", str(PLUGIN)) in [(plugin["name"], plugin["path"]) for plugin in began["plugins"]]
    assert [s["status"] for s in began["mcp_servers"] if s["name"] == "plugin:headcount:headcount"] == [
        "connected"
    ]
    assert {f"{SERVER}__team_create", f"{SERVER}__team_shutdown", f"{SERVER}__inbox"} <= {*began["tools"]}
    names = {"headcount:roster", "headcount:stand-down", "headcount:lead-a-team"}
    assert names <= {*began["slash_commands"]}


def test_its_server_answers_its_hook_fires_and_its_command_runs(
    session: Session, standin: Standin, tmp_path: Path
) -> None:
    create = {"call": "team_create", "with": {"team_name": "crew"}}
    standin.lanes.append({"when": "Make a team.", "steps": [[create]]})
    standin.lanes.append({"when": "", "steps": []})
    session("Make a team.")
    app = open_app(str(tmp_path / "repo"), {})
    with app.store.write() as tx:
        assert tx.team_names() == ["crew"]
        tx.post(Mail("", "crew#1", "operator", "lead", "Question", "Which port?"))
    app.close()

    session("What is new?")
    assert "unread mail for the lead (1 for crew)" in standin.requests[-1]["all"]
    session("/headcount:roster")
    assert "crew: active" in standin.requests[-1]["all"]  # what `headcount status` printed
