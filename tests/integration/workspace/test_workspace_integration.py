from __future__ import annotations

import threading
from pathlib import Path

import pytest
from gitworld import World, git, open_world

from headcount.errors import Declined
from headcount.workspace.integration import Conflict, Integration, Merged, Rebased


def work(world: World, name: str, file: str, text: str) -> str:
    member = world.member(name)
    (Path(member.path) / file).write_text(text)
    git(member.path, "add", ".")
    git(member.path, "commit", "-qm", f"{name}: {file}")
    return git(member.path, "rev-parse", "HEAD")


def test_branch_is_made_from_what_is_checked_out_and_only_once(world: World) -> None:
    first = Integration.create(world.repo, "t")
    assert (first.branch, first.head()) == ("headcount/t/integration", world.repo.head_commit())
    first.merge(work(world, "alice", "x.txt", "x\n"))
    assert Integration.create(world.repo, "t").head() == first.head() != world.repo.head_commit()


def test_merge_holds_both_sides_and_moves_nothing_of_the_users(world: World) -> None:
    integration = Integration.create(world.repo, "t")
    (world.top / "a.txt").write_text("the user is working\n")
    commits = [work(world, name, f"{name}.txt", "work\n") for name in ("alice", "bob")]
    for commit in commits:
        merged = integration.merge(commit, f"Merge {commit}")
        assert isinstance(merged, Merged) and merged.moved and integration.is_merged(commit)
    names = git(world.top, "ls-tree", "--name-only", integration.branch).split("\n")
    assert {"alice.txt", "bob.txt"} <= set(names)
    assert git(world.top, "status", "--porcelain") == " M a.txt"
    again = integration.merge(commits[0])
    assert again == Merged(integration.head() or "", moved=False)


def test_conflict_names_the_paths_and_moves_nothing(world: World) -> None:
    integration = Integration.create(world.repo, "t")
    integration.merge(work(world, "alice", "a.txt", "alice\n"))
    before = integration.head()
    assert integration.merge(work(world, "bob", "a.txt", "bob\n")) == Conflict(("a.txt",))
    assert integration.head() == before


def test_squash_merged_work_counts_as_merged_and_unmerged_does_not(world: World) -> None:
    integration = Integration.create(world.repo, "t")
    commit = work(world, "alice", "x.txt", "x\n")
    assert not integration.is_merged(commit)
    git(world.top, "checkout", "-q", integration.branch)
    git(world.top, "merge", "-q", "--squash", commit)
    git(world.top, "commit", "-qm", "squashed")
    (world.top / "y.txt").write_text("later work\n")
    git(world.top, "add", ".")
    git(world.top, "commit", "-qm", "later")
    git(world.top, "checkout", "-q", "main")
    assert integration.is_merged(commit)
    assert not world.repo.is_ancestor(commit, integration.branch)
    assert not integration.is_merged(work(world, "bob", "x.txt", "other\n"))


def test_history_without_a_common_root_is_a_conflict(world: World) -> None:
    integration = Integration.create(world.repo, "t")
    alice = world.member()
    git(alice.path, "checkout", "-q", "--orphan", "fresh")
    git(alice.path, "commit", "-qm", "from nothing")
    commit = git(alice.path, "rev-parse", "HEAD")
    assert integration.merge(commit) == Conflict(("(unrelated histories)",))
    assert not integration.is_merged(commit)


def test_branch_that_a_worktree_stands_on_is_never_moved(world: World) -> None:
    commit = work(world, "alice", "x.txt", "x\n")
    with pytest.raises(Declined) as raised:
        Integration.create(world.repo, "t", branch="main")
    assert raised.value.code == "branch-in-use" and str(world.top) in raised.value.why
    integration = Integration.create(world.repo, "t")
    git(world.top, "checkout", "-q", integration.branch)
    before = integration.head()
    with pytest.raises(Declined):
        integration.merge(commit)
    assert integration.head() == before


def test_an_integration_branch_that_became_a_name_for_the_users_does_not_move_the_users(
    world: World,
) -> None:
    integration = Integration.create(world.repo, "t")
    stood = git(world.top, "rev-parse", "main")
    git(world.top, "symbolic-ref", integration.ref, "refs/heads/main")

    merged = integration.merge(work(world, "alice", "new.txt", "new\n"))

    assert isinstance(merged, Merged) and integration.head() == merged.commit
    assert git(world.top, "rev-parse", "main") == stood


