"""The settings that headcount copies for a client may hold keys, and are gone when its team has closed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from headcount.agents.launch import Order, plan_launch
from headcount.agents.registry import CLIENTS
from headcount.app.adapters import LocalFiles
from headcount.app.app import open_app
from headcount.app.member_start import Plan
from headcount.app.resident import driving
from headcount.app.standing_down import stand_down
from headcount.app.team_start import wait_for
from headcount.app.teams import create_team, spawn
from headcount.protocol.member import State
from headcount.protocol.team import Status

from .conftest import Desk
from .test_what_is_left_and_shown import contents, wait_until

TEAM = "crew"
KEY = "sk-ant-0123456789-abcdefghij-the-end-of-it"
# In the place of the client: it writes a login and a conversation where the real one does.
CLIENT = """#!/bin/sh
case "$1" in --version) echo "2.1.177 (Claude Code)"; exit 0;; esac
cd "$CLAUDE_CONFIG_DIR" || exit 1
rm -f .credentials.json; echo "{\\"token\\": \\"$ANTHROPIC_API_KEY\\"}" > .credentials.json
mkdir -p projects/x backups
cp .claude.json backups/; echo '{"type": "user"}' > projects/x/one.jsonl
echo '{"type": "result", "result": "ok"}'
touch "$HOME/turned"
"""


def test_F83_no_key_is_left_in_the_archive_of_a_closed_team_and_the_conversation_is(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, bin_directory = desk.place / "home", desk.place / "bin"
    bin_directory.mkdir()
    (bin_directory / "claude").write_text(CLIENT)
    (bin_directory / "claude").chmod(0o755)
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").write_text(json.dumps({"env": {"MY_KEY": KEY}}))
    (home / ".claude/.credentials.json").write_text(json.dumps({"token": KEY}))
    trusted = {str(desk.repo): {"hasTrustDialogAccepted": True}}
    (home / ".claude.json").write_text(json.dumps({"primaryApiKey": KEY, "projects": trusted}))
    environ = {**desk.environ, "PATH": f"{bin_directory}:{os.environ['PATH']}", "ANTHROPIC_API_KEY": KEY}
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    app = open_app(str(desk.repo), {})
    state = desk.repo / ".headcount"
    try:
        create_team(app, TEAM, environ=environ)
        with driving(app):
            key = spawn(app, TEAM, Plan("ann", "claude", prompt="p", trusted=str(desk.repo))).key
            wait_for(app, TEAM, lambda team: team.members[key].state is State.RUNNING, 60)
            wait_until((home / "turned").exists)
            assert KEY in contents(state)  # while it works, its settings are there, for this user alone
            stand_down(app, TEAM, force=True)
            wait_for(app, TEAM, lambda team: team.status is Status.SHUTDOWN, 60)
    finally:
        app.close()
    left = contents(state)
    assert KEY not in left and KEY[-20:] not in left
    archived = state / "archive" / f"{TEAM}-1" / "team/clients/ann-1"
    assert (archived / "config/projects/x/one.jsonl").read_text() == '{"type": "user"}\n'
    assert (home / ".claude/.credentials.json").read_text() == json.dumps({"token": KEY})


def test_a_client_is_not_started_in_a_repository_that_its_user_does_not_trust(desk: Desk) -> None:
    """Without the client itself: what it does in an untrusted folder is in `clients/test_trust.py`."""
    bin_directory = desk.place / "bin"
    bin_directory.mkdir()
    (bin_directory / "claude").write_text(CLIENT)
    (bin_directory / "claude").chmod(0o755)
    (desk.repo / "team.tsx").write_text(
        "import { Command, Team, Teammate, defineTeam, defineWorker } from 'headcount'\n"
        "const x = defineWorker('x'); const t = defineTeam('crew', [x])\n"
        "export default <Command name='c' description='d'><Team team={t} description='d'>"
        "<Teammate worker={x} description='d' prompt='p' /></Team></Command>\n"
    )
    answer = desk.answer("up", "team.tsx", PATH=f"{bin_directory}:{os.environ['PATH']}")
    assert answer["error"]["code"] == "untrusted-repository", answer
    assert any("accept its question about trust" in hint for hint in answer["error"]["hints"])
    assert not (desk.place / "home/turned").exists()


def test_nothing_is_removed_through_a_link_and_rights_that_were_taken_away_do_not_save_a_file(
    tmp_path: Path,
) -> None:
    users, own = tmp_path / "users", tmp_path / "own"
    (users / "deep").mkdir(parents=True)
    (users / "deep/mine").write_text("mine")
    (own / "config/sealed").mkdir(parents=True)
    (own / "config/sealed/key").write_text(KEY)
    (own / "config/linked").symlink_to(users)
    (own / "config/projects").symlink_to(users)  # a name that would stay, if it were a directory
    (own / "config/sealed").chmod(0)
    LocalFiles().keep_only(str(own), ("config/projects",))
    assert list(own.rglob("*")) == []
    assert (users / "deep/mine").read_text() == "mine"


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("terminal", [False, True])
def test_every_client_names_its_conversations(name: str, terminal: bool) -> None:
    launch = plan_launch(name, Order("/home", TEAM, "ann", "p", "/p", terminal=terminal))
    assert launch.conversations
    record = CLIENTS[name].record
    assert record is None or any(
        record.files == one or record.files.startswith(f"{one}/") for one in launch.conversations
    )
