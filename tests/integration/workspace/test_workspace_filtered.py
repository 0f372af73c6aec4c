"""What a clean filter keeps from git stands in the workspace alone: it is found, and saved."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from gitworld import World, git, gone

from headcount.workspace import Refused, Removed, read_saved, remove
from headcount.workspace.picture import FILES

CODE, OUTPUT = "code\n", "OUT hours of computing\n"


@pytest.fixture
def notebooks(world: World) -> World:
    (world.top / ".gitattributes").write_text("*.nb filter=strip\n*.secret filter=turn\n*.no filter=unset\n")
    (world.top / "first.nb").write_text(CODE)
    git(world.top, "config", "filter.strip.clean", "grep -v ^OUT")
    git(world.top, "config", "filter.turn.clean", "tr a-z n-za-m")
    git(world.top, "config", "filter.turn.smudge", "tr a-z n-za-m")
    git(world.top, "add", ".")
    git(world.top, "commit", "-qm", "notebooks")
    return world


def make_newer(path: Path, than: Path) -> None:
    """The clock of a file system goes by some milliseconds at a time."""
    while path.stat().st_ctime_ns <= than.stat().st_ctime_ns:
        os.utime(path)


@pytest.mark.parametrize("name", ["first.nb", "new.nb", "odd\nname.nb"])
def test_C2_what_a_filter_dropped_is_not_lost_with_the_workspace(notebooks: World, name: str) -> None:
    member = notebooks.member()
    (Path(member.path) / name).write_text(CODE + OUTPUT)
    git(member.path, "add", ".")
    git(member.path, "commit", "-q", "--allow-empty", "-m", "ran it")

    findings = notebooks.findings(member)
    assert git(member.path, "status", "--short") == ""
    assert [item.kind for item in findings.items] == ["filtered"]
    assert findings.clean, "nothing that a member could commit"
    assert isinstance(remove(notebooks.repo, member, gone(member)), Refused)

    saved = read_saved(notebooks.repo, notebooks.salvage(member).ref)
    leaf = saved.leaves[FILES + name.encode()]
    assert git(notebooks.top, "cat-file", "-p", leaf.oid) == (CODE + OUTPUT).strip()
    assert isinstance(remove(notebooks.repo, member, gone(member)), Removed)


def test_what_a_filter_dropped_is_found_though_the_clock_was_set_back_since(notebooks: World) -> None:
    member = notebooks.member()
    (Path(member.path) / "first.nb").write_text(CODE + OUTPUT)
    git(member.path, "add", ".")
    for name in ("commondir", "headcount.json"):  # as if it had been made after the work in it
        make_newer(Path(f"{member.git_dir}/{name}"), than=Path(f"{member.git_dir}/index"))

    assert notebooks.kinds(member) == {"filtered"}


def test_what_a_filter_brings_back_is_not_saved_a_second_time(notebooks: World) -> None:
    member = notebooks.member()
    (Path(member.path) / "a.secret").write_text("attack at dawn\n")
    (Path(member.path) / "a.nb").write_text(CODE)
    (Path(member.path) / "a.no").write_text(CODE)
    git(member.path, "add", ".")
    git(member.path, "commit", "-qm", "kept as it is")

    assert notebooks.findings(member).spotless


def test_a_filter_that_fails_brings_nothing_back(notebooks: World) -> None:
    member = notebooks.member()
    (Path(member.path) / "a.secret").write_text("attack at dawn\n")
    git(member.path, "add", ".")
    git(member.path, "commit", "-qm", "kept as it is")
    git(notebooks.top, "config", "filter.turn.smudge", "false")
    git(notebooks.top, "config", "filter.turn.required", "true")

    assert notebooks.kinds(member) == {"filtered"}


def test_a_filter_is_not_asked_about_what_nobody_touched(notebooks: World, tmp_path: Path) -> None:
    member = notebooks.member()
    (Path(member.path) / "other.txt").write_text("new\n")
    git(member.path, "add", ".")
    git(member.path, "commit", "-qm", "something else")
    git(notebooks.top, "config", "filter.strip.smudge", f"touch {tmp_path}/asked; cat")

    assert notebooks.findings(member).spotless
    assert not (tmp_path / "asked").exists()
