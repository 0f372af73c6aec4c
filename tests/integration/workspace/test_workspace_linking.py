"""A worktree is made by writing git's files: they must be what git itself writes, and never be half there."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gitworld import World, git, gone, open_world

from headcount.errors import GitError
from headcount.workspace import worktrees
from headcount.workspace.git import Answer, Git
from headcount.workspace.remove import Refused, Removed, remove
from headcount.workspace.worktrees import RECORD, link

remove_module: Any = importlib.import_module("headcount.workspace.remove")


def written(git_dir: Path | str, path: Path | str) -> dict[str, tuple[int, str]]:
    """Mode and content of every file of git's side, and of the link to it, without names and times."""
    files = [*(p for p in Path(git_dir).rglob("*") if p.is_file()), Path(path) / ".git"]
    told = {}
    for file in files:
        text = file.read_bytes().decode("latin-1").replace(str(git_dir), "GIT_DIR").replace(str(path), "PATH")
        name = str(file).replace(str(git_dir), "GIT_DIR").replace(str(path), "PATH")
        told[name] = (
            file.stat().st_mode,
            re.sub(r"\S+ <\S+> \d+ [+-]\d+", "WHO", text),
        )
    return told


@pytest.mark.parametrize("how", ["branch", "detached"])
def test_a_worktree_of_ours_is_file_by_file_what_git_makes(world: World, how: str) -> None:
    commit = git(world.top, "rev-parse", "HEAD")
    theirs = world.top.parent / "theirs"
    theirs_how = ["--detach"] if how == "detached" else ["-b", "same"]
    locked = ["--lock", "--reason", "why"]
    git(world.top, "worktree", "add", "-q", "--no-checkout", *locked, *theirs_how, str(theirs), commit)
    by_git = written(world.top / ".git" / "worktrees" / "theirs", theirs)
    ours = world.top.parent / "ours"
    head = commit if how == "detached" else "ref: refs/heads/same"
    git_dir = link(world.repo, str(ours), head, commit, "why")
    assert written(git_dir, ours) == by_git
    assert {p.relative_to(git_dir) for p in Path(git_dir).rglob("*")} == {
        p.relative_to(world.top / ".git" / "worktrees" / "theirs")
        for p in (world.top / ".git" / "worktrees" / "theirs").rglob("*")
    }


