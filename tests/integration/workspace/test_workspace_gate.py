"""The removal gate inspects the workspace itself: an earlier inspection never counts."""

from __future__ import annotations

import mmap
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from gitworld import World, git, gone

from headcount.domain.findings import Workspace
from headcount.workspace.remove import Refused, Removed, remove


@pytest.fixture
def alice(world: World) -> Workspace:
    """A workspace with a commit of its own that an inspection has just found spotless."""
    member = world.member()
    Path(member.path, "a.txt").write_text("work\n")
    Path(member.path, "d").mkdir()
    Path(member.path, "d/b.txt").write_text("more\n")
    git(member.path, "add", ".")
    git(member.path, "commit", "-qm", "work")
    assert world.findings(member).spotless
    return member


def _rewrite_with_its_old_times(path: str) -> None:
    file = Path(path, "a.txt")
    before = file.stat()
    file.write_text("WORK\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def _write_through_memory(path: str) -> None:
    with open(Path(path, "a.txt"), "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[0:4] = b"WORK"


def _replace_with_its_old_times(path: str) -> None:
    file = Path(path, "a.txt")
    before = file.stat()
    other = Path(path, "other")
    other.write_text("WORK\n")
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.rename(file)


def _stash(path: str) -> None:
    Path(path, "a.txt").write_text("stashed\n")
    git(path, "stash")


def _hide(path: str) -> None:
    git(path, "update-index", "--assume-unchanged", "a.txt")
    Path(path, "a.txt").write_text("hidden\n")


CHANGES: dict[str, Callable[[str], object]] = {
    "same size, old times": _rewrite_with_its_old_times,
    "written through memory": _write_through_memory,
    "another file, old times": _replace_with_its_old_times,
    "made executable": lambda path: os.chmod(Path(path, "a.txt"), 0o755),
    "a new file": lambda path: Path(path, "d/new.txt").write_text("new\n"),
    "a deleted file": lambda path: Path(path, "d/b.txt").unlink(),
    "staged only": lambda path: git(path, "rm", "-q", "--cached", "a.txt"),
    "stashed": _stash,
    "hidden": _hide,
    "a repository inside": lambda path: git(path, "init", "-q", "d/inner"),
    "an unfinished merge": lambda path: Path(git(path, "rev-parse", "--git-dir"), "MERGE_HEAD").write_text(
        git(path, "rev-parse", "HEAD") + "\n"
    ),
    "an unfinished bisect": lambda path: git(path, "bisect", "start"),
    "its branch deleted": lambda path: git(path, "update-ref", "-d", "refs/heads/headcount/t/alice"),
}


@pytest.mark.parametrize("how", CHANGES)
def test_C22_the_gate_finds_what_was_changed_after_the_inspection(
    world: World, alice: Workspace, how: str
) -> None:
    CHANGES[how](alice.path)
    assert isinstance(remove(world.repo, alice, gone(alice)), Refused)
    world.salvage(alice)
    assert isinstance(remove(world.repo, alice, gone(alice)), Removed)


def test_F29_a_commit_that_only_a_foreign_branch_held_is_saved_when_that_branch_moves(
    world: World, alice: Workspace
) -> None:
    """The user's branch takes the member's commit, the member leaves it, and the user moves the branch."""
    left = git(alice.path, "rev-parse", "HEAD")
    git(world.top, "branch", "users", left)
    git(alice.path, "reset", "-q", "--hard", "HEAD~1")
    assert world.findings(alice).spotless, "the user's branch holds the commit"

    git(world.top, "branch", "-f", "users", "main")

    refused = remove(world.repo, alice, gone(alice))
    assert isinstance(refused, Refused) and left in "\n".join(refused.reasons)
    saved = world.salvage(alice)
    assert isinstance(remove(world.repo, alice, gone(alice)), Removed)
    git(world.top, "merge-base", "--is-ancestor", left, saved.commit)


def test_a_process_that_is_in_the_workspace_for_a_moment_does_not_keep_it(
    world: World, alice: Workspace
) -> None:
    with subprocess.Popen(["sleep", "0.2"], cwd=alice.path):
        assert isinstance(remove(world.repo, alice, gone(alice)), Removed)
