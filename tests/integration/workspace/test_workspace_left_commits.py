"""Commits that nothing will reach when the workspace is gone: each is found, and saved."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from gitworld import World, git, gone

from headcount.domain.findings import Workspace
from headcount.workspace.remove import Refused, Removed, remove
from headcount.workspace.repository import keep_out


def commit(where: Path, name: str = "work.txt") -> str:
    (where / name).write_text(f"{name}\n")
    git(where, "add", name)
    git(where, "commit", "-qm", name)
    return git(where, "rev-parse", "HEAD")


def is_kept_after_all(world: World, member: Workspace, oid: str) -> bool:
    """Saved as far as there is anything to save, removed, and looked for by plain git, without reflogs."""
    if not world.findings(member).spotless:
        world.salvage(member)
    assert isinstance(remove(world.repo, member, gone(member)), Removed)
    return oid in git(world.top, "rev-list", "--all").split("\n")


def test_C2_a_commit_that_a_ref_of_the_worktree_alone_holds_is_saved(world: World) -> None:
    member = world.member()
    left = commit(Path(member.path))
    git(member.path, "update-ref", "refs/worktree/mine", "HEAD")
    git(member.path, "reset", "-q", "--hard", "HEAD~1")

    assert world.kinds(member) == {"abandoned"}
    assert is_kept_after_all(world, member, left)


def test_C2_a_commit_that_was_never_checked_out_and_a_ref_of_the_worktree_holds_is_saved(
    world: World,
) -> None:
    member = world.member()
    left = git(member.path, "commit-tree", "-m", "by hand", "HEAD^{tree}")
    git(member.path, "update-ref", "refs/worktree/mine", left)

    assert is_kept_after_all(world, member, left)


def test_C2_a_commit_that_only_a_graft_makes_reachable_is_saved(world: World) -> None:
    member = world.member()
    left = commit(Path(member.path))
    git(member.path, "reset", "-q", "--hard", "HEAD~1")
    grafts = Path(world.repo.common_dir) / "info" / "grafts"
    grafts.write_text(f"{git(world.top, 'rev-parse', 'main')} {left}\n")

    assert world.kinds(member) == {"abandoned"}
    world.salvage(member)
    grafts.unlink()
    assert is_kept_after_all(world, member, left)


@pytest.mark.parametrize("whose", ["the user's", "another"])
def test_C2_a_workspace_with_a_worktree_inside_is_kept_with_what_only_that_holds(
    world: World, tmp_path: Path, whose: str
) -> None:
    """As clients make them for their own helpers. Its commits and its index are in no salvage."""
    member = world.member()
    top = world.top
    if whose == "another":
        top = tmp_path / "another"
        git(tmp_path, "clone", "-q", str(world.top), str(top))
    inside = Path(member.path) / "sub" / "tree"
    git(top, "worktree", "add", "-q", "--detach", str(inside))
    left = commit(inside)

    saved = world.salvage(member)
    kept = remove(world.repo, member, gone(member))

    assert [item.path for item in saved.left_out] == ["sub/tree/"]
    assert isinstance(kept, Refused) and "sub/tree/ was left out" in " ".join(kept.reasons)
    git(top, "worktree", "prune")
    assert git(inside, "rev-parse", "HEAD") == left


def test_C2_a_commit_is_saved_whatever_the_ref_of_the_worktree_is_called(world: World) -> None:
    member = world.member()
    left = git(member.path, "commit-tree", "-m", "by hand", "HEAD^{tree}")
    git(member.path, "update-ref", "refs/worktree/new-index", left)

    assert is_kept_after_all(world, member, left)


def test_C23_commits_on_no_branch_are_saved_when_head_stands_on_a_branch_without_any(world: World) -> None:
    member = world.member()
    git(member.path, "checkout", "-q", "--detach")
    left = commit(Path(member.path))
    git(member.path, "checkout", "-q", "--orphan", "fresh")
    git(member.path, "rm", "-rqf", ".")

    assert world.kinds(member) == {"abandoned"}
    assert is_kept_after_all(world, member, left)


def test_C2_a_commit_that_submodule_update_left_behind_is_saved(world: World, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "-q", "-b", "main")
    commit(library, "first.txt")
    git(world.top, "submodule", "--quiet", "add", str(library), "lib")
    git(world.top, "commit", "-qm", "with a library")
    keep_out(world.repo.common_dir, ".headcount/")
    member = world.member()
    git(member.path, "submodule", "--quiet", "update", "--init")
    git(f"{member.path}/lib", "remote", "set-url", "origin", "https://example.org/lib")
    assert world.findings(member).spotless
    left = commit(Path(member.path) / "lib")
    git(member.path, "submodule", "--quiet", "update")

    found = world.findings(member)

    assert [(item.kind.value, item.oid) for item in found.items] == [("abandoned", left)]
    assert found.clean


@pytest.mark.parametrize("what", ["a pipe", "a device without end"])
def test_a_link_to_git_that_is_no_file_is_not_waited_for(world: World, what: str) -> None:
    member = world.member()
    link = Path(member.path) / ".git"
    link.unlink()
    if what == "a pipe":
        os.mkfifo(link)
    else:
        link.symlink_to("/dev/zero")

    assert "unreadable" in world.kinds(member)
