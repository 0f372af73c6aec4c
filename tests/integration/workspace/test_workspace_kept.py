"""Once it is written, a salvage stays: whatever git deletes, whoever is killed, whatever is locked."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from gitworld import World, git, gone, loosen, open_world, work

from headcount.domain.findings import Salvage, Workspace
from headcount.domain.policy import Policy
from headcount.errors import GitError, WorldError
from headcount.workspace.git_workspaces import EngineWorkspaces
from headcount.workspace.integration import Integration
from headcount.workspace.remove import Removed, remove
from headcount.workspace.repository import Repository
from headcount.workspace.restore import restore
from headcount.workspace.salvage import salvage
from headcount.workspace.verify import list_salvage, verify
from headcount.workspace.worktrees import Workspaces


def collect(top: Path) -> None:
    """Everything that git can delete, deleted now."""
    git(top, "reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
    git(top, "gc", "-q", "--prune=now")
    git(top, "repack", "-adq")
    git(top, "prune", "--expire=now")


def forget(world: World, workspace: Workspace, saved: Salvage) -> None:
    """Nothing of the member's is there for a `git gc` that begins now, as for one that began before it."""
    shutil.rmtree(workspace.path)
    shutil.rmtree(workspace.git_dir or "")
    for ref in (saved.ref, f"refs/heads/{workspace.branch}", "refs/stash"):
        git(world.top, "update-ref", "-d", ref)


def full_of_work(world: World) -> Workspace:
    """Committed, amended, staged, stashed, fetched, changed and untracked."""
    alice = world.member()
    root = Path(alice.path)
    for text in ("first try", "second try"):
        (root / "a.txt").write_text(f"{text}\n")
        git(root, "commit", "-qam", text, *(["--amend"] if text == "second try" else []))
    (root / "b.txt").write_text("stashed\n")
    git(root, "stash", "-q")
    git(root.parent, "init", "-q", "other")
    git(root.parent / "other", "commit", "-qm", "elsewhere", "--allow-empty")
    git(root, "fetch", "-q", str(root.parent / "other"), "HEAD")
    (root / "staged.txt").write_text("staged\n")
    git(root, "add", "staged.txt")
    (root / "staged.txt").write_text("and changed\n")
    (root / "new.txt").write_text("new\n")
    (root / "link").symlink_to("a.txt")
    return alice


@pytest.mark.parametrize("packed", [False, True], ids=["loose", "packed"])
def test_F35_a_gc_that_began_before_the_salvage_takes_nothing_of_it(world: World, packed: bool) -> None:
    """Such a gc sees no ref of the salvage, and none of the work that it was taken of."""
    alice = full_of_work(world)
    if packed:
        git(world.top, "repack", "-aqd", "--keep-unreachable")
    saved = world.salvage(alice)
    forget(world, alice, saved)
    collect(world.top)
    git(world.top, "update-ref", saved.ref, saved.commit)
    assert verify(world.repo, saved.ref, receipt=saved).problems == ()
    back = Path(restore(world.repo, saved.ref, str(world.top.parent / "back")).path)
    assert (back / "staged.txt").read_text() == "and changed\n"
    assert git(back, "show", ":staged.txt") == "staged"
    assert git(back, "log", "-1", "--format=%s") == "second try"
    assert git(back, "stash", "show", "-p").endswith("+stashed")


def test_F35_work_that_was_merged_while_a_prune_ran_is_in_the_pack_too(world: World) -> None:
    """A prune that began before the merge deletes the loose commits, although the user's branch has them."""
    alice = world.member()
    (Path(alice.path) / "a.txt").write_text("merged\n")
    git(alice.path, "commit", "-qam", "work")
    git(world.top, "merge", "-q", alice.branch or "")
    (Path(alice.path) / "new.txt").write_text("new\n")
    saved = world.salvage(alice)
    began = set(git(world.top, "rev-list", "--objects", "--no-object-names", alice.base or "").split())
    for loose in Path(world.repo.objects).glob("??/*"):
        if loose.parent.name + loose.name not in began:
            loose.unlink()
    assert verify(world.repo, saved.ref, receipt=saved).problems == ()


