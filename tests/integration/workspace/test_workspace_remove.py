from __future__ import annotations

import importlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from gitworld import World, git, gone, loosen

from headcount.domain.findings import Workspace
from headcount.workspace.integration import Integration
from headcount.workspace.left_branches import Ref, delete_held
from headcount.workspace.remove import Refused, Removed, remove

gate = importlib.import_module("headcount.workspace.remove")


def refused(world: World, workspace: Workspace, **proof: object) -> str:
    answer = remove(world.repo, workspace, gone(workspace, **proof))
    assert isinstance(answer, Refused), answer
    assert os.path.isdir(workspace.path)
    return "\n".join(answer.reasons)


def removed(world: World, workspace: Workspace, **options: object) -> Removed:
    answer = remove(world.repo, workspace, gone(workspace), **options)  # type: ignore[arg-type]
    assert isinstance(answer, Removed), answer
    assert not os.path.lexists(workspace.path) and not os.path.lexists(workspace.git_dir or "")
    assert not [name for name in os.listdir(world.repo.common_dir) if name.startswith("headcount.removed")]
    return answer


def test_spotless_workspace_is_removed_and_its_branch_kept(world: World) -> None:
    alice = world.member()
    (Path(alice.path) / "a.txt").write_text("work\n")
    git(alice.path, "commit", "-qam", "work")
    assert removed(world, alice) == Removed(alice.path)
    assert git(world.top, "show", "headcount/t/alice:a.txt") == "work"
    assert alice.path not in git(world.top, "worktree", "list")


def test_C2_unsaved_work_is_never_removed_and_saved_work_is(world: World) -> None:
    alice = world.member()
    (Path(alice.path) / "new.txt").write_text("new\n")
    assert "new.txt" in refused(world, alice)
    saved = world.salvage(alice)
    assert removed(world, alice).salvage == saved.ref


def test_C22_findings_are_read_again_at_the_moment_of_removal(world: World) -> None:
    alice = world.member()
    assert world.findings(alice).spotless
    (Path(alice.path) / "late.txt").write_text("late\n")
    assert "late.txt" in refused(world, alice)


def test_what_changed_after_the_salvage_is_not_removed(world: World) -> None:
    alice = world.member()
    (Path(alice.path) / "new.txt").write_text("new\n")
    world.salvage(alice)
    (Path(alice.path) / "new.txt").write_text("newer\n")
    assert "files/new.txt differs" in refused(world, alice)
    second = world.salvage(alice)
    assert removed(world, alice).salvage == second.ref


def test_ignored_files_alone_have_to_be_saved_first(world: World) -> None:
    alice = world.member()
    (Path(alice.path) / "secrets.log").write_text("only here\n")
    assert "secrets.log" in refused(world, alice)
    saved = world.salvage(alice)
    assert removed(world, alice).salvage == saved.ref
    assert git(world.top, "show", f"{saved.ref}:files/secrets.log") == "only here"


def test_workspace_with_something_over_the_limit_is_kept(world: World) -> None:
    alice = world.member()
    (Path(alice.path) / "huge.bin").write_bytes(os.urandom(2 << 20))
    world.salvage(alice, max_mb=1)
    why = refused(world, alice)
    assert why.startswith("refs/headcount/salvage/t/alice/1 does not hold huge.bin (2.0 MB): over the limit")
    assert f"`headcount sweep --discard {alice.path}/huge.bin`" in why
    assert "raise salvage_max_mb to 4 in headcount.toml" in why


def test_C20_broken_salvage_blocks_the_removal(world: World) -> None:
    alice = world.member()
    (Path(alice.path) / "new.txt").write_text("new\n")
    saved = world.salvage(alice)
    loosen(world, saved)
    oid = git(world.top, "rev-parse", f"{saved.ref}:files/new.txt")
    os.unlink(Path(world.repo.common_dir) / "objects" / oid[:2] / oid[2:])
    assert oid in refused(world, alice)


def test_C14_nothing_is_removed_while_a_process_is_alive_or_stands_in_it(world: World) -> None:
    alice = world.member()
    assert "4711 is alive" in refused(world, alice, alive=("4711",))
    (Path(alice.path) / "src").mkdir(exist_ok=True)
    code = "import sys; print('here', flush=True); sys.stdin.read()"
    shell = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=Path(alice.path) / "src",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert shell.stdout and shell.stdout.readline() == b"here\n"
    try:
        assert f"process {shell.pid}" in refused(world, alice)
    finally:
        shell.communicate(timeout=60)
    removed(world, alice)


