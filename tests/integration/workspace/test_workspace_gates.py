"""Checkouts of gates, and what a killed engine leaves of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from gitworld import World, git

from headcount.workspace import git_settings
from headcount.workspace.git_workspaces import EngineWorkspaces
from headcount.workspace.integration import find_left, make_checkout, remove_left

_DIES = """\
import os, signal, sys
from headcount.workspace.integration import make_checkout
from headcount.workspace.repository import Repository
with make_checkout(Repository.open(sys.argv[1]), sys.argv[2], "main") as place:
    print(place, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def listed(world: World) -> list[str]:
    lines = git(world.top, "worktree", "list", "--porcelain").splitlines()
    return [line.removeprefix("worktree ") for line in lines if line.startswith("worktree ")]


def test_F52_checkout_of_a_gate_whose_engine_was_killed_is_removed(world: World, tmp_path: Path) -> None:
    records = str(tmp_path / "gates")
    before = listed(world)
    call = [sys.executable, "-c", _DIES, str(world.top), records]
    place = subprocess.run(call, capture_output=True, text=True, check=False).stdout.strip()
    assert place in listed(world)
    with make_checkout(world.repo, records, "main") as living:
        assert find_left(records) == [os.path.dirname(place)]
        assert remove_left(world.repo, records) == [os.path.dirname(place)]
        assert os.path.isdir(living)
        assert listed(world) == [*before, living]
    assert not os.path.exists(os.path.dirname(place))
    assert listed(world) == before
    assert os.listdir(records) == []


def test_F52_a_forged_record_removes_nothing(world: World, tmp_path: Path) -> None:
    precious = tmp_path / "headcount-gate-precious"
    precious.mkdir()
    records = tmp_path / "gates"
    records.mkdir()
    (records / f"{'0' * 16}.lock").write_text(str(precious))
    assert remove_left(world.repo, str(records)) == []
    assert precious.is_dir()


def test_what_is_on_the_branch_is_there_and_goes(world: World, tmp_path: Path) -> None:
    with make_checkout(world.repo, str(tmp_path / "gates"), "main") as place:
        assert git(place, "status", "--short") == ""
        assert os.listdir(place) != [".git"]
    assert not os.path.exists(os.path.dirname(place))


def test_private_configuration_that_a_killed_process_left_is_removed_a_day_later(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_settings, "_MEMORY", str(tmp_path))
    old, new, other = (tmp_path / name for name in ("headcount-git-old", "headcount-git-new", "other"))
    for place in (old, new, other):
        place.mkdir()
        (place / "config").write_text("[http]\n\textraHeader = key\n")
        (place / "objects").symlink_to(world.repo.objects)
    for place in (old, other):
        os.utime(place, (1_000_000_000, 1_000_000_000))
    EngineWorkspaces(world.repo, str(tmp_path / "worktrees"), str(tmp_path)).remove_left_checkouts()
    assert [place.exists() for place in (old, new, other)] == [False, True, True]
    assert os.path.isdir(world.repo.objects)
