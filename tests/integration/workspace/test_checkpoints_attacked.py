"""Attacks on checkpoints: records that a member changed, pipes in the place of files, large repositories."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from gitworld import World, git, open_world

from headcount.domain.findings import Workspace
from headcount.domain.policy import Policy
from headcount.errors import GitError
from headcount.workspace.checkpoint_restore import restore_in_place, restore_to
from headcount.workspace.checkpoints import Checkpoint, Checkpoints, list_stores
from headcount.workspace.engine_checkpoints import EngineCheckpoints

MB = 1 << 20
LIMIT_S = 60.0


def open_store(world: World, workspace: Workspace, limit_s: float = LIMIT_S) -> Checkpoints:
    return Checkpoints(world.repo.until(limit_s), workspace, f"{world.top}/.headcount/checkpoints")


def take(world: World, workspace: Workspace) -> Checkpoints:
    """As the engine does, which only notes a failure; the store, as another process sees it."""
    EngineCheckpoints(world.repo, f"{world.top}/.headcount").take(workspace, Policy(), {}, "timer", LIMIT_S)
    return open_store(world, workspace)


def write(workspace: Workspace, **files: str) -> None:
    for name, text in files.items():
        (Path(workspace.path) / name).write_text(text)


@pytest.fixture
def alice(world: World) -> Workspace:
    """With one checkpoint, and a change after it."""
    member = world.member()
    write(member, new="first\n")
    assert len(take(world, member).points()) == 1
    write(member, new="second\n")
    return member


def list_files(store: Checkpoints, point: Checkpoint) -> set[str]:
    return set(store.git.text("ls-tree", "-r", "--name-only", point.tree).split("\n"))


@pytest.mark.parametrize("content", ["", "[]", '{"first": "x", "excludes": 7, "workspace": {}}', None])
def test_F85_a_record_that_a_member_changed_is_written_again(
    world: World, alice: Workspace, content: str | None
) -> None:
    record = Path(open_store(world, alice).path, "workspace.json")
    record.unlink()
    if content is not None:
        record.write_text(content)
    store = take(world, alice)
    assert not store.failure
    assert [point.number for point in store.points()] == [1, 2]
    assert [one.workspace for one in list_stores(world.repo, store.directory)] == [alice]


def test_F85_a_record_that_names_another_workspace_is_not_listed(world: World, alice: Workspace) -> None:
    other = world.member("bob")
    write(other, new="his\n")
    theirs = Path(take(world, other).path, "workspace.json")
    Path(open_store(world, alice).path, "workspace.json").write_bytes(theirs.read_bytes())
    assert [one.workspace for one in list_stores(world.repo, open_store(world, alice).directory)] == [other]


@pytest.mark.parametrize("name", ["config", "workspace.json", "info/attributes", "HEAD", "failed"])
def test_F85_a_pipe_in_the_place_of_a_file_is_not_waited_for(
    world: World, alice: Workspace, name: str
) -> None:
    place = Path(open_store(world, alice).path, name)
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    assert [point.number for point in take(world, alice).points()] == [1, 2]


def test_F85_a_pipe_instead_of_the_repositorys_patterns_costs_no_more_than_the_limit(
    world: World, alice: Workspace
) -> None:
    patterns = Path(world.repo.common_dir, "info", "exclude")
    patterns.unlink()
    os.mkfifo(patterns)
    store = open_store(world, alice, limit_s=1.0)
    with pytest.raises(GitError) as failed:  # the member's own git waits for it, and is ended
        store.take("timer", limit_s=1.0)
    assert failed.value.code == "git-timeout"


@pytest.mark.parametrize("how", ["objects", "garbage", "foreign", "directory"])
def test_F85_a_chain_that_cannot_be_read_is_set_aside_and_a_new_one_begins(
    world: World, alice: Workspace, how: str
) -> None:
    store = open_store(world, alice)
    ref = Path(store.path, store.ref)
    kept = git(alice.path, "rev-parse", "HEAD") if how == "foreign" else "garbage"
    if how == "objects":
        shutil.rmtree(Path(store.path, "objects"))
    elif how == "directory":
        shutil.rmtree(Path(store.path, "objects", "pack"))
        for loose in Path(store.path, "objects").glob("??"):
            shutil.rmtree(loose)
    else:
        ref.write_text(f"{kept}\n")
    again = take(world, alice)
    assert not again.failure
    assert list_files(again, again.points()[-1]) >= {"new", "a.txt"}
    later = world.member("alice", 2)
    write(later, new="later\n")
    assert take(world, later).points(), "the next generation is not harmed"


def test_F85_a_broken_store_of_an_earlier_generation_does_not_harm_the_next(
    world: World, alice: Workspace
) -> None:
    store = open_store(world, alice)
    Path(store.path, store.ref).write_text("garbage\n")
    later = world.member("alice", 2)
    write(later, new="later\n")
    assert take(world, later).points()


def test_F85_a_store_is_not_led_to_another_configuration(
    world: World, alice: Workspace, tmp_path: Path
) -> None:
    store = open_store(world, alice)
    other = tmp_path / "other"
    shutil.copytree(store.path, other)
    git(other, "--git-dir=.", "config", "filter.evil.clean", f"touch {tmp_path}/ran; cat")
    (other / "info" / "attributes").write_text("* filter=evil\n")
    Path(store.path, "commondir").write_text(f"{other}\n")
    again = take(world, alice)
    assert not again.failure
    assert [point.number for point in again.points()] == [1, 2]
    assert not (tmp_path / "ran").exists()


def test_F85_a_missing_object_of_an_old_checkpoint_does_not_keep_the_store_from_being_thinned(
    world: World, alice: Workspace
) -> None:
    store = open_store(world, alice)
    first = store.points()[0]
    old = store.git.text("rev-parse", f"{first.commit}:new")
    Path(store.path, "objects", old[:2], old[2:]).unlink()
    for n in range(15):  # in one hour, long ago
        write(alice, new=f"{n}\n")
        assert store.take("timer", when=3_600_000.0 + n) is not None
    write(alice, new="now\n")
    assert store.take("timer") is not None
    assert [point.number for point in store.points()] == [16, 17]


def test_F86_unchanged_files_of_a_large_repository_are_in_a_checkpoint(world: World, tmp_path: Path) -> None:
    (world.top / "large.bin").write_bytes(os.urandom(2 * MB))
    git(world.top, "add", ".")
    git(world.top, "commit", "-qm", "large")
    member = world.member()
    write(member, new="new\n")
    store = open_store(world, member)
    point = store.take("timer", max_mb=1)
    assert point is not None and not point.left_out and point.files == 1
    assert store.size() < MB
    restore_to(store, point, str(tmp_path / "back"))
    assert (tmp_path / "back" / "large.bin").read_bytes() == (world.top / "large.bin").read_bytes()


def test_F87_a_directory_that_became_a_link_is_a_link_in_the_next_checkpoint(
    world: World, alice: Workspace, tmp_path: Path
) -> None:
    shutil.move(Path(alice.path, "src"), tmp_path / "src")
    Path(alice.path, "src").symlink_to(tmp_path / "src")
    store = take(world, alice)
    assert not store.failure
    assert "src" in list_files(store, store.points()[-1])


def test_F89_a_restore_passes_over_what_is_in_the_way_and_writes_the_rest(world: World) -> None:
    member = world.member()
    Path(member.path, "out").mkdir()
    write(member, **{"out/file": "1\n", "z": "z\n"})
    store = open_store(world, member)
    point = store.take("timer")
    assert point is not None
    shutil.rmtree(Path(member.path, "out"))
    Path(member.path, "z").unlink()
    with open(Path(world.repo.common_dir, "info", "exclude"), "a") as patterns:
        patterns.write("out\n")
    write(member, out="ignored, and in no checkpoint\n")
    before = store.take("before a restore")
    assert before is not None
    done = restore_in_place(store, point, before)
    assert done.files == 1 and "out/file" in done.notes[0]
    assert Path(member.path, "z").read_text() == "z\n"
    assert Path(member.path, "out").read_text() == "ignored, and in no checkpoint\n"


def test_submodules_and_repositories_inside_are_left_out_each_time(world: World, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    subprocess.run(["git", "init", "-q", inner], check=True)
    (inner / "i").write_text("i")
    git(inner, "add", ".")
    git(inner, "commit", "-qm", "i")
    git(world.top, "submodule", "add", "-q", str(inner), "sub")
    git(world.top, "commit", "-qm", "sub")
    member = world.member()
    write(member, new="new\n")
    store = open_store(world, member)
    assert store.take("timer") is not None
    git(member.path, "submodule", "update", "--init", "-q")
    write(member, **{"sub/j": "j", "new": "newer\n"})
    point = store.take("timer")
    assert point is not None
    assert list_files(store, point) == {".gitignore", ".gitmodules", "a.txt", "b.txt", "new", "src/run.sh"}
    assert store.take("timer") is None


def test_a_repository_with_sha256_has_checkpoints(tmp_path: Path) -> None:
    top = tmp_path / "sha256"
    subprocess.run(["git", "init", "-q", "--object-format=sha256", top], check=True)
    (top / "a").write_text("a")
    git(top, "add", ".")
    git(top, "commit", "-qm", "first")
    world = open_world(top)
    member = world.member()
    write(member, new="new\n")
    store = take(world, member)
    restore_to(store, store.points()[-1], str(tmp_path / "back"))
    assert (tmp_path / "back" / "new").read_text() == "new\n"
