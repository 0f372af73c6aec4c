from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from anything import read_files
from gitworld import World, git, gone

from headcount.errors import GitError, UsageError
from headcount.workspace.remove import Removed, remove
from headcount.workspace.repository import Repository, keep_out
from headcount.workspace.worktrees import RECORD, Workspaces


def test_create_twice_gives_the_same_workspace(world: World) -> None:
    alice = world.member()
    (Path(alice.path) / "a.txt").write_text("work\n")
    assert world.member() == alice
    assert (Path(alice.path) / "a.txt").read_text() == "work\n"
    assert world.workspaces.list() == [alice]


def test_workspace_stands_on_its_branch_and_is_locked_with_its_owner(world: World) -> None:
    alice = world.member()
    assert alice.path == str(world.top / ".headcount" / "worktrees" / "t" / "alice")
    assert git(alice.path, "symbolic-ref", "--short", "HEAD") == alice.branch == "headcount/t/alice"
    assert "locked headcount t/alice/1" in git(world.top, "worktree", "list", "--porcelain")
    assert git(world.top, "status", "--porcelain") == ""


def test_reviewer_is_detached_at_the_commit(world: World) -> None:
    reviewer = world.workspaces.create("t", "rev", 1, base="HEAD", detached=True)
    assert reviewer.branch is None
    assert git(reviewer.path, "rev-parse", "HEAD") == world.repo.head_commit() == reviewer.base
    assert git(reviewer.path, "symbolic-ref", "-q", "HEAD", ok=False) == ""
    assert world.findings(reviewer).spotless


def test_a_branch_that_was_left_is_not_reused(world: World) -> None:
    first = world.member()
    (Path(first.path) / "a.txt").write_text("left\n")
    git(first.path, "commit", "-qam", "left")
    assert isinstance(remove(world.repo, first, gone(first)), Removed)
    second = world.member(generation=2)
    assert second.branch == "headcount/t/alice.2"
    assert second.path == first.path
    assert git(world.top, "show", "headcount/t/alice:a.txt") == "left"
    assert (Path(second.path) / "a.txt").read_text() == "a\n"


def test_C21_a_workspace_that_was_left_is_neither_reset_nor_reused(world: World) -> None:
    first = world.member()
    (Path(first.path) / "a.txt").write_text("unsaved\n")
    second = world.member(generation=2)
    assert second.path == first.path + ".2"
    assert (Path(first.path) / "a.txt").read_text() == "unsaved\n"
    assert world.workspaces.list() == [first, second]


def test_C21_a_directory_in_the_way_is_not_touched(world: World) -> None:
    place = world.top / ".headcount" / "worktrees" / "t" / "alice"
    place.mkdir(parents=True)
    (place / "mine").write_text("mine\n")
    alice = world.member()
    assert alice.path == f"{place}.2"
    assert (place / "mine").read_text() == "mine\n"


def test_workspace_goes_on_from_a_salvage(world: World) -> None:
    alice = world.member()
    root = Path(alice.path)
    (root / "a.txt").write_text("committed\n")
    git(root, "commit", "-qam", "half")
    (root / "b.txt").unlink()
    (root / "new.txt").write_text("new\n")
    shutil.rmtree(root / "src")
    (root / "src").symlink_to("/nowhere")
    (root / "a.txt").unlink()
    (root / "a.txt").mkdir()
    (root / "a.txt" / "inside").write_text("inside\n")
    saved = world.salvage(alice)
    bob = world.workspaces.create("t", "bob", 1, base=saved.ref)
    assert bob.base == git(root, "rev-parse", "HEAD")
    assert bob.branch == "headcount/t/bob"
    assert git(bob.path, "status", "--porcelain") == git(root, "status", "--porcelain")
    assert read_files(Path(bob.path)) == read_files(root)
    assert world.workspaces.create("t", "bob", 1, base=saved.ref) == bob


NAMES = [
    "alice",
    "alice-2",
    "Alice",
    "ALICE",
    "a_b",
    "a-b",
    "integration",
    "-",
    "a",
    "a.2",
    "a%2E2",
    "a/b",
    "..",
    "",
]


