"""Real git with nobody's configuration, and a small repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from gitworld import World, git, open_world

from headcount.workspace.repository import keep_out


@pytest.fixture(autouse=True)
def own_git_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def world(tmp_path: Path) -> World:
    top = tmp_path / "repo"
    top.mkdir()
    git(top, "init", "-q", "-b", "main")
    (top / "a.txt").write_text("a\n")
    (top / "b.txt").write_text("b\nb\nb\nb\n")
    (top / ".gitignore").write_text("*.log\nbuild/\n")
    (top / "src").mkdir()
    (top / "src" / "run.sh").write_text("#!/bin/sh\n")
    (top / "src" / "run.sh").chmod(0o755)
    git(top, "add", ".")
    git(top, "commit", "-qm", "first")
    world = open_world(top)
    keep_out(world.repo.common_dir, ".headcount/")
    return world