def test_a_salvage_leaves_one_kept_pack_and_no_loose_object(world: World) -> None:
    alice = full_of_work(world)
    before = set(Path(world.repo.objects).glob("??/*"))
    saved = world.salvage(alice)
    packs = {file.name for file in (Path(world.repo.objects) / "pack").iterdir()}
    assert packs == {f"{saved.pack}.{ending}" for ending in ("pack", "idx", "keep")}
    assert set(Path(world.repo.objects).glob("??/*")) == before
    assert not list(Path(world.repo.objects).glob("headcount-*/lock"))
    assert git(world.top, "count-objects", "-v").endswith("garbage: 0\nsize-garbage: 0")


def test_what_the_repository_has_is_not_packed_again(world: World) -> None:
    (world.top / "big.bin").write_bytes(os.urandom(1 << 20))
    git(world.top, "add", ".")
    git(world.top, "commit", "-qm", "big")
    git(world.top, "gc", "-q")
    alice = world.member()
    (Path(alice.path) / "new.txt").write_text("new\n")
    saved = world.salvage(alice)
    pack = Path(world.repo.objects) / "pack" / f"{saved.pack}.pack"
    assert pack.stat().st_size < 10_000


def test_a_salvage_of_an_older_version_gets_its_pack_when_it_is_taken_again(world: World) -> None:
    alice = full_of_work(world)
    first = world.salvage(alice)
    loosen(world, first)
    again = world.salvage(alice)
    assert (again.ref, again.commit, again.created) == (first.ref, first.commit, False)
    forget(world, alice, first)
    collect(world.top)
    git(world.top, "update-ref", first.ref, first.commit)
    assert verify(world.repo, again.ref, receipt=again).ok


@pytest.mark.parametrize("where", ["workspace", "git directory"])
def test_F36_an_object_that_only_a_store_inside_the_workspace_has_is_packed(world: World, where: str) -> None:
    alice = world.member()
    place = Path(alice.path) if where == "workspace" else Path(alice.git_dir or "")
    git(place, "init", "-q", "--bare", "store")
    store = place / "store" / "objects"
    (Path(world.repo.objects) / "info" / "alternates").write_text(f"{store}\n")
    (Path(alice.path) / "new.txt").write_text("only there\n")
    (Path(alice.path) / "a.txt").write_text("committed there\n")
    for name in ("new.txt", "a.txt"):
        git(place / "store", "hash-object", "-w", str(Path(alice.path) / name))
    git(alice.path, "commit", "-qam", "work")
    git(world.top, "merge", "-q", alice.branch or "")  # a ref of the user's reaches it, and it has it not
    saved = world.salvage(alice)
    shutil.rmtree(place / "store")
    (Path(world.repo.objects) / "info" / "alternates").unlink()
    assert verify(world.repo, saved.ref, receipt=saved).problems == ()
    assert git(world.top, "show", "main:a.txt") == "committed there"


KILLED = """
import json, os, signal, sys
from headcount.domain.findings import Workspace
from headcount.workspace.repository import Repository
from headcount.workspace.salvage import salvage

name, after = sys.argv[3], int(sys.argv[4])
real, calls = getattr(os, name), []
def killed(*args, **options):
    calls.append(args)
    if len(calls) > after:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args, **options)
setattr(os, name, killed)
salvage(Repository.open(sys.argv[1]), Workspace.from_dict(json.loads(sys.argv[2])))
"""


def kill_at(world: World, workspace: Workspace, name: str, after: int) -> int:
    args = [str(world.top), json.dumps(workspace.as_dict()), name, str(after)]
    return subprocess.run([sys.executable, "-c", KILLED, *args], check=False, timeout=60).returncode


def test_F37_a_lock_of_ours_that_a_kill_left_is_removed(world: World) -> None:
    """Killed between the lock and the ref, at one of its renames."""
    alice = world.member()
    (Path(alice.path) / "new.txt").write_text("new\n")
    lock = Path(world.repo.common_dir, "refs", "headcount", "salvage", "t", "alice", "1.lock")
    for after in range(12):
        assert kill_at(world, alice, "rename", after) == -signal.SIGKILL
        if lock.exists():
            break
    assert lock.exists() and list_salvage(world.repo) == []
    saved = world.salvage(alice)
    assert saved.ref == "refs/headcount/salvage/t/alice/1" and saved.created
    assert not lock.exists()
    assert not list(Path(world.repo.objects).glob("headcount-*/lock"))
    kept = [file.name for file in (Path(world.repo.objects) / "pack").glob("*.keep")]
    assert kept == [f"{saved.pack}.keep"]


