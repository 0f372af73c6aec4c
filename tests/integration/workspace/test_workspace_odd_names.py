"""Attacks by names: of branches, of files, and of paths that a command was given (F142 to F146)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from gitworld import World, git, gone

from headcount.domain.findings import Workspace
from headcount.domain.policy import PRIVATE, Policy
from headcount.errors import UsageError
from headcount.tree_removal import remove_tree
from headcount.workspace.checkpoint_restore import restore_in_place, restore_to
from headcount.workspace.checkpoints import Checkpoints
from headcount.workspace.engine_checkpoints import EngineCheckpoints
from headcount.workspace.left_branches import find_holders
from headcount.workspace.path_patterns import PathPatterns
from headcount.workspace.remove import Refused, Removed, remove
from headcount.workspace.restore import restore
from headcount.workspace.saving_rules import SavingRules

EVERYTHING = SavingRules(PathPatterns(PRIVATE), PathPatterns(("*", "**/*", "/", "!no")), known=True)


def test_F142_a_branch_with_a_line_separator_in_its_name_does_not_stop_a_removal(world: World) -> None:
    """git allows U+2028, U+0085 and their like in names of refs; Python takes them for ends of lines."""
    odd = ["a\u2028b", "a\u0085b", "a\u2029b"]
    for name in odd:
        git(world.top, "branch", name)
        git(world.top, "tag", f"tag-{name}")
    holders = {ref.name for ref in find_holders(world.repo, git(world.top, "rev-parse", "HEAD"))}
    assert {f"refs/heads/{name}" for name in odd} <= holders
    member = world.member()
    removed = remove(world.repo, member, gone(member))
    assert isinstance(removed, Removed) and removed.branch_deleted == member.branch


@pytest.mark.parametrize("untrack", [("rm", "-r", "-q", "--cached", "."), ("read-tree", "--empty"), ()])
def test_F143_no_pattern_skips_a_file_that_head_has_and_the_index_lost(
    world: World, untrack: tuple[str, ...]
) -> None:
    (world.top / ".gitignore").write_text("node_modules/\nout/\n")
    (world.top / "package.json").write_text("{}\n")
    for place in ("node_modules", "out"):
        (world.top / place).mkdir()
        (world.top / place / "patched.js").write_text("first\n")
    git(world.top, "add", "--force", ".")
    git(world.top, "commit", "-qm", "with a patched package")
    member = world.member()
    for place in ("node_modules", "out"):
        (Path(member.path) / place / "patched.js").write_text("WORK\n")
        (Path(member.path) / place / "built.js").write_text("built\n")
    if untrack:
        git(member.path, *untrack)
    else:
        os.unlink(f"{member.git_dir}/index")

    saved = world.salvage(member, rules=EVERYTHING)
    listed = set(git(world.top, "ls-tree", "-r", "--name-only", saved.ref).split("\n"))
    assert {"files/node_modules/patched.js", "files/out/patched.js"} <= listed
    assert "files/out/built.js" not in listed
    assert {one.path: one.files for one in world.findings(member, rules=EVERYTHING).skipped} == {
        one.path: one.files for one in saved.skipped
    }
    target = world.top.parent / "back"
    restore(world.repo, saved.ref, str(target))
    assert (target / "out/patched.js").read_text() == "WORK\n"


def take(world: World, member: Workspace) -> Checkpoints:
    EngineCheckpoints(world.repo, f"{world.top}/.headcount").take(member, Policy(), {}, "timer", 60.0)
    store = Checkpoints(world.repo, member, f"{world.top}/.headcount/checkpoints")
    assert not store.failure
    return store


ODD_FILES = (
    b"-rf", b"a\nb", b"a\xe2\x80\xa8b", b"\xff\xfe", b":(glob)*", b"a\\b", b'"quoted"', b" ", b"~", b"*",
    b"d/.headcount-new0", b"COM1", b"e\xcc\x81",
)  # fmt: skip


def test_F144_files_with_odd_names_come_back_from_a_checkpoint_one_by_one(world: World) -> None:
    member = world.member()
    top = os.fsencode(member.path)
    os.mkdir(top + b"/d")
    for name in ODD_FILES:
        with open(top + b"/" + name, "wb") as file:
            file.write(b"first " + name)
    store = take(world, member)
    for name in ODD_FILES:
        with open(top + b"/" + name, "wb") as file:
            file.write(b"second")
    before = take(world, member).points()[-1]
    missed = []
    for name in ODD_FILES:
        restored = restore_in_place(store, store.points()[0], before, [os.fsdecode(name)])
        with open(top + b"/" + name, "rb") as file:
            missed += [name] if file.read() != b"first " + name or restored.files != 1 else []
    assert missed == []


def test_F144_a_path_that_is_empty_or_leads_elsewhere_restores_nothing(world: World) -> None:
    member = world.member()
    (Path(member.path) / "new.txt").write_text("new\n")
    store = take(world, member)
    for path in ("", "/", "..", "../alice", "d/../..", "d//x/", "/dev/null"):
        with pytest.raises(UsageError):
            restore_to(store, store.points()[0], str(world.top.parent / "all"), [path])
    assert restore_to(store, store.points()[0], str(world.top.parent / "all"), ["./"]).files > 0


def test_F144_a_checkpoint_names_a_file_whose_name_git_does_not_take(world: World) -> None:
    member = world.member()
    (Path(member.path) / "d").mkdir()
    (Path(member.path) / "d/.Git").write_text("work\n")
    (Path(member.path) / "new.txt").write_text("new\n")
    assert take(world, member).points()[-1].left_out == ("d/.Git",)


def nest(place: str, levels: int) -> None:
    """Directories in each other, made as a member can make them: step by step."""
    above = os.open(place, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=above)
        inner = os.open("d", os.O_RDONLY, dir_fd=above)
        os.close(above)
        above = inner
    os.close(above)


def test_F146_a_git_directory_that_is_nested_too_deeply_is_unreadable_and_stays(world: World) -> None:
    member = world.member()
    place = Path(member.git_dir or "", "logs")
    nest(str(place), 1100)
    try:
        assert "unreadable" in world.kinds(member)
        world.salvage(member)
        assert isinstance(remove(world.repo, member, gone(member)), Refused)
        assert not take(world, member).failure
    finally:
        remove_tree(f"{place}/d")
