"""Checkpoints of a workspace: what a member destroys itself comes back, and it notices nothing of them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from gitworld import World, git

from headcount.domain.findings import Workspace
from headcount.errors import UsageError
from headcount.workspace.checkpoints import Checkpoint, Checkpoints, thin


def open_store(world: World, workspace: Workspace, private: tuple[str, ...] = ()) -> Checkpoints:
    return Checkpoints(world.repo, workspace, str(world.top / ".headcount" / "checkpoints"), private)


def read_files(top: Path) -> dict[str, tuple[int, bytes]]:
    found = {}
    for path in sorted(top.rglob("*")):
        name = str(path.relative_to(top))
        if not path.is_dir() and name != ".git":
            content = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
            found[name] = (path.lstat().st_mode & 0o111, content)
    return found


def work(workspace: Workspace) -> dict[str, tuple[int, bytes]]:
    """Committed, staged, changed and untracked files, a link, an executable, odd names and line ends."""
    top = Path(workspace.path)
    (top / ".gitattributes").write_text("* text=auto\n*.f filter=upper\n*.u working-tree-encoding=UTF-16\n")
    git(top, "config", "filter.upper.clean", "tr a-z A-Z")
    (top / "made.txt").write_text("made\n")
    git(top, "add", "made.txt", ".gitattributes")
    git(top, "commit", "-qm", "mine")
    (top / "a.txt").write_bytes(b"line\r\nends\r\n")
    (top / "staged.f").write_text("lower\n")
    git(top, "add", "staged.f")
    (top / "new").mkdir()
    (top / "new" / "tool.sh").write_text("#!/bin/sh\n")
    (top / "new" / "tool.sh").chmod(0o755)
    (top / "new" / "odd \n name\udcff").write_text("odd")
    (top / "encoded.u").write_bytes(b"\xff\xfeh\x00")
    (top / "link").symlink_to("/nowhere")
    (top / "src" / "run.sh").unlink()
    return read_files(top)


def reset_hard(top: Path) -> None:
    git(top, "reset", "-q", "--hard", "HEAD~1")
    git(top, "clean", "-fdxq")


def leave_for_another_branch(top: Path) -> None:
    git(top, "checkout", "-qf", "--orphan", "other")
    git(top, "rm", "-rfq", ".")
    git(top, "clean", "-fdxq")


def delete_files(top: Path) -> None:
    for path in top.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def break_a_rebase(top: Path) -> None:
    git(top, "stash", "-qu")
    git(top, "stash", "drop", "-q")
    git(top, "rebase", "-q", "--onto", "HEAD~1", "HEAD", ok=False)
    git(top, "reset", "-q", "--hard")


def prune_everything(top: Path) -> None:
    reset_hard(top)
    git(top, "reflog", "expire", "--expire=now", "--all")
    git(top, "gc", "-q", "--prune=now")


@pytest.mark.parametrize(
    "destroy", [reset_hard, leave_for_another_branch, delete_files, break_a_rebase, prune_everything]
)
def test_what_a_member_destroys_comes_back_byte_for_byte(
    world: World, tmp_path: Path, destroy: object
) -> None:
    member = world.member()
    before = work(member)
    store = open_store(world, member)
    point = store.take("interval")
    assert point is not None
    destroy(Path(member.path))  # type: ignore[operator]
    assert read_files(Path(member.path)) != before
    store.take("interval")
    store.restore(store.find(point.number), str(tmp_path / "back"))
    assert read_files(tmp_path / "back") == before


def test_the_commits_of_the_member_are_in_its_checkpoints(world: World) -> None:
    member = world.member()
    work(member)
    head = git(member.path, "rev-parse", "HEAD")
    store = open_store(world, member)
    point = store.take("interval")
    assert point is not None
    assert point.head == head
    prune_everything(Path(member.path))
    assert "not exist" not in git(member.path, "cat-file", "-t", head, ok=False)
    alone = {**os.environ, "GIT_ALTERNATE_OBJECT_DIRECTORIES": world.repo.objects}
    done = subprocess.run(
        ["git", "--git-dir", store.path, "cat-file", "-t", head], env=alone, capture_output=True
    )
    assert done.stdout == b"commit\n"


def test_an_unchanged_workspace_gets_no_second_checkpoint(world: World) -> None:
    member = world.member()
    store = open_store(world, member)
    assert store.take("interval") is not None
    assert store.take("interval") is None
    (Path(member.path) / "a.txt").write_text("changed\n")
    point = store.take("before a merge")
    assert point is not None
    assert (point.number, point.why) == (2, "before a merge")
    assert [p.number for p in store.points()] == [1, 2]


def test_git_and_the_member_notice_nothing(world: World) -> None:
    member = world.member()
    work(member)
    index = Path(member.git_dir or "") / "index"
    status = git(member.path, "status", "--porcelain")
    before = (index.read_bytes(), index.stat().st_mtime_ns)
    objects = git(world.top, "count-objects", "-v")
    assert open_store(world, member).take("interval") is not None
    assert git(world.top, "count-objects", "-v") == objects
    assert (index.read_bytes(), index.stat().st_mtime_ns) == before
    assert git(member.path, "status", "--porcelain") == status
    assert git(world.top, "log", "--all", "--format=%s").count("checkpoint") == 0
    git(world.top, "fsck")


def test_ignored_and_private_files_are_left_out_and_tracked_ones_are_not(
    world: World, tmp_path: Path
) -> None:
    member = world.member()
    top = Path(member.path)
    (top / "ignored.log").write_text("x")
    (top / "forced.log").write_text("tracked although it is ignored")
    git(top, "add", "-f", "forced.log")
    (top / ".env").write_text("SECRET=1\n")
    (top / "deep").mkdir()
    (top / "deep" / ".gitignore").write_text("!.env\n")
    (top / "deep" / ".env").write_text("SECRET=2\n")
    store = open_store(world, member, private=(".env",))
    point = store.take("interval")
    assert point is not None
    store.restore(point, str(tmp_path / "back"))
    found = read_files(tmp_path / "back")
    assert "forced.log" in found
    assert "deep/.gitignore" in found
    assert not {"ignored.log", ".env", "deep/.env"} & found.keys()


def test_a_program_of_the_repository_is_not_run(world: World, tmp_path: Path) -> None:
    member = world.member()
    top = Path(member.path)
    (top / ".gitattributes").write_text("* filter=evil diff=evil\n")
    inner = top / "inner"
    git(world.top, "init", "-q", str(inner))
    git(inner, "commit", "-q", "--allow-empty", "-m", "x")
    touch = f"touch {tmp_path}/ran"
    for where in (top, inner):
        for key in ("filter.evil.clean", "filter.evil.process", "core.fsmonitor", "diff.evil.textconv"):
            git(where, "config", key, touch)
    (inner / "f").write_text("f")
    (top / "f").write_text("f")
    store = open_store(world, member)
    point = store.take("interval")
    assert point is not None
    assert "f" in store.diff(point, "--stat")
    (inner / "f").write_text("g")
    store.take("interval")
    assert not (tmp_path / "ran").exists()


def test_one_path_is_restored_into_the_workspace(world: World) -> None:
    member = world.member()
    before = work(member)
    store = open_store(world, member)
    point = store.take("interval")
    assert point is not None
    reset_hard(Path(member.path))
    assert store.restore(point, member.path, ["new"]) == 2
    now = read_files(Path(member.path))
    assert now["new/tool.sh"] == before["new/tool.sh"]
    assert "link" not in now
    with pytest.raises(UsageError, match="no never"):
        store.restore(point, member.path, ["never"])


def test_old_checkpoints_are_thinned_and_numbers_stay(world: World, tmp_path: Path) -> None:
    member = world.member()
    store = open_store(world, member)
    now = 1_000_000_000.0
    for n in range(1, 31):
        (Path(member.path) / "a.txt").write_text(f"{n}\n")
        store.take("interval", when=now + n * 300)
    numbers = [point.number for point in store.points()]
    assert numbers[-13:] == list(range(18, 31))
    assert len(numbers) < 25
    last_old = numbers[-14]
    store.restore(store.find(last_old), str(tmp_path / "back"))
    assert (tmp_path / "back" / "a.txt").read_text() == f"{last_old}\n"
    assert len(list(Path(store.path, "objects", "pack").glob("*.pack"))) <= 2


def test_a_store_keeps_to_its_limit(world: World) -> None:
    member = world.member()
    store = open_store(world, member)
    for _ in range(8):
        (Path(member.path) / "big.bin").write_bytes(os.urandom(400_000))
        store.take("interval", max_mb=1)
        assert store.size() <= 1 << 20 or len(store.points()) == 1
    assert store.points()[-1].number == 8


def test_a_time_finds_the_checkpoint_before_it(world: World) -> None:
    member = world.member()
    store = open_store(world, member)
    for n in (1, 2):
        (Path(member.path) / "a.txt").write_text(f"{n}\n")
        store.take("interval", when=1000.0 * n)
    assert store.find_at(1999.0).number == 1
    assert store.find_at(2000.0).number == 2
    with pytest.raises(UsageError, match="no checkpoint of that time"):
        store.find_at(1.0)
    with pytest.raises(UsageError, match="no checkpoint 7") as refused:
        store.find(7)
    assert refused.value.why == "it has 1 to 2"


def test_removing_leaves_nothing(world: World) -> None:
    member = world.member()
    refs = git(world.top, "for-each-ref")
    store = open_store(world, member)
    store.take("interval")
    assert store.ref in git(world.top, "for-each-ref")
    store.remove()
    assert git(world.top, "for-each-ref") == refs
    assert not Path(store.path).exists()


def test_thinning_keeps_an_hour_then_tens_of_minutes_then_hours() -> None:
    day = 86_400
    points = [Checkpoint(n, "", "", float(n * 60), "interval", None) for n in range(1, 3 * day // 60)]
    kept = thin(points, points[-1].at)
    ages = [(points[-1].at - point.at) for point in kept]
    assert len([age for age in ages if age <= 3600]) == 61
    assert 135 <= len([age for age in ages if 3600 < age <= day]) <= 140
    assert 47 <= len([age for age in ages if age > day]) <= 49
