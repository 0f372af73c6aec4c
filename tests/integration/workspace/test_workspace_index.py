"""What we read of git's index is what git says of it, or we say that we do not know."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from gitworld import World, git

from headcount.workspace.git import Git
from headcount.workspace.git_state import Entry, ask_git, read_plain


def by_git(top: Path) -> set[Entry]:
    entries = ask_git(Git(str(top / ".git"), str(top), str(top)))
    return {
        entry for entry in entries if entry.assume_unchanged or entry.skip_worktree or entry.mode == 0o160000
    }


def ours(top: Path) -> set[Entry] | None:
    entries = read_plain(str(top / ".git" / "index"))
    if entries is None:
        return None
    return {
        entry for entry in entries if entry.assume_unchanged or entry.skip_worktree or entry.mode == 0o160000
    }


@pytest.fixture(params=["sha1", "sha256"])
def top(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Files of many name lengths, a submodule, names longer than the index can count, odd bytes."""
    top = tmp_path / "indexed"
    top.mkdir()
    git(top, "init", "-q", "--object-format", request.param)
    for n in range(1, 60):
        (top / ("f" * n)).write_text(f"{n}\n")
    deep = top.joinpath(*["d" * 200] * 4)
    deep.mkdir(parents=True)
    (deep / "deep").write_text("deep\n")
    (top / "line\nbreak").write_text("odd\n")
    git(top, "add", ".")
    git(top, "commit", "-qm", "first")
    zero = "1" * (40 if request.param == "sha1" else 64)
    git(top, "update-index", "--add", "--cacheinfo", f"160000,{zero},module")
    return top


def test_flags_and_submodules_are_read_as_git_tells_them(top: Path) -> None:
    names = git(top, "ls-files", "-z").split("\0")[:-1]
    for seed in range(8):
        chosen = random.Random(seed).sample(names, 12)
        for name, flag in zip(chosen, ["--assume-unchanged", "--skip-worktree"] * 6, strict=True):
            git(top, "update-index", flag, "--", name)
        assert ours(top) == by_git(top) != set()
        for flag in ("--no-assume-unchanged", "--no-skip-worktree"):
            git(top, "update-index", flag, "--", *chosen)
    assert ours(top) == by_git(top)
    assert [entry.path for entry in ours(top) or ()] == [b"module"]


def test_an_intent_to_add_and_a_conflict_are_not_taken_for_hidden(world: World) -> None:
    (world.top / "planned").write_text("planned\n")
    git(world.top, "add", "--intent-to-add", "planned")
    git(world.top, "checkout", "-q", "-b", "other")
    assert ours(world.top) == by_git(world.top) == set()


@pytest.mark.parametrize("how", ["version 4", "split", "sparse", "torn", "without checksum"])
def test_of_what_is_not_plain_it_is_said_that_it_is_not_known(world: World, how: str) -> None:
    index = world.top / ".git" / "index"
    if how == "version 4":
        git(world.top, "update-index", "--index-version", "4")
    elif how == "split":
        git(world.top, "update-index", "--split-index")
    elif how == "sparse":
        git(world.top, "sparse-checkout", "set", "--cone", "--sparse-index", "nothing")
    elif how == "torn":
        index.write_bytes(index.read_bytes()[:-30])
    else:
        index.write_bytes(index.read_bytes()[:-20] + bytes(20))
    assert ours(world.top) is None


def test_no_index_holds_nothing(tmp_path: Path) -> None:
    assert read_plain(str(tmp_path / "index")) == []


@pytest.mark.parametrize("version", ["2", "4"])
def test_a_hidden_change_is_found_in_every_format_of_the_index(world: World, version: str) -> None:
    alice = world.member()
    git(alice.path, "update-index", "--index-version", version)
    git(alice.path, "update-index", "--assume-unchanged", "a.txt")
    git(alice.path, "update-index", "--skip-worktree", "b.txt")
    (Path(alice.path) / "a.txt").write_text("hidden\n")
    (Path(alice.path) / "b.txt").write_text("hidden\n")
    assert world.kinds(alice) == {"hidden"}


def test_a_damaged_index_is_unreadable_and_not_clean(world: World) -> None:
    alice = world.member()
    index = Path(alice.git_dir or "") / "index"
    index.write_bytes(index.read_bytes()[:50])
    assert not world.findings(alice).clean