def test_a_worktree_that_git_has_linked_by_a_relative_path_is_known(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As git 2.48 and newer do with `worktree.useRelativePaths`."""
    theirs = world.top.parent / "theirs"
    git(world.top, "worktree", "add", "-q", "-b", "mine", str(theirs))
    git_dir = world.top / ".git" / "worktrees" / "theirs"
    (git_dir / "gitdir").write_text(f"{os.path.relpath(theirs / '.git', git_dir)}\n")
    (theirs / ".git").write_text(f"gitdir: {os.path.relpath(git_dir, theirs)}\n")
    monkeypatch.chdir("/")
    assert world.repo.work_trees() == [str(theirs)]
    assert world.repo.find_git_dir(str(theirs)) == str(git_dir)
    assert world.repo.branch_in_use("mine") == str(theirs)


def test_git_finds_nothing_wrong_with_what_we_made_and_can_move_and_remove_it(world: World) -> None:
    alice = world.member()
    assert git(world.top, "worktree", "prune", "--verbose", "--expire=now") == ""
    assert git(world.top, "worktree", "repair") == ""
    assert git(alice.path, "rev-parse", "--git-common-dir") == world.repo.common_dir
    assert git(alice.path, "reflog", "show", "HEAD").count("\n") == 0
    assert "branch: Created" in git(world.top, "reflog", "show", "headcount/t/alice")
    elsewhere = str(world.top.parent / "elsewhere")
    git(world.top, "worktree", "move", "-f", "-f", alice.path, elsewhere)
    assert git(elsewhere, "status", "--porcelain") == ""
    git(world.top, "worktree", "remove", "-f", "-f", elsewhere)
    assert "elsewhere" not in git(world.top, "worktree", "list")


def test_no_upstream_is_set_up_for_a_workspace_that_begins_at_a_remote_branch(world: World) -> None:
    git(world.top.parent, "clone", "-q", str(world.top), "clone")
    clone = open_world(world.top.parent / "clone")
    made = clone.workspaces.create("t", "alice", 1, base="origin/main")
    assert git(made.path, "rev-parse", "HEAD") == git(world.top, "rev-parse", "HEAD")
    assert git(made.path, "config", "branch.headcount/t/alice.remote", ok=False) == ""


def test_a_base_that_is_no_commit_leaves_nothing_behind(world: World) -> None:
    with pytest.raises(GitError) as raised:
        world.workspaces.create("t", "alice", 1, base="no-such-branch")
    assert raised.value.why == "no-such-branch is not a commit"
    assert "headcount" not in git(world.top, "branch", "--list")
    assert not (world.top / ".git" / "worktrees").exists()


def test_creation_that_was_cut_off_before_the_directory_was_made_is_finished(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def power_cut(path: str, git_dir: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken, pytest.raises(KeyboardInterrupt):
        broken.setattr(worktrees, "ensure_link", power_cut)
        world.member()
    assert not (world.top / ".headcount" / "worktrees" / "t" / "alice").exists()
    alice = world.member()
    assert alice.branch == "headcount/t/alice" and world.findings(alice).spotless
    assert (Path(alice.git_dir or "") / RECORD).exists()
    assert world.workspaces.list() == [alice]


def test_creation_that_was_cut_off_before_git_knew_it_leaves_git_with_nothing_half_made(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def power_cut(made: str, git_dir: str) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken, pytest.raises(KeyboardInterrupt):
        broken.setattr(worktrees, "_put_in_place", power_cut)
        world.member()
    assert git(world.top, "worktree", "list").count("\n") == 0
    assert not list((world.top / ".git").glob("headcount.making.*"))
    assert world.findings(world.member()).spotless


def test_two_who_make_one_for_the_same_path_do_not_both_succeed(world: World) -> None:
    commit, path = git(world.top, "rev-parse", "HEAD"), str(world.top.parent / "one")
    link(world.repo, path, commit, commit, "first")
    with pytest.raises(GitError) as raised:
        link(world.repo, path, commit, commit, "second")
    assert raised.value.why == "another process is creating it"


def test_a_worktree_that_the_user_moved_is_not_written_over(world: World) -> None:
    alice = world.member()
    git(world.top, "worktree", "move", "-f", "-f", alice.path, str(world.top.parent / "moved"))
    again = world.member(generation=2)
    assert again.git_dir != alice.git_dir and again.path == alice.path + ".2"
    assert git(world.top.parent / "moved", "status", "--porcelain") == ""


def test_a_branch_that_somebody_stands_on_before_its_first_commit_is_not_taken(world: World) -> None:
    users = world.top.parent / "users"
    git(world.top, "worktree", "add", "-q", "--detach", str(users))
    git(users, "checkout", "-q", "--orphan", "headcount/t/alice")
    assert world.member().branch == "headcount/t/alice.2"


def test_a_sparse_checkout_is_sparse_in_a_workspace_too(world: World) -> None:
    git(world.top, "sparse-checkout", "set", "--no-cone", "/a.txt")
    alice = world.member()
    assert sorted(os.listdir(alice.path)) == [".git", "a.txt"]
    assert world.findings(alice).spotless


_STEPS = ("rename", "replace", "unlink", "rmdir", "mkdir", "link", "open")


def test_F32_git_never_meets_a_half_made_or_half_removed_worktree(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user's `git worktree list` works before and after every single change that headcount makes below
    `.git`, for the worktree that is made or removed and for all others."""
    world.member("other")
    inside = world.repo.common_dir + os.sep
    steps: list[str] = []
    listing = False

    def spied(name: str, do: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **options: Any) -> Any:
            nonlocal listing
            writes = name != "open" or (len(args) > 1 and args[1] & os.O_CREAT)
            counts = not listing and writes and str(args[0]).startswith(inside)
            done = do(*args, **options)
            if counts:
                listing = True
                steps.append(name)
                listed = git(world.top, "worktree", "list", "--porcelain")
                assert "t/other" in listed
                listing = False
            return done

        return step

    for name in _STEPS:
        monkeypatch.setattr(os, name, spied(name, getattr(os, name)))
    alice = world.member()
    made = len(steps)
    assert isinstance(remove(world.repo, alice, gone(alice)), Removed)
    assert "rename" in steps[:made] and steps[made:].count("rename") == 2, steps


def test_F32_a_worktree_that_is_being_removed_is_off_the_list_before_its_files_go(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git reads `gitdir` first and skips a worktree without it; then nothing else of it needs to be there."""
    alice = world.member()
    seen: list[str] = []
    delete = remove_module._delete

    def spied(path: str, nodes: list[Any]) -> list[bytes]:
        seen.append(git(world.top, "worktree", "list"))
        return delete(path, nodes)

    monkeypatch.setattr(remove_module, "_delete", spied)
    assert isinstance(remove(world.repo, alice, gone(alice)), Removed)
    assert len(seen) == 1 and "alice" not in seen[0]


@pytest.mark.parametrize("point", ["_delete", "forget"])
def test_F32_a_removal_that_was_cut_off_after_the_worktree_left_the_list_is_finished(
    world: World, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    def power_cut(*_: object) -> None:
        raise KeyboardInterrupt

    alice = world.member()
    where = remove_module if point == "_delete" else remove_module._Gate
    with monkeypatch.context() as broken, pytest.raises(KeyboardInterrupt):
        broken.setattr(where, point, power_cut)
        remove(world.repo, alice, gone(alice))
    assert git(world.top, "worktree", "prune", "--expire=now") == ""
    assert isinstance(remove(world.repo, alice, gone(alice)), Removed)
    assert not os.path.lexists(alice.path) and not os.path.lexists(alice.git_dir or "")


def test_F32_a_worktree_that_could_not_be_removed_whole_is_on_the_list_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice = world.member()
    delete = remove_module._delete

    def write_first(path: str, nodes: list[Any]) -> list[bytes]:
        Path(path, "late.txt").write_text("written after the gate looked\n")
        return delete(path, nodes)

    with monkeypatch.context() as late:
        late.setattr(remove_module, "_delete", write_first)
        assert isinstance(remove(world.repo, alice, gone(alice)), Refused)
    assert "alice" in git(world.top, "worktree", "list")
    world.salvage(alice)
    assert isinstance(remove(world.repo, alice, gone(alice)), Removed)


def test_making_and_reading_one_start_no_more_gits_than_needed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand members are a thousand times this: `git worktree add` alone is three processes."""
    verbs: list[str] = []
    run = Git.run

    def counted(self: Git, *args: str, **options: Any) -> Answer:
        verbs.append(args[0])
        return run(self, *args, **options)

    monkeypatch.setattr(Git, "run", counted)
    alice = world.member()
    # The configuration is read once for all worktrees, until it changes.
    assert verbs == ["rev-parse", "update-ref", "read-tree", "config"]
    verbs.clear()
    assert world.findings(alice).spotless
    assert verbs == ["diff-index"]
    verbs.clear()
    assert isinstance(remove(world.repo, alice, gone(alice)), Removed)
    assert verbs == ["diff-index", "for-each-ref", "update-ref"]  # the last two delete its empty branch
