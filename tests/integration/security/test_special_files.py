"""A member can put anything in the place of a file of the state: no command waits for it, or crashes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from headcount.app.app import open_app

from .conftest import Desk


def make_terabyte(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(1 << 40)


KINDS: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "terabyte": make_terabyte,
    "nested": lambda path: path.write_bytes(b"[" * 300_000) and None,
    "directory": Path.mkdir,
}


@pytest.mark.parametrize("name", ["engine.lock", "engine.namespace", "place.json", "engine.log", "id"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_command_neither_waits_nor_crashes(desk: Desk, name: str, kind: str) -> None:
    open_app(str(desk.repo), {}).close()
    path = desk.repo / ".headcount" / name
    path.unlink(missing_ok=True)
    KINDS[kind](path)
    done = desk.run("status")
    assert done.returncode in (0, 4), done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_a_team_file_of_another_client_is_neither_waited_for_nor_a_crash(desk: Desk, kind: str) -> None:
    """`status` shows the teams of Claude Code, whose files any agent of the user can write."""
    open_app(str(desk.repo), {}).close()
    team = desk.place / "home/.claude/teams/x"
    team.mkdir(parents=True)
    KINDS[kind](team / "config.json")
    done = desk.run("status")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["team.py", "headcount.toml", ".claude", ".mcp.json"])
def test_init_writes_through_no_link_that_leads_out_of_the_repository(desk: Desk, name: str) -> None:
    """A clone can contain such a link."""
    outside = desk.place / "home" / "outside"
    if name == ".claude":
        outside.mkdir()
    (desk.repo / name).symlink_to(outside)
    answer = desk.answer("init", "--client", "claude")
    assert answer["error"]["code"] == "unreadable-settings", answer
    assert "leads out of the repository" in answer["error"]["why"]
    assert not outside.exists() or list(outside.iterdir()) == []
