"""Commits and changed files of a member, counted for `status`: cheap, and without a program of the member."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gitworld import World, git

from headcount.domain.findings import Workspace
from headcount.workspace.work_count import count_work


def count(workspace: Workspace, recorded: dict[str, Any] | None = None) -> tuple[int | None, int | None]:
    return count_work({"alice#1": workspace.as_dict()}, recorded)["alice#1"]


def test_commits_since_the_base_and_changed_files_are_counted(world: World) -> None:
    alice = world.member()
    top = Path(alice.path)
    assert count(alice) == (0, 0)
    (top / "a.txt").write_text("changed\n")
    git(top, "commit", "-qam", "one")
    (top / "a.txt").write_text("again\n")
    (top / "new.txt").write_text("new\n")
    assert count(alice) == (1, 2)


def test_F69_counting_runs_no_program_that_the_member_has_set(world: World, tmp_path: Path) -> None:
    recorded = world.repo.git.on(world.repo.common_dir, None).record_config().as_fact()
    alice = world.member()
    top = Path(alice.path)
    (top / ".gitattributes").write_text("* filter=evil\n")
    for key in ("filter.evil.clean", "filter.evil.process", "core.fsmonitor"):
        git(top, "config", key, f"touch {tmp_path}/ran")
    (top / "a.txt").write_text("another\n")
    git(top, "status", ok=False)
    assert (tmp_path / "ran").exists()  # as the member's own git does
    (tmp_path / "ran").unlink()
    (top / "a.txt").write_text("a third\n")
    assert count(alice, recorded)[1]
    assert count(alice) == (0, None)  # filters of the user are not run for a number
    assert not (tmp_path / "ran").exists()
