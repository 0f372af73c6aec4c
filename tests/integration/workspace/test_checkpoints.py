"""Checkpoints of a workspace: what a member destroys itself comes back, and it notices nothing of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gitworld import World, git

from headcount.domain.findings import Workspace
from headcount.domain.policy import Policy
from headcount.errors import GitError, UsageError
from headcount.workspace import change_watch
from headcount.workspace.checkpoint_restore import restore_in_place, restore_to
from headcount.workspace.checkpoints import Checkpoint, Checkpoints, list_stores, thin
from headcount.workspace.engine_checkpoints import EngineCheckpoints
from headcount.workspace.path_patterns import PathPatterns
from headcount.workspace.safe_files import exclusive


def open_store(world: World, workspace: Workspace, private: tuple[str, ...] = ()) -> Checkpoints:
    return Checkpoints(
        world.repo, workspace, str(world.top / ".headcount" / "checkpoints"), PathPatterns(private)
    )


def at_work(world: World) -> Workspace:
    """A workspace in which something has changed."""
    member = world.member()
    (Path(member.path) / "begun.txt").write_text("begun\n")
    return member


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
def test_F67_what_a_member_destroys_comes_back_byte_for_byte(
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
    restore_to(store, store.find(point.number), str(tmp_path / "back"))
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


def test_a_workspace_as_it_began_gets_no_checkpoint(world: World) -> None:
    assert open_store(world, world.member()).take("interval") is None


def test_an_unchanged_workspace_gets_no_second_checkpoint(world: World) -> None:
    member = at_work(world)
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
    (top / "tracked.env").write_text("in git anyway\n")
    git(top, "add", "tracked.env")
    (top / "later.key").write_text("SECRET=3\n")
    store = open_store(world, member, private=(".env", "*.env"))
    point = store.take("interval")
    assert point is not None
    restore_to(store, point, str(tmp_path / "back"))
    found = read_files(tmp_path / "back")
    assert {"forced.log", "tracked.env", "deep/.gitignore", "later.key"} <= found.keys()
    assert not {"ignored.log", ".env", "deep/.env"} & found.keys()
    # Another pattern, and another ignored file: both leave the next checkpoint.
    (top / ".gitignore").write_text("*.log\na.txt\n")
    git(top, "rm", "-q", "--cached", "a.txt")
    again = open_store(world, member, private=(".env", "*.env", "*.key")).take("interval")
    assert again is not None
    restore_to(store, again, str(tmp_path / "again"))
    assert not {"later.key", "a.txt"} & read_files(tmp_path / "again").keys()


def test_F69_a_program_of_the_repository_is_not_run(world: World, tmp_path: Path) -> None:
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


def test_F69_a_store_that_a_member_changed_runs_none_of_its_programs(world: World, tmp_path: Path) -> None:
    member = at_work(world)
    store = open_store(world, member)
    assert store.take("interval") is not None
    with open(f"{store.path}/config", "a") as file:
        file.write(f'[filter "evil"]\n\tclean = touch {tmp_path}/ran; cat\n')
    Path(store.path, "info", "attributes").write_text("* filter=evil\n")
    (Path(member.path) / "a.txt").write_text("more\n")
    assert store.take("interval") is not None
    assert not (tmp_path / "ran").exists()


def test_patterns_of_the_user_count_as_ignored(world: World, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("*.swp\n")
    git(world.top, "config", "core.excludesFile", str(tmp_path / "mine"))
    member = at_work(world)
    (Path(member.path) / "x.swp").write_text("x")
    store = open_store(world, member)
    point = store.take("interval")
    assert point is not None
    restore_to(store, point, str(tmp_path / "back"))
    assert "x.swp" not in read_files(tmp_path / "back")


def test_one_path_is_restored_into_the_workspace(world: World) -> None:
    member = world.member()
    before = work(member)
    store = open_store(world, member)
    point = store.take("interval")
    assert point is not None
    reset_hard(Path(member.path))
    now = store.take("before a restore")
    assert now is not None
    assert restore_in_place(store, point, now, ["new"]).files == 2
    found = read_files(Path(member.path))
    assert found["new/tool.sh"] == before["new/tool.sh"]
    assert "link" not in found
    with pytest.raises(UsageError, match="no never"):
        restore_in_place(store, point, now, ["never"])


def test_F71_a_restore_into_the_workspace_replaces_only_what_has_a_copy(world: World) -> None:
    member = world.member()
    top = Path(member.path)
    (top / "notes.txt").write_text("old")
    (top / "dir").mkdir()
    (top / "dir" / "f").write_text("old")
    (top / "later").write_text("old")
    store = open_store(world, member)
    point = store.take("interval")
    (top / "notes.txt").write_text("only copy")
    (top / ".gitignore").write_text("*.log\nnotes.txt\n")
    shutil.rmtree(top / "dir")
    (top / "dir").write_text("a file now")
    (top / "later").write_text("new")
    (top / "made-later").write_text("new")
    now = store.take("before a restore")
    assert point is not None
    assert now is not None
    restored = restore_in_place(store, point, now)
    assert (top / "notes.txt").read_text() == "only copy"
    assert (top / "dir").read_text() == "a file now"
    assert (top / "later").read_text() == "old"
    assert (top / "made-later").read_text() == "new"
    assert [note.split(" ")[0] for note in restored.notes] == ["dir/f", "notes.txt"]


def test_a_restore_needs_an_empty_directory_and_writes_only_below_it(world: World, tmp_path: Path) -> None:
    member = world.member()
    (Path(member.path) / "out").symlink_to(tmp_path / "elsewhere")
    store = open_store(world, member)
    point = store.take("interval")
    assert point is not None
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    with pytest.raises(UsageError, match="Did not restore to"):
        restore_to(store, point, str(tmp_path / "full"))
    restore_to(store, point, str(tmp_path / "back"))
    assert os.readlink(tmp_path / "back" / "out") == str(tmp_path / "elsewhere")
    assert not (tmp_path / "elsewhere").exists()


def test_old_checkpoints_are_thinned_and_numbers_stay(world: World, tmp_path: Path) -> None:
    member = at_work(world)
    store = open_store(world, member)
    now = 1_000_000_000.0
    for n in range(1, 46):
        (Path(member.path) / "a.txt").write_text(f"{n}\n")
        store.take("interval", when=now + n * 300)
    numbers = [point.number for point in store.points()]
    assert numbers[-13:] == list(range(33, 46))
    assert len(numbers) < 36
    last_old = numbers[0]
    restore_to(store, store.find(last_old), str(tmp_path / "back"))
    assert (tmp_path / "back" / "a.txt").read_text() == f"{last_old}\n"
    assert len(list(Path(store.path, "objects", "pack").glob("*.pack"))) <= 2


def test_a_store_keeps_to_its_limit(world: World) -> None:
    member = at_work(world)
    store = open_store(world, member)
    for n in range(12):
        (Path(member.path) / "data.bin").write_bytes(os.urandom(120_000))
        assert store.take("interval", max_mb=1) is not None
        assert store.size() <= 1 << 20
        assert store.points()[-1].number == n + 1
    assert len(store.points()) > 1


def test_F72_files_without_room_are_left_out_and_named(world: World) -> None:
    member = world.member()
    top = Path(member.path)
    (top / "large.bin").write_bytes(os.urandom(200_000))  # above an eighth of the limit
    for n in range(12):
        (top / f"many-{n:02}.bin").write_bytes(os.urandom(100_000))
    (top / "small.txt").write_text("small")
    store = open_store(world, member)
    point = store.take("interval", max_mb=1)
    assert point is not None
    names = git(member.path, "--git-dir", store.path, "ls-tree", "--name-only", point.tree).splitlines()
    assert "small.txt" in names
    assert "large.bin" not in names
    assert 6 <= len([name for name in names if name.startswith("many")]) <= 10
    assert "large.bin" in point.left_out
    assert store.size() <= 1 << 20
    assert store.take("interval", max_mb=1) is None or store.size() <= 1 << 20


def test_numbers_count_on_over_generations(world: World) -> None:
    first = at_work(world)
    store = open_store(world, first)
    store.take("interval")
    (Path(first.path) / "a.txt").write_text("more\n")
    store.take("interval")
    second = open_store(world, replace(first, generation=2))
    point = second.take("interval")
    assert point is not None
    assert point.number == 3
    stores = list_stores(world.repo, store.directory)
    assert [(s.workspace.generation, len(s.points())) for s in stores] == [(1, 2), (2, 1)]


def test_only_one_is_taken_at_a_time(world: World) -> None:
    member = at_work(world)
    store = open_store(world, member)
    assert store.take("interval") is not None
    (Path(member.path) / "a.txt").write_text("more\n")
    with exclusive(os.path.join(store.path, "lock")), pytest.raises(BlockingIOError):
        store.take("interval", limit_s=0)
    assert store.take("interval", limit_s=0) is not None


def test_F70_a_workspace_that_is_being_removed_gets_no_checkpoint(world: World) -> None:
    member = at_work(world)
    store = open_store(world, member)
    assert store.take("interval") is not None
    (Path(member.path) / "a.txt").unlink()
    os.rename(f"{member.git_dir}/gitdir", f"{member.git_dir}/headcount.gitdir")
    assert store.take("interval") is None
    assert len(store.points()) == 1


def test_a_touched_file_and_a_special_one_cause_no_checkpoint(world: World) -> None:
    member = at_work(world)
    top = Path(member.path)
    store = open_store(world, member)
    assert store.take("interval") is not None
    os.utime(top / "a.txt", (1, 1))
    os.mkfifo(top / "pipe")
    assert store.take("interval") is None
    (top / "a.txt").unlink()
    os.mkfifo(top / "a.txt")
    point = store.take("interval")
    assert point is not None
    assert "a.txt" not in git(top, "--git-dir", store.path, "ls-tree", "--name-only", point.tree)


_KILLED = """
import os, sys
from dataclasses import replace
from headcount.domain.findings import Workspace
from headcount.workspace import checkpoints
from headcount.workspace.repository import Repository
import json
spot, n = sys.argv[1].split(":")
left = [int(n)]
real = getattr(checkpoints.Checkpoints, spot)
def dying(self, *args, **named):
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), 9)
    return real(self, *args, **named)