def test_C15_no_two_names_share_a_path_a_branch_or_a_ref(world: World) -> None:
    members = [world.workspaces.create("t", name, generation) for name in NAMES for generation in (1, 2)]
    for attribute in ("path", "branch", "git_dir"):
        values = [getattr(member, attribute) for member in members]
        assert len(set(values)) == len(values), attribute
    root = str(world.top / ".headcount" / "worktrees" / "t") + os.sep
    assert all(os.path.realpath(member.path).startswith(root) for member in members)
    assert "headcount/t/integration" not in [member.branch for member in members]
    for member in members:
        (Path(member.path) / "new.txt").write_text(member.path)
    refs = [world.salvage(member).ref for member in members]
    assert len(set(refs)) == len(refs)


def test_creation_that_was_cut_off_before_it_was_complete_is_finished(world: World) -> None:
    alice = world.member()
    os.unlink(Path(alice.git_dir or "") / RECORD)
    os.unlink(Path(alice.path) / "a.txt")
    (Path(alice.path) / "b.txt").write_text("half a fi")
    again = world.member()
    assert replace(again, checkout=alice.checkout) == alice
    assert world.findings(again).spotless


def test_creation_that_was_cut_off_after_the_branch_takes_the_next(world: World) -> None:
    git(world.top, "branch", "headcount/t/alice")
    assert world.member().branch == "headcount/t/alice.2"


def test_a_worktree_directory_that_vanished_is_not_reused_by_the_next_generation(world: World) -> None:
    first = world.member()
    (Path(first.path) / "a.txt").write_text("staged\n")
    git(first.path, "add", "a.txt")
    shutil.rmtree(first.path)
    second = world.member(generation=2)
    assert second.git_dir != first.git_dir
    saved = world.salvage(first)
    assert git(world.top, "show", f"{saved.ref}:index/0/a.txt") == "staged"


def test_worktrees_of_the_user_are_not_listed(world: World) -> None:
    git(world.top, "worktree", "add", "-q", str(world.top.parent / "users"), "-b", "users")
    git(
        world.top, "worktree", "add", "-q", str(world.top / ".headcount" / "worktrees" / "mine"), "-b", "mine"
    )
    alice = world.member()
    assert world.workspaces.list() == [alice]


def test_a_branch_named_headcount_is_an_error_that_says_so(world: World) -> None:
    git(world.top, "branch", "headcount")
    with pytest.raises(GitError) as raised:
        world.member()
    assert "headcount" in raised.value.why


def test_repository_is_found_from_inside_a_worktree_and_not_where_there_is_none(
    world: World, tmp_path: Path
) -> None:
    alice = world.member()
    assert Repository.open(alice.path).common_dir == world.repo.common_dir
    assert Repository.open(str(world.top / "src")).common_dir == world.repo.common_dir
    assert Repository.find(str(tmp_path / "home")) is None
    with pytest.raises(UsageError) as raised:
        Repository.open(str(tmp_path / "home"))
    assert raised.value.code == "no-repository"


def test_git_that_is_missing_or_too_old_is_said_so(world: World, tmp_path: Path) -> None:
    old = tmp_path / "old-git"
    old.write_text("#!/bin/sh\necho git version 2.30.2\n")
    old.chmod(0o755)
    with pytest.raises(GitError) as raised:
        Repository.open(str(world.top), executable=str(old))
    assert raised.value.code == "git-version" and "2.30.2" in raised.value.what
    with pytest.raises(GitError) as raised:
        Repository.open(str(world.top), executable=str(tmp_path / "no-git"))
    assert raised.value.code == "git-missing"


def test_our_directory_is_kept_out_of_the_users_status_once(world: World) -> None:
    keep_out(world.repo.common_dir, ".headcount/")
    exclude = Path(world.repo.common_dir) / "info" / "exclude"
    assert exclude.read_text().count(".headcount/") == 1


def test_without_git_a_workspace_is_a_directory_of_its_own(tmp_path: Path) -> None:
    plain = Workspaces(None, str(tmp_path / "worktrees"))
    one, two = plain.create("t", "alice", 1), plain.create("t", "alice", 2)
    assert one == plain.create("t", "alice", 1)
    assert one.path != two.path and one.git_dir is None and os.path.isdir(two.path)
    assert plain.list() == []


def test_many_made_at_once_are_all_whole(world: World) -> None:
    names = [f"m{n}" for n in range(12)]
    with ThreadPoolExecutor(6) as pool:
        made = list(pool.map(world.member, names))
    assert {workspace.path for workspace in made} == {workspace.path for workspace in world.workspaces.list()}
    assert all(world.findings(workspace).spotless for workspace in made)