def test_branch_that_a_rebase_will_return_to_is_in_use(world: World) -> None:
    integration = Integration.create(world.repo, "t")
    alice, bob = work(world, "alice", "a.txt", "alice\n"), work(world, "bob", "a.txt", "bob\n")
    integration.merge(alice)
    git(world.top, "checkout", "-q", integration.branch)
    git(world.top, "rebase", bob, ok=False)
    assert "detached" in git(world.top, "worktree", "list", "--porcelain").split("\n\n")[0]
    with pytest.raises(Declined):
        integration.merge(bob)


def test_two_who_merge_at_once_lose_nothing(world: World) -> None:
    integration = Integration.create(world.repo, "t")
    commits = [work(world, f"m{n}", f"{n}.txt", "x\n") for n in range(4)]
    failed: list[BaseException] = []

    def merge(commit: str) -> None:
        try:
            integration.merge(commit)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=merge, args=(commit,)) for commit in commits]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failed
    assert all(world.repo.is_ancestor(commit, integration.branch) for commit in commits)


def test_a_merge_waits_for_the_lock_of_another(world: World) -> None:
    integration = Integration.create(world.repo, "t")
    commit = work(world, "alice", "x.txt", "x\n")
    lock = Path(world.repo.common_dir, f"{integration.ref}.lock")
    lock.touch()
    release = threading.Timer(0.7, lock.unlink)
    release.start()
    merged = integration.merge(commit)
    release.join()
    assert isinstance(merged, Merged) and merged.moved
    assert world.repo.is_ancestor(commit, integration.branch)


def test_repository_without_commits_gets_its_branch_with_the_first_merge(tmp_path: Path) -> None:
    top = tmp_path / "empty"
    top.mkdir()
    git(top, "init", "-q")
    world = open_world(top)
    integration = Integration.create(world.repo, "t")
    assert integration.head() is None
    commit = work(world, "alice", "x.txt", "x\n")
    assert not integration.is_merged(commit)
    assert integration.merge(commit) == Merged(commit, moved=True)


def test_named_branch_is_used_where_it_is_free(world: World) -> None:
    git(world.top, "branch", "develop")
    integration = Integration.create(world.repo, "t", branch="develop")
    integration.merge(work(world, "alice", "x.txt", "x\n"))
    assert git(world.top, "show", "develop:x.txt") == "x"


def commit_as_user(world: World, file: str, text: str) -> str:
    (world.top / file).write_text(text)
    git(world.top, "add", file)
    git(world.top, "commit", "-qm", f"user: {file}")
    return git(world.top, "rev-parse", "HEAD")


def test_after_a_squash_merge_the_branch_begins_anew_and_its_commits_stay(world: World) -> None:
    integration = Integration.create(world.repo, "t")
    integration.merge(work(world, "alice", "x.txt", "x\n"))
    old = integration.head()
    git(world.top, "merge", "-q", "--squash", integration.branch)
    git(world.top, "commit", "-qm", "squashed")
    new = commit_as_user(world, "later.txt", "later\n")
    assert Integration.create(world.repo, "t").head() == old
    assert integration.count_missing(new) == 2

    assert integration.rebase_onto(new) == Rebased(new, "headcount/t/integration.old")
    assert integration.head() == new and integration.count_missing(new) == 0
    assert git(world.top, "rev-parse", "headcount/t/integration.old") == old
    assert integration.rebase_onto(new) == Rebased(new, None)


def test_work_that_was_not_taken_over_is_merged_onto_the_new_base(world: World) -> None:
    integration = Integration.create(world.repo, "t")
    integration.merge(work(world, "alice", "x.txt", "x\n"))
    old, new = integration.head(), commit_as_user(world, "later.txt", "later\n")
    rebased = integration.rebase_onto(new)
    assert isinstance(rebased, Rebased) and rebased.kept is None
    assert (
        git(world.top, "rev-parse", f"{integration.branch}^1", f"{integration.branch}^2") == f"{new}\n{old}"
    )
    assert {"x.txt", "later.txt"} <= set(git(world.top, "ls-tree", "--name-only", integration.branch).split())


def test_a_new_base_that_conflicts_moves_nothing(world: World) -> None:
    integration = Integration.create(world.repo, "t")
    integration.merge(work(world, "alice", "a.txt", "alice\n"))
    old, new = integration.head(), commit_as_user(world, "a.txt", "the user\n")
    assert integration.rebase_onto(new) == Conflict(("a.txt",))
    assert integration.head() == old
