"""What a clean filter keeps from git stands in the workspace alone: it is found, and saved."""

from __future__ import annotations

from pathlib import Path

import pytest
from gitworld import World, git, gone

from headcount.workspace.remove import Refused, Removed, remove
from headcount.workspace.snapshot import FILES
from headcount.workspace.verify import read_saved

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


def test_a_file_that_a_filter_left_as_it_is_is_not_saved_a_second_time(notebooks: World) -> None:
    member = notebooks.member()
    (Path(member.path) / "a.nb").write_text(CODE)
    (Path(member.path) / "a.no").write_text(CODE)
    git(member.path, "add", ".")
    git(member.path, "commit", "-qm", "kept as it is")

    assert notebooks.findings(member).spotless


def test_a_filter_is_not_trusted_to_bring_back_what_it_changed(notebooks: World) -> None:
    """The filter of today may be another one tomorrow, or be missing."""
    member = notebooks.member()
    (Path(member.path) / "a.secret").write_text("attack at dawn\n")
    git(member.path, "add", ".")
    git(member.path, "commit", "-qm", "kept in another form")

    assert notebooks.kinds(member) == {"filtered"}


def test_a_filter_is_not_asked_about_what_nobody_touched(notebooks: World, tmp_path: Path) -> None:
    member = notebooks.member()
    (Path(member.path) / "other.txt").write_text("new\n")
    git(member.path, "add", ".")
    git(member.path, "commit", "-qm", "something else")
    git(notebooks.top, "config", "filter.strip.smudge", f"touch {tmp_path}/asked; cat")

    assert notebooks.findings(member).spotless
    assert not (tmp_path / "asked").exists()
