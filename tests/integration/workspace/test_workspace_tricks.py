"""What can be done to a workspace so that a look at it sees nothing, never ends, or sees something else."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from gitworld import World, git, open_world

from headcount.errors import GitError, WorldError
from headcount.workspace.archive import archive
from headcount.workspace.repository import Repository
from headcount.workspace.snapshot import FILES
from headcount.workspace.verify import read_saved
from headcount.workspace.worktrees import Workspaces

T = TypeVar("T")

_OLD = 1_000_000_000


def within(seconds: float, what: Callable[[], T]) -> T:
    """The answer, unless it is still waited for after so long."""
    answers: list[T] = []
    thread = threading.Thread(target=lambda: answers.append(what()), daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), "it is still waiting"
    return answers[0]


def wait_for_the_next_second() -> None:
    now = int(time.time())
    while int(time.time()) == now:
        time.sleep(0.01)


def test_a_change_that_leaves_size_and_time_alone_is_found_whatever_git_was_told_to_trust(
    world: World,
) -> None:
    git(world.top, "config", "core.checkStat", "minimal")
    git(world.top, "config", "core.trustctime", "false")
    member = world.member()
    changed = Path(member.path) / "a.txt"
    os.utime(changed, (_OLD, _OLD))  # long before the index was written: git sees no reason to look into it
    git(member.path, "update-index", "--refresh")
    wait_for_the_next_second()  # git counts times in seconds

    changed.write_text("b\n")
    os.utime(changed, (_OLD, _OLD))

    assert git(member.path, "status", "--short") == ""
    assert [item.what for item in world.findings(member).items] == ["a.txt (modified)"]


def test_a_file_whose_name_differs_from_another_only_by_case_is_found(world: World) -> None:
    git(world.top, "config", "core.ignoreCase", "true")
    member = world.member()
    (Path(member.path) / "A.TXT").write_text("nobody has seen this\n")

    assert git(member.path, "status", "--short") == ""
    assert [item.what for item in world.findings(member).items] == ["A.TXT"]


@pytest.mark.parametrize("name", ["MERGE_HEAD", "logs/HEAD", "index"])
def test_a_pipe_in_the_place_of_a_file_of_git_is_not_waited_for(world: World, name: str) -> None:
    member = world.member()
    (Path(member.path) / "new.txt").write_text("new\n")
    pipe = Path(member.git_dir or "") / name
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)

    assert within(20, lambda: world.findings(member, timeout_s=4)).items
    saved = within(60, lambda: world.salvage(member, timeout_s=20))

    assert FILES + b"new.txt" in read_saved(world.repo, saved.ref).leaves


@pytest.mark.parametrize("what", ["a pipe", "a device without end"])
def test_what_is_called_git_and_is_no_repository_is_not_waited_for(world: World, what: str) -> None:
    member = world.member()
    place = Path(member.path) / "vendor" / ".git"
    place.parent.mkdir()
    if what == "a pipe":
        os.mkfifo(place)
    else:
        place.symlink_to("/dev/zero")

    found = within(20, lambda: world.findings(member))

    assert [item.kind.value for item in found.items] == ["unreadable"]


def test_a_file_that_cannot_be_read_in_time_and_is_over_the_limit_is_left_out(world: World) -> None:
    member = world.member()
    (Path(member.path) / "new.txt").write_text("new\n")
    os.truncate(_made(Path(member.path) / "disk.img"), 1 << 40)

    saved = world.salvage(member, max_mb=1, timeout_s=6)

    assert [(item.path, item.why) for item in saved.left_out] == [
        ("disk.img", "over the limit for a salvage")
    ]
    assert FILES + b"new.txt" in read_saved(world.repo, saved.ref).leaves


def test_a_filter_that_hangs_does_not_keep_the_bytes_from_being_saved(world: World) -> None:
    member = world.member()
    git(member.path, "config", "filter.hang.clean", "sleep 600")
    (Path(member.path) / ".gitattributes").write_text("*.txt filter=hang\n")
    (Path(member.path) / "a.txt").write_text("changed\n")

    saved = world.salvage(member, timeout_s=12)

    assert FILES + b".gitattributes" in read_saved(world.repo, saved.ref).leaves


def test_a_repository_that_git_refuses_to_read_is_no_place_without_git(world: World) -> None:
    (world.top / ".git" / "config").write_text("[core\n")

    with pytest.raises(GitError) as refused:
        Repository.find(str(world.top))

    assert "bad config" in refused.value.why


def test_a_workspace_that_became_a_link_is_not_saved_as_what_that_leads_to(
    world: World, tmp_path: Path
) -> None:
    member = world.member()
    place = Path(member.path)
    place.rename(place.with_name("elsewhere"))
    (tmp_path / "private").mkdir()
    place.symlink_to(tmp_path / "private")

    with pytest.raises(GitError, match="Did not save"):
        world.salvage(member)


def test_nothing_is_saved_in_the_name_of_a_workspace_whose_repository_was_moved(
    world: World, tmp_path: Path
) -> None:
    member = world.member()
    (Path(member.path) / "new.txt").write_text("new\n")
    world.top.rename(tmp_path / "moved")

    with pytest.raises(GitError, match="Did not save"):
        open_world(tmp_path / "moved").salvage(member)


def test_a_submodule_is_no_obstacle_to_a_workspace_where_git_is_told_to_go_into_them(
    world: World, tmp_path: Path
) -> None:
    library = tmp_path / "library"
    git(tmp_path, "init", "-q", str(library))
    git(library, "commit", "-qm", "first", "--allow-empty")
    git(world.top, "submodule", "add", "-q", str(library), "library")
    git(world.top, "commit", "-qm", "a submodule")
    git(world.top, "config", "submodule.recurse", "true")

    member = world.member()

    assert world.findings(member).spotless
    assert os.listdir(f"{member.path}/library") == []


def test_a_repository_that_was_told_it_is_bare_is_still_the_users_checkout(world: World) -> None:
    git(world.top, "config", "core.bare", "true")

    assert Repository.open(str(world.top)).branch_in_use("main") == str(world.top)


def test_nothing_is_saved_in_the_name_of_a_workspace_that_was_moved_by_git(
    world: World, tmp_path: Path
) -> None:
    """What a member goes on writing is in the new place; in the old one there is nothing to be saved."""
    member = world.member()
    (Path(member.path) / "new.txt").write_text("new\n")
    git(world.top, "worktree", "unlock", member.path)
    git(world.top, "worktree", "move", member.path, str(tmp_path / "moved"))

    with pytest.raises(GitError, match="Did not save") as refused:
        world.salvage(member)

    assert str(tmp_path / "moved") in refused.value.why


def test_what_does_not_fit_on_the_disk_is_not_begun_to_be_archived(tmp_path: Path) -> None:
    """It would fill the disk with the zeros of a hole first, and take the room from everybody else."""
    workspace = Workspaces(None, str(tmp_path / "worktrees")).create("t", "alice", 1)
    os.truncate(_made(Path(workspace.path) / "disk.img"), 1 << 43)

    with pytest.raises(WorldError) as refused:
        archive(workspace, str(tmp_path / "archive"))

    assert f"{1 << 43:,} bytes" in refused.value.why
    assert os.listdir(tmp_path / "archive" / "t") == []


def _made(path: Path) -> Path:
    path.touch()
    return path
