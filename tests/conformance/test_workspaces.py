"""One suite for git's workspaces and for the fake ones of the simulator: what the performer may rely on."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from headcount.domain.findings import GoneProof, Workspace
from headcount.domain.policy import Policy
from headcount.errors import HeadcountError
from headcount.workspace.git_workspaces import EngineWorkspaces
from headcount.workspace.repository import Repository
from tests.support.fake_workspaces import FakeWorkspaces

POLICY = Policy()


class Git:
    """What a member does in a workspace of git."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._git("init", "-q", "-b", "main")
        (place / "README").write_text("hello\n")
        self._git("add", "README")
        self._git("commit", "-q", "-m", "first")
        self.workspaces: Any = EngineWorkspaces(
            Repository.open(str(place)), f"{place}/.headcount/worktrees", f"{place}/.headcount/archive"
        )
        self._pieces = 0

    def write(self, workspace: Workspace) -> None:
        self._pieces += 1
        Path(workspace.path, f"piece-{self._pieces}").write_text("work\n")

    def commit(self, workspace: Workspace) -> None:
        self._git("-C", workspace.path, "add", "-A")
        self._git("-C", workspace.path, "commit", "-q", "-m", "work")

    def forget(self, ref: str) -> None:
        self._git("update-ref", "-d", ref)

    def _git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.place, check=True, capture_output=True)


class Fake:
    def __init__(self) -> None:
        self.workspaces: Any = FakeWorkspaces()
        self._pieces = 0

    def write(self, workspace: Workspace) -> None:
        self._pieces += 1
        self.workspaces.repository.workspaces[workspace.path].loose.add(self._pieces)

    def commit(self, workspace: Workspace) -> None:
        space = self.workspaces.repository.workspaces[workspace.path]
        space.committed |= space.loose
        space.loose = set()


@pytest.fixture(params=["git", "fake"])
def world(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    if request.param == "fake":
        return Fake()
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "T")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "t@localhost")
    place = tmp_path / "repo"
    place.mkdir()
    return Git(place)


def gone(workspace: Workspace, *alive: str) -> GoneProof:
    who = (workspace.team, workspace.member, workspace.generation)
    return GoneProof(*who, "subreaper+mark", "now", alive)


def test_a_new_workspace_is_spotless_and_making_it_again_finds_it(world: Any) -> None:
    assert world.workspaces.find("crew", "ada", 1, {}) is None
    made = world.workspaces.create("crew", "ada", 1, {})
    assert world.workspaces.create("crew", "ada", 1, {}).path == made.path
    assert world.workspaces.find("crew", "ada", 1, {}).path == made.path
    found = world.workspaces.read(made, POLICY, {})
    assert found.spotless and found.commits_ahead == 0
    assert world.workspaces.salvage(made, POLICY, {})[1] is None


def test_loose_work_is_dirty_and_committed_work_is_not(world: Any) -> None:
    made = world.workspaces.create("crew", "ada", 1, {})
    world.write(made)
    found = world.workspaces.read(made, POLICY, {})
    assert not found.clean and found.issues()
    world.commit(made)
    after = world.workspaces.read(made, POLICY, {})
    assert after.spotless and after.commits_ahead == 1 and after.head != found.head


def test_a_salvage_is_made_once_and_later_work_gets_the_next_ref(world: Any) -> None:
    made = world.workspaces.create("crew", "ada", 1, {})
    world.write(made)
    _, first = world.workspaces.salvage(made, POLICY, {})
    _, again = world.workspaces.salvage(made, POLICY, {})
    assert first.created and not again.created and again.ref == first.ref
    world.write(made)
    _, second = world.workspaces.salvage(made, POLICY, {})
    assert second.created and second.ref != first.ref
    assert world.workspaces.check_saved(first) == [] and world.workspaces.check_saved(second) == []


def test_a_workspace_is_removed_only_when_it_is_proved_unused_and_saved(world: Any) -> None:
    made = world.workspaces.create("crew", "ada", 1, {})
    world.write(made)
    assert world.workspaces.remove(made, gone(made), POLICY, {}), "some of it is nowhere else"
    world.workspaces.salvage(made, POLICY, {})
    assert world.workspaces.remove(made, gone(made, "sh (7)"), POLICY, {}), "somebody is alive"
    assert world.workspaces.remove(made, gone(made), POLICY, {}) is None
    assert world.workspaces.remove(made, gone(made), POLICY, {}) is None, "a repeat"
    assert world.workspaces.find("crew", "ada", 1, {}) is None


def test_a_workspace_that_is_not_there_is_not_clean(world: Any) -> None:
    made = world.workspaces.create("crew", "ada", 1, {})
    assert world.workspaces.remove(made, gone(made), POLICY, {}) is None
    try:
        assert not world.workspaces.read(made, POLICY, {}).clean
    except HeadcountError:
        pass
