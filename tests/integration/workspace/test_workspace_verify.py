"""Reading back: every difference between the ref and the disk is found."""

from __future__ import annotations

from pathlib import Path

import pytest
from gitworld import World, git, loosen, work

from headcount.errors import GitError
from headcount.workspace.verify import verify


def test_verify_finds_every_difference_from_the_disk(world: World) -> None:
    alice = world.member()
    root = Path(alice.path)
    (root / "new.txt").write_text("new\n")
    (root / "link").symlink_to("a.txt")
    saved = world.salvage(alice)
    assert verify(world.repo, saved.ref, alice).ok

    def problems() -> tuple[str, ...]:
        return verify(world.repo, saved.ref, alice).problems

    (root / "new.txt").write_text("other\n")
    assert problems() == ("files/new.txt differs",)
    (root / "new.txt").write_text("new\n")
    (root / "new.txt").chmod(0o600)
    assert problems() == ("odd_modes differs",)
    (root / "new.txt").chmod(0o644)
    (root / "link").unlink()
    (root / "link").symlink_to("b.txt")
    assert problems() == ("files/link differs",)
    (root / "link").unlink()
    (root / "link").symlink_to("a.txt")
    (root / "empty").mkdir()
    assert problems() == ("empty_directories differs",)
    (root / "empty").rmdir()
    assert problems() == ()
    git(root, "add", "new.txt")
    assert problems() == ("gitdir/index differs",)
    git(root, "branch", "-m", "renamed")
    assert any("branches" in problem for problem in problems())


def test_verify_without_the_workspace_finds_a_broken_and_a_missing_object(world: World) -> None:
    _, saved = work(world)
    loosen(world, saved)
    assert verify(world.repo, saved.ref).ok, "salvages of older versions are loose"
    oid = git(world.top, "rev-parse", f"{saved.ref}:files/new.txt")
    loose = Path(world.repo.common_dir) / "objects" / oid[:2] / oid[2:]
    whole = loose.read_bytes()
    loose.chmod(0o644)
    other = git(world.top, "rev-parse", f"{saved.ref}:files/a.txt")
    loose.write_bytes((loose.parent.parent / other[:2] / other[2:]).read_bytes())
    assert any(oid in problem for problem in verify(world.repo, saved.ref).problems)
    loose.unlink()
    assert any(oid in problem for problem in verify(world.repo, saved.ref).problems)
    loose.write_bytes(whole)
    assert verify(world.repo, saved.ref).ok


def test_a_replaced_object_does_not_deceive_the_read_back(world: World) -> None:
    alice = world.member()
    (Path(alice.path) / "new.txt").write_text("new\n")
    one, two = (git(world.top, "hash-object", "-w", str(world.top / name)) for name in ("a.txt", "b.txt"))
    git(world.top, "replace", one, two)
    saved = world.salvage(alice)
    assert verify(world.repo, saved.ref, alice).ok
    with pytest.raises(GitError):
        world.repo.create_ref("refs/headcount/salvage/t/alice/1/2", saved.commit, "cannot stand beside …/1")
