"""A user's repository and members' workspaces in it, with real git and nobody's configuration."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from headcount.domain.findings import Findings, GoneProof, Salvage, Workspace
from headcount.workspace import Repository, Workspaces, read_findings, salvage


@pytest.fixture(autouse=True)
def own_git_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def git(where: Path | str, *args: str, ok: bool = True) -> str:
    """What a member or a user does by hand, as somebody."""
    who = ["-c", "user.name=ann", "-c", "user.email=ann@example.org", "-c", "protocol.file.allow=always"]
    done = subprocess.run(["git", *who, *args], cwd=where, capture_output=True, check=False, timeout=60)
    assert not ok or done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8", "surrogateescape").strip("\n")


@dataclass
class World:
    top: Path
    repo: Repository
    workspaces: Workspaces

    def member(self, name: str = "alice", generation: int = 1, *, team: str = "t") -> Workspace:
        return self.workspaces.create(team, name, generation)

    def findings(self, workspace: Workspace, **options: object) -> Findings:
        return read_findings(self.repo, workspace, **options)  # type: ignore[arg-type]

    def kinds(self, workspace: Workspace) -> set[str]:
        return {item.kind.value for item in self.findings(workspace).items}

    def salvage(self, workspace: Workspace, **options: object) -> Salvage:
        return salvage(self.repo, workspace, **options)  # type: ignore[arg-type]


def gone(workspace: Workspace, **changes: object) -> GoneProof:
    fields = {"team": workspace.team, "member": workspace.member, "generation": workspace.generation}
    return GoneProof(**{**fields, "how": "a test", "when": "2024-01-01T00:00:00+00:00", **changes})  # type: ignore[arg-type]


def open_world(top: Path) -> World:
    repo = Repository.open(str(top))
    return World(top, repo, Workspaces(repo, str(top / ".headcount" / "worktrees")))


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
    world.repo.keep_out(".headcount/")
    return world