def test_F37_a_lock_of_another_git_leads_to_the_next_number(world: World) -> None:
    _, first = work(world)
    git(world.top, "update-ref", "-d", first.ref)
    lock = Path(world.repo.common_dir, first.ref + ".lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.write_text("")
    saved = world.salvage(world.member())
    assert saved.ref == f"{first.ref}.2"
    assert lock.exists(), "it may belong to a git that is alive"
    again = world.salvage(world.member())
    assert again == replace(saved, created=False, pack=again.pack)
    # The pack of the first salvage holds the same commit; either of the two is kept.
    assert (Path(world.repo.objects) / "pack" / f"{again.pack}.keep").exists()


@pytest.mark.parametrize("name", ["rename", "link", "unlink", "fsync"])
def test_F47_killed_at_any_point_a_salvage_is_whole_or_not_there(world: World, name: str) -> None:
    alice = world.member()
    (Path(alice.path) / "new.txt").write_text("new\n")
    for after in range(0, 16, 4):
        if kill_at(world, alice, name, after) == 0:
            break
        for ref, _ in list_salvage(world.repo):
            assert verify(world.repo, ref, alice).ok
    saved = world.salvage(alice)
    assert saved.ref == "refs/headcount/salvage/t/alice/1"
    assert verify(world.repo, saved.ref, alice, receipt=saved).ok
    assert not list(Path(world.repo.objects).glob("headcount-*/lock"))


GIT_THAT_IS_KILLED = """#!/bin/sh
read -r count < {counter}
echo $((count + 1)) > {counter}
[ $count = {n} ] && kill -9 $$
exec git "$@"
"""


def test_F47_whichever_git_of_ours_is_killed_a_salvage_is_whole_or_not_there(
    world: World, tmp_path: Path
) -> None:
    alice = full_of_work(world)
    counter, script = tmp_path / "count", tmp_path / "git"
    for n in range(1, 40, 4):
        counter.write_text("0\n")
        script.write_text(GIT_THAT_IS_KILLED.format(counter=counter, n=n))
        script.chmod(0o755)
        killed = replace(world.repo, git=replace(world.repo.git, executable=str(script)))
        try:
            salvage(killed, alice)
        except GitError:
            assert not list(Path(world.repo.objects).glob("headcount-*/lock"))
        assert all(verify(world.repo, ref).ok for ref, _ in list_salvage(world.repo))
        if int(counter.read_text()) <= n:
            break
    saved = world.salvage(alice)
    assert verify(world.repo, saved.ref, alice, receipt=saved).ok
    assert [ref for ref, _ in list_salvage(world.repo)] == [saved.ref]


SLOW_GIT = """#!{python}
import os, sys, time
if "hash-object" in sys.argv:
    time.sleep(0.5)
os.execvp("git", ["git", *sys.argv[1:]])
"""


def test_F38_a_salvage_may_take_as_long_as_the_settings_say(world: World, tmp_path: Path) -> None:
    alice = world.member()
    (Path(alice.path) / "new.txt").write_text("new\n")
    script = tmp_path / "git"
    script.write_text(SLOW_GIT.format(python=sys.executable))
    script.chmod(0o755)
    slow = Repository.open(str(world.top), executable=str(script))
    slow = replace(slow, git=replace(slow.git, timeout_s=0.4))  # a call by itself; 60 s in the product
    with pytest.raises(GitError) as raised:
        salvage(slow, alice, timeout_s=0.3)
    assert raised.value.code == "git-timeout"
    assert salvage(slow, alice, timeout_s=60).created


@pytest.fixture
def mirror(world: World, tmp_path: Path) -> World:
    git(tmp_path, "clone", "-q", "--mirror", str(world.top), "mirror.git")
    git(tmp_path / "mirror.git", "config", "fetch.prune", "true")
    repo = Repository.open(str(tmp_path / "mirror.git"))
    return World(tmp_path / "mirror.git", repo, Workspaces(repo, str(tmp_path / "worktrees")))


def test_F39_a_fetch_that_prunes_takes_the_ref_and_not_the_work(mirror: World, tmp_path: Path) -> None:
    alice = mirror.member()
    (Path(alice.path) / "a.txt").write_text("committed\n")
    git(alice.path, "commit", "-qam", "work")
    (Path(alice.path) / "new.txt").write_text("new\n")
    saved = mirror.salvage(alice)
    git(mirror.top, "fetch", "-q", "origin", ok=False)
    assert list_salvage(mirror.repo) == [], "that is what such a fetch does"
    git(mirror.top, "worktree", "remove", "-f", "-f", alice.path)
    collect(mirror.top)
    (problem,) = verify(mirror.repo, saved.ref, receipt=saved).problems
    assert problem == f"{saved.ref} is gone; its commit {saved.commit} is still there"
    back = Path(restore(mirror.repo, saved.ref, str(tmp_path / "back"), saved).path)
    assert (back / "new.txt").read_text() == "new\n"
    assert git(back, "log", "-1", "--format=%s") == "work"
    port = EngineWorkspaces(mirror.repo, str(tmp_path), str(tmp_path / "archive"))
    assert port.check_saved(saved) == []
    assert mirror.repo.commit(saved.ref) == saved.commit, "the check before the tombstone made it again"


def test_F41_in_a_partial_clone_nothing_is_missed_and_nothing_is_fetched(
    world: World, tmp_path: Path
) -> None:
    git(world.top, "config", "uploadpack.allowFilter", "true")
    for n in range(3):
        (world.top / "a.txt").write_text(f"{n}\n")
        git(world.top, "commit", "-qam", f"{n}")
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{world.top}", "partial")
    partial = open_world(tmp_path / "partial")
    alice = partial.member()
    (Path(alice.path) / "new.txt").write_text("new\n")
    os.rename(world.top, tmp_path / "unplugged")
    saved = partial.salvage(alice)
    missing = git(tmp_path / "partial", "rev-list", "--objects", "--all", "--missing=print")
    assert "?" in missing, "the clone lacks old versions of a.txt"
    assert verify(partial.repo, saved.ref, alice, receipt=saved).problems == ()
    assert EngineWorkspaces(partial.repo, "", "").check_saved(saved) == []


DEEP = b"/".join([b"d" * 200] * 40 + [b"precious.txt"])


def dig(root: str) -> None:
    """Step by step, as no single path could."""
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    *parts, name = DEEP.split(b"/")
    for part in parts:
        os.mkdir(part, dir_fd=fd)
        inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
        os.close(fd)
        fd = inner
    with open(os.open(name, os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=fd), "wb") as file:
        file.write(b"precious\n")
    os.symlink("precious.txt", "link", dir_fd=fd)
    os.mkdir("empty", dir_fd=fd)
    os.close(fd)


def test_F42_a_path_longer_than_the_kernel_takes_is_found_saved_removed_and_restored(
    world: World, tmp_path: Path
) -> None:
    alice = world.member()
    dig(alice.path)
    assert not world.findings(alice).spotless
    saved = world.salvage(alice)
    assert saved.complete
    assert verify(world.repo, saved.ref, alice).problems == ()
    assert remove(world.repo, alice, gone(alice)) == Removed(alice.path, saved.ref)
    assert not os.path.lexists(alice.path)
    back = restore(world.repo, saved.ref, str(tmp_path / "back")).path
    again = salvage(world.repo, replace(alice, path=back, git_dir=world.repo.find_git_dir(back)))
    tree = f"files/{DEEP.decode()}"
    assert git(world.top, "cat-file", "-p", f"{again.commit}:{tree}") == "precious"
    subprocess.run(["rm", "-rf", back], check=True)  # pytest's own way cannot


def test_F42_what_is_nested_too_deeply_is_listed_and_the_rest_is_saved(world: World) -> None:
    alice = world.member()
    (Path(alice.path) / "new.txt").write_text("new\n")
    fd = os.open(alice.path, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(600):
        os.mkdir("d", dir_fd=fd)
        inner = os.open("d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
        os.close(fd)
        fd = inner
    os.close(fd)
    saved = world.salvage(alice)
    assert [item.why for item in saved.left_out] == [
        "could not be read: nested more than 500 directories deep"
    ]
    assert git(world.top, "show", f"{saved.ref}:files/new.txt") == "new"
    subprocess.run(["rm", "-rf", f"{alice.path}/d"], check=True)


def test_F43_a_branch_that_cannot_be_deleted_does_not_count_as_a_kept_workspace(
    world: World, tmp_path: Path
) -> None:
    integration = Integration.create(world.repo, "t")
    alice = world.member()
    (Path(alice.path) / "a.txt").write_text("work\n")
    git(alice.path, "commit", "-qam", "work")
    integration.merge(git(alice.path, "rev-parse", "HEAD"))
    lock = Path(world.repo.common_dir) / "packed-refs.lock"
    lock.write_text("")
    port = EngineWorkspaces(world.repo, world.workspaces.root, str(tmp_path))
    plan = {"integration": integration.branch}
    why = port.remove(alice, gone(alice), Policy(), plan) or ""
    assert why.startswith(f"its branch {alice.branch} was not deleted") and "packed-refs.lock" in why
    assert not os.path.lexists(alice.path)
    lock.unlink()
    assert port.remove(alice, gone(alice), Policy(), plan) is None
    assert world.repo.commit(f"refs/heads/{alice.branch}") is None


def test_F48_beside_a_git_that_deletes_all_the_time_every_salvage_is_whole(
    world: World, tmp_path: Path
) -> None:
    stop = tmp_path / "stop"
    script = f"while [ ! -e {stop} ]; do git repack -adq; git prune --expire=now; git pack-refs --all; done"
    with subprocess.Popen(["sh", "-c", script], cwd=world.top, stderr=subprocess.DEVNULL) as deleting:
        try:
            made = []
            for n in range(8):
                member = world.member(f"m{n}")
                (Path(member.path) / "new.txt").write_text(f"{n}\n")
                (Path(member.path) / "a.txt").write_text(f"changed {n}\n")
                made.append(world.salvage(member))
        finally:
            stop.touch()
            deleting.wait(timeout=60)
    assert [verify(world.repo, saved.ref, receipt=saved).problems for saved in made] == [()] * len(made)


def test_a_damaged_object_in_the_members_history_does_not_keep_the_rest_from_being_saved(
    world: World,
) -> None:
    alice = world.member()
    (Path(alice.path) / "a.txt").write_text("damaged later\n")
    git(alice.path, "commit", "-qam", "first")
    oid = git(alice.path, "rev-parse", "HEAD:a.txt")
    (Path(alice.path) / "a.txt").write_text("fine\n")
    git(alice.path, "commit", "-qam", "second")
    (Path(alice.path) / "new.txt").write_text("new\n")
    loose = Path(world.repo.objects, oid[:2], oid[2:])
    loose.chmod(0o644)
    loose.write_bytes(b"damaged")
    saved = world.salvage(alice)
    assert git(world.top, "show", f"{saved.ref}:files/new.txt") == "new"
    assert git(world.top, "show", f"{saved.ref}^1:a.txt") == "fine"


def test_two_salvages_of_one_workspace_at_once_are_both_whole(world: World) -> None:
    alice = full_of_work(world)
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: world.salvage(alice), range(4)))
    assert all(verify(world.repo, saved.ref, alice, receipt=saved).ok for saved in made)


def test_objects_that_cannot_be_written_are_an_error_and_nothing_is_left(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice = world.member()
    (Path(alice.path) / "new.txt").write_text("new\n")

    def read_only(*_: object, **__: object) -> str:
        raise OSError(30, "Read-only file system")

    with monkeypatch.context() as patched, pytest.raises(WorldError) as raised:
        patched.setattr("tempfile.mkdtemp", read_only)
        world.salvage(alice)
    assert raised.value.code == "salvage-failed" and "Read-only" in raised.value.why
    assert world.salvage(alice).created
