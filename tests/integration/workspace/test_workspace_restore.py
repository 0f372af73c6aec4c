"""Getting it back: as it was, and beside whoever is there."""

from __future__ import annotations

import os
import re
import stat
import sys
from pathlib import Path

import pytest
from gitworld import World, git, work

from headcount.errors import HeadcountError, UsageError
from headcount.workspace.restore import restore
from headcount.workspace.verify import verify


def test_restore_refuses_a_target_that_is_not_empty(world: World, tmp_path: Path) -> None:
    _, saved = work(world)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine\n")
    with pytest.raises(UsageError):
        restore(world.repo, saved.ref, str(tmp_path / "full"))
    with pytest.raises(UsageError):
        restore(world.repo, saved.ref, str(tmp_path / "full" / "mine"))
    assert os.listdir(tmp_path / "full") == ["mine"]
    (tmp_path / "void").mkdir()
    assert restore(world.repo, saved.ref, str(tmp_path / "void")).path


def test_files_whose_names_begin_with_git_are_not_called_a_repository(world: World, tmp_path: Path) -> None:
    alice = world.member()
    for name in (".gitignore", ".gitmodules"):
        (Path(alice.path) / name).write_text("# nothing\n")
    restored = restore(world.repo, world.salvage(alice).ref, str(tmp_path / "back"))
    assert not any(".git.salvaged" in note for note in restored.notes)


def test_restore_beside_the_living_moves_no_branch_and_doubles_no_stash(world: World, tmp_path: Path) -> None:
    alice = world.member()
    (Path(alice.path) / "a.txt").write_text("stashed\n")
    git(alice.path, "stash")
    (Path(alice.path) / "new.txt").write_text("new\n")
    saved = world.salvage(alice)
    before = git(world.top, "stash", "list", "--format=%H")
    (Path(alice.path) / "a.txt").write_text("later\n")
    git(alice.path, "commit", "-qam", "later")
    tip = git(alice.path, "rev-parse", "HEAD")
    restored = restore(world.repo, saved.ref, str(tmp_path / "back"))
    assert restored.branch == "headcount/t/alice.2"
    assert any("headcount/t/alice.2" in text for text in restored.notes)
    assert git(world.top, "rev-parse", "headcount/t/alice") == tip
    assert git(world.top, "stash", "list", "--format=%H") == before
    assert git(restored.path, "rev-parse", "HEAD") == alice.base


@pytest.mark.parametrize("name", ["alice-again", "zoe"])
def test_no_branch_is_ever_checked_out_twice_whatever_the_new_directory_is_called(
    name: str, world: World, tmp_path: Path
) -> None:
    """git lists a worktree by its directory's name: the new one may come before or after the one in use."""
    alice = world.member()
    (Path(alice.path) / "new.txt").write_text("new\n")
    saved = world.salvage(alice)
    restored = restore(world.repo, saved.ref, str(tmp_path / name))
    assert (restored.branch, alice.branch) == ("headcount/t/alice.2", "headcount/t/alice")
    stand_on = re.findall(r"^branch (.+)$", git(world.top, "worktree", "list", "--porcelain"), re.M)
    assert len(stand_on) == len(set(stand_on)) == 3


def test_restore_that_fails_leaves_nothing_behind(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, saved = work(world)
    known = git(world.top, "worktree", "list")

    def disk_full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys.modules[restore.__module__], "write_leaf", disk_full)
    with pytest.raises((OSError, HeadcountError)):
        restore(world.repo, saved.ref, str(tmp_path / "back"))
    assert not (tmp_path / "back").exists()
    assert git(world.top, "worktree", "list") == known


def test_modes_and_read_only_places_are_restored(world: World, tmp_path: Path) -> None:
    alice = world.member()
    root = Path(alice.path)
    (root / "secret").write_text("s\n")
    (root / "secret").chmod(0o600)
    (root / "locked").mkdir()
    (root / "locked" / "inside").write_text("i\n")
    (root / "locked" / "inside").chmod(0o444)
    (root / "locked").chmod(0o555)
    saved = world.salvage(alice)
    back = Path(restore(world.repo, saved.ref, str(tmp_path / "back")).path)
    for name, mode in (("secret", 0o600), ("locked", 0o555), ("locked/inside", 0o444), ("src/run.sh", 0o755)):
        assert stat.S_IMODE((back / name).stat().st_mode) == mode, name


def test_unknown_salvage_is_a_usage_error(world: World) -> None:
    for ref in ("refs/headcount/salvage/t/nobody/1", "refs/heads/main", "HEAD"):
        with pytest.raises(UsageError):
            verify(world.repo, ref)


@pytest.mark.parametrize("leads_to", ["nowhere", ".", "file"])
def test_a_link_in_the_place_of_a_repository_is_restored_as_it_was(
    world: World, tmp_path: Path, leads_to: str
) -> None:
    alice = world.member()
    inner = Path(alice.path) / "inner"
    inner.mkdir()
    (inner / "file").write_text(f"gitdir: {alice.git_dir}\n")
    (inner / ".git").symlink_to(leads_to)
    saved = world.salvage(alice)
    back = Path(restore(world.repo, saved.ref, str(tmp_path / "back")).path)
    assert os.readlink(back / "inner" / ".git") == leads_to
    assert (back / "inner" / "file").read_text() == f"gitdir: {alice.git_dir}\n"


def test_a_submodule_whose_settings_are_broken_is_restored_so(world: World, tmp_path: Path) -> None:
    alice = world.member()
    module = Path(alice.git_dir or "", "modules", "sub")
    module.mkdir(parents=True)
    (module / "config").write_text("[core\nbroken")
    (Path(alice.path) / "new.txt").write_text("new\n")
    saved = world.salvage(alice)
    back = restore(world.repo, saved.ref, str(tmp_path / "back")).path
    git_dir = world.repo.find_git_dir(back)
    assert Path(git_dir or "", "modules", "sub", "config").read_text() == "[core\nbroken"


@pytest.mark.parametrize("own", [True, False])
def test_settings_that_git_copies_from_the_main_worktree_are_replaced_by_those_that_were_saved(
    own: bool, world: World, tmp_path: Path
) -> None:
    """`git worktree add` copies them; a member that sets up a sparse checkout makes git write the first."""
    git(world.top, "config", "extensions.worktreeConfig", "true")
    alice = world.member()
    git(world.top, "sparse-checkout", "set", "of-the-user")
    (Path(alice.path) / "new.txt").write_text("new\n")
    if own:
        git(alice.path, "config", "--worktree", "core.ignoreCase", "true")
    saved = world.salvage(alice)
    restored = restore(world.repo, saved.ref, str(tmp_path / "back"))
    git_dir = Path(git(restored.path, "rev-parse", "--absolute-git-dir"))
    settings = git_dir / "config.worktree"
    assert settings.exists() == own
    assert not own or settings.read_bytes() == (Path(alice.git_dir or "") / "config.worktree").read_bytes()
    assert not (git_dir / "info" / "sparse-checkout").exists()
    assert git(restored.path, "status", "--porcelain") == "?? new.txt"