def test_I10_what_is_mounted_in_a_workspace_is_not_deleted_through_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the kernel tells of it; to mount something takes rights that a test may not have."""
    alice = world.member()
    place = f"{alice.path}/their data"
    told = f"{alice.path}/their\\040data"
    line = f"511 29 254:0 /home/theirs {told} rw,relatime shared:1 - ext4 /dev/vda rw"
    monkeypatch.setattr(gate, "_read_mounts", lambda: [line.encode()])

    assert f"{place} is mounted in it" in refused(world, alice)


@pytest.mark.parametrize("change", [{"member": "alic"}, {"team": "t2"}, {"generation": 0}])
def test_proof_about_somebody_else_is_no_proof(world: World, change: dict[str, object]) -> None:
    assert "the proof is about" in refused(world, world.member(), **change)


def test_C10_only_what_was_recorded_is_removed(world: World) -> None:
    alice, other = world.member(), world.member("alice-2")
    assert "not the workspace that was recorded" in refused(world, replace(alice, path=other.path))
    assert "not the workspace that was recorded" in refused(world, replace(alice, base="0" * 40))
    git(world.top, "worktree", "add", "-q", str(world.top.parent / "users"), "-b", "users")
    users = replace(alice, path=str(world.top.parent / "users"))
    assert "not the workspace that was recorded" in refused(world, users)
    removed(world, alice)
    assert os.path.isdir(other.path) and (world.top.parent / "users" / "a.txt").exists()


def test_worktree_that_somebody_else_locked_is_kept(world: World) -> None:
    alice = world.member()
    git(world.top, "worktree", "unlock", alice.path)
    git(world.top, "worktree", "lock", "--reason", "I need this", alice.path)
    assert "I need this" in refused(world, alice)


def test_branch_is_deleted_only_as_an_ancestor_of_the_integration_branch(world: World) -> None:
    integration = Integration.create(world.repo, "t")
    for name, squash, deleted in (
        ("alice", False, "headcount/t/alice"),
        ("bob", True, None),
        ("carol", None, None),
    ):
        member = world.member(name)
        (Path(member.path) / f"{name}.txt").write_text("work\n")
        git(member.path, "add", ".")
        git(member.path, "commit", "-qm", "work")
        tip = git(member.path, "rev-parse", "HEAD")
        if squash is False:
            integration.merge(tip)
        elif squash:
            git(world.top, "checkout", "-q", integration.branch)
            git(world.top, "merge", "-q", "--squash", tip)
            git(world.top, "commit", "-qm", "squashed")
            git(world.top, "checkout", "-q", "main")
        answer = removed(world, member, integration=integration.branch)
        assert answer.branch_deleted == deleted
        assert (world.repo.commit(f"refs/heads/headcount/t/{name}") is None) is bool(deleted)
        assert world.repo.git.run("cat-file", "-e", tip).code == 0


def branches(world: World) -> list[str]:
    return git(world.top, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads").split("\n")


def test_F73_a_branch_without_a_commit_of_its_own_goes_with_its_workspace(world: World) -> None:
    alice, bob = world.member(), world.member("bob")
    (Path(bob.path) / "bob.txt").write_text("work\n")
    git(bob.path, "add", ".")
    git(bob.path, "commit", "-qm", "work")
    assert removed(world, alice).branch_deleted == "headcount/t/alice"
    assert removed(world, bob).branch_deleted is None
    assert branches(world) == ["headcount/t/bob", "main"]


def test_F74_an_empty_branch_stays_while_it_alone_holds_its_commit(world: World) -> None:
    """The user amends what members began at. Of two branches there, one goes; each alone would lose it."""
    alice, bob = world.member(), world.member("bob")
    began = git(world.top, "rev-parse", "main")
    git(world.top, "commit", "-q", "--amend", "-m", "another first")
    assert removed(world, alice).branch_deleted == "headcount/t/alice"
    assert removed(world, bob).branch_deleted is None
    assert git(world.top, "rev-parse", "headcount/t/bob") == began


def test_a_detached_head_of_the_user_holds_what_members_began_at(world: World) -> None:
    git(world.top, "checkout", "-q", "--detach")
    git(world.top, "branch", "-D", "main")
    assert removed(world, world.member()).branch_deleted == "headcount/t/alice"
    assert branches(world) == [""]


def test_an_empty_branch_that_a_stash_or_a_worktree_uses_stays(world: World) -> None:
    """The next branch of that name would take over the stash."""
    alice, bob = world.member(), world.member("bob")
    (Path(alice.path) / "a.txt").write_text("stashed\n")
    git(alice.path, "stash")
    world.salvage(alice)
    assert removed(world, alice).branch_deleted is None
    git(bob.path, "checkout", "-q", "--detach")
    git(world.top, "worktree", "add", "-q", str(world.top.parent / "users"), "headcount/t/bob")
    assert removed(world, bob).branch_deleted is None
    assert branches(world) == ["headcount/t/alice", "headcount/t/bob", "main"]


def test_a_branch_is_not_deleted_when_it_or_its_holder_moves_at_that_moment(world: World) -> None:
    git(world.top, "branch", "lone")
    main, lone = (git(world.top, "rev-parse", name) for name in ("main", "lone"))
    git(world.top, "commit", "-q", "--allow-empty", "-m", "second")
    assert not delete_held(world.repo, "lone", lone, Ref("refs/heads/main", main))
    moved = git(world.top, "rev-parse", "main")
    assert not delete_held(world.repo, "lone", moved, Ref("refs/heads/main", moved))
    assert delete_held(world.repo, "lone", lone, Ref("refs/heads/main", moved))
    assert branches(world) == ["main"]


def test_a_branch_that_became_a_name_for_the_users_is_not_the_users_that_is_deleted(world: World) -> None:
    alice = world.member()
    git(world.top, "checkout", "-q", "-b", "elsewhere")
    git(alice.path, "checkout", "-q", "--detach")
    git(alice.path, "symbolic-ref", f"refs/heads/{alice.branch}", "refs/heads/main")
    stood = git(world.top, "rev-parse", "main")

    removed(world, alice, integration="main")

    assert world.repo.commit("refs/heads/main") == stood


def test_removal_that_was_cut_off_goes_on(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    alice = world.member()
    (Path(alice.path) / "new.txt").write_text("new\n")
    saved = world.salvage(alice)
    calls: list[str] = []
    real = os.unlink

    def power_cut(path: bytes, *args: object, **options: object) -> None:
        if str(path).find("worktrees") >= 0 and len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(str(path))
        real(path)

    with monkeypatch.context() as cut:
        cut.setattr(os, "unlink", power_cut)
        with pytest.raises(KeyboardInterrupt):
            remove(world.repo, alice, gone(alice))
    assert os.path.isdir(alice.path)
    assert removed(world, alice).salvage == saved.ref
    assert removed(world, alice) == Removed(alice.path)


def test_what_appears_during_a_removal_stays(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    alice = world.member()
    real = os.unlink

    def somebody_writes(path: bytes, *args: object, **options: object) -> None:
        (Path(alice.path) / "src" / "late.txt").write_text("late\n")
        real(path)

    with monkeypatch.context() as racing:
        racing.setattr(os, "unlink", somebody_writes)
        assert "src" in refused(world, alice)
    assert (Path(alice.path) / "src" / "late.txt").read_text() == "late\n"
    assert "late.txt" in refused(world, alice) or "src" in refused(world, alice)


def test_user_stashes_and_branches_survive_every_removal(world: World) -> None:
    (world.top / "a.txt").write_text("the user's\n")
    git(world.top, "stash")
    git(world.top, "branch", "headcount-like")
    before = git(
        world.top, "for-each-ref", "--exclude=x", "refs/stash", "refs/heads/headcount-like", ok=False
    )
    alice = world.member()
    (Path(alice.path) / "b.txt").write_text("stashed\n")
    git(alice.path, "stash")
    world.salvage(alice)
    removed(world, alice)
    assert (
        git(world.top, "for-each-ref", "--exclude=x", "refs/stash", "refs/heads/headcount-like", ok=False)
        == before
    )
    assert len(git(world.top, "stash", "list").split("\n")) == 2


def test_workspace_whose_directory_the_member_deleted_is_closed_after_a_salvage(world: World) -> None:
    alice = world.member()
    (Path(alice.path) / "a.txt").write_text("staged\n")
    git(alice.path, "add", "a.txt")
    for path in sorted(Path(alice.path).rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    os.rmdir(alice.path)
    answer = remove(world.repo, alice, gone(alice))
    assert isinstance(answer, Refused)
    saved = world.salvage(alice)
    assert git(world.top, "show", f"{saved.ref}:index/0/a.txt") == "staged"
    assert removed(world, alice).salvage == saved.ref


def test_a_workspace_that_was_moved_behind_a_link_is_not_removed_through_it(world: World) -> None:
    alice = world.member()
    elsewhere = world.top / "elsewhere"
    os.rename(alice.path, elsewhere)
    os.symlink(elsewhere, alice.path)
    assert "leads somewhere else" in refused(world, alice)
    assert (elsewhere / "a.txt").exists()