setattr(checkpoints.Checkpoints, spot, dying)
workspace = Workspace.from_dict(json.loads(sys.argv[2]))
checkpoints.Checkpoints(Repository.open(sys.argv[3]), workspace, sys.argv[4]).take("interval")
"""


@pytest.mark.parametrize(
    "spot",
    ["_first_number:1", "_write_rules:1", "_write_commit:1", "_copy_objects:1", "_point_to:1", "_tidy:1"],
)
@pytest.mark.parametrize("earlier", [0, 1])
def test_F68_a_crash_in_the_middle_leaves_nothing_broken(
    world: World, tmp_path: Path, spot: str, earlier: int
) -> None:
    member = at_work(world)
    store = open_store(world, member)
    before = [store.take("interval")] if earlier else []
    (Path(member.path) / "a.txt").write_text("more\n")
    argv = [
        sys.executable,
        "-c",
        _KILLED,
        spot,
        json.dumps(member.as_dict()),
        str(world.top),
        store.directory,
    ]
    killed = subprocess.run(argv, capture_output=True, text=True)
    if killed.returncode == 0 and spot == "_first_number:1":
        return  # only the first checkpoint asks for it
    assert killed.returncode == -9, killed.stderr
    # As a git that was killed, too, leaves it:
    Path(store.path, f"index.{os.getpid()}.1.lock").write_text("half")
    (Path(member.path) / "b.txt").write_text("after the crash\n")
    point = store.take("interval")
    assert point is not None
    assert [p.number for p in store.points()][: len(before)] == [p.number for p in before if p]
    restore_to(store, point, str(tmp_path / "back"))
    assert read_files(tmp_path / "back") == read_files(Path(member.path))
    assert not [name for name in os.listdir(store.path) if name.startswith("index.")]
    git(member.path, "--git-dir", store.path, "-c", f"core.worktree={member.path}", "status", ok=False)


def test_a_damaged_index_is_made_again(world: World) -> None:
    member = at_work(world)
    store = open_store(world, member)
    assert store.take("interval") is not None
    Path(store.path, "index").write_bytes(b"not an index")
    (Path(member.path) / "a.txt").write_text("more\n")
    with pytest.raises(GitError):
        store.take("interval")
    assert store.take("interval") is not None


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


def _attempts(world: World, monkeypatch: pytest.MonkeyPatch) -> tuple[EngineCheckpoints, list[str]]:
    """The engine's checkpoints, and a list that grows with every attempt that reads the workspace."""
    reads: list[str] = []
    real = Checkpoints.take

    def counted(self: Checkpoints, why: str, **more: Any) -> Checkpoint | None:
        reads.append(why)
        return real(self, why, **more)

    monkeypatch.setattr(Checkpoints, "take", counted)
    return EngineCheckpoints(world.repo, str(world.top / ".headcount")), reads


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file": lambda top: (top / "a.txt").write_text("in place\n"),
    "a mode": lambda top: (top / "a.txt").chmod(0o755),
    "a new directory": lambda top: (top / "new" / "deeper").mkdir(parents=True),
    "in a directory": lambda top: (top / "src" / "x").write_text("x"),
    "a removed directory": lambda top: shutil.rmtree(top / "src"),
    "a commit": lambda top: git(top, "commit", "-q", "--allow-empty", "-m", "empty"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_quiet_workspace_is_not_read_until_something_changes(
    world: World, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    member = world.member()
    top = Path(member.path)
    (top / "ignored.log").write_text("x")
    (top / "first.txt").write_text("x")
    engine, reads = _attempts(world, monkeypatch)
    for _ in range(6):
        engine.take(member, Policy(), {}, "timer", 60.0)
    assert len(reads) == 3  # a checkpoint, nothing, nothing and armed
    CHANGES[change](top)
    engine.take(member, Policy(), {}, "timer", 60.0)
    assert len(reads) == 4
    if change != "a new directory":  # which is empty
        assert len(open_store(world, member).points()) == 2


def test_changes_of_ignored_directories_wake_nobody(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    member = world.member()
    top = Path(member.path)
    (top / ".gitignore").write_text("*.log\nbuild/\n")
    (top / "build").mkdir()
    (top / "build" / "made.o").write_text("1")
    (top / "first.txt").write_text("x")
    engine, reads = _attempts(world, monkeypatch)
    for n in range(6):
        engine.take(member, Policy(), {}, "timer", 60.0)
        (top / "build" / "made.o").write_text(str(n))
    assert len(reads) == 3


def test_where_nothing_can_be_watched_every_attempt_reads(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = world.member()
    engine, reads = _attempts(world, monkeypatch)
    monkeypatch.setattr(change_watch, "_MOST", 1)
    for _ in range(4):
        engine.take(member, Policy(), {}, "timer", 60.0)
    assert len(reads) == 4
