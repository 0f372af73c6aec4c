"""Saving: everything goes to the ref, or nothing does and it is an error."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from gitworld import World, git, open_world, work

from headcount.errors import WorldError
from headcount.workspace.inspection import read_findings
from headcount.workspace.repository import Repository
from headcount.workspace.restore import restore
from headcount.workspace.salvage import salvage
from headcount.workspace.verify import list_salvage, read_saved, verify
from headcount.workspace.worktrees import Workspaces


def test_C2_everything_is_found_in_the_ref_by_plain_git(world: World) -> None:
    alice = world.member()
    root = Path(alice.path)
    (root / "a.txt").write_text("staged\n")
    git(root, "add", "a.txt")
    (root / "a.txt").write_text("changed\n")
    (root / "new.txt").write_text("untracked\n")
    (root / "x.log").write_text("ignored\n")
    (root / "b.txt").write_text("stashed\n")
    git(root, "stash", "push", "-q", "b.txt")
    saved = world.salvage(alice, findings=world.findings(alice))
    assert saved.ref == "refs/headcount/salvage/t/alice/1"
    show = {name: git(world.top, "show", f"{saved.ref}:{name}") for name in (
        "files/a.txt", "index/0/a.txt", "files/new.txt", "files/x.log", "files/b.txt",
    )}  # fmt: skip
    assert show == {
        "files/a.txt": "changed",
        "index/0/a.txt": "staged",
        "files/new.txt": "untracked",
        "files/x.log": "ignored",
        "files/b.txt": "b\nb\nb\nb",
    }
    parents = git(world.top, "log", "-1", "--format=%P", saved.ref).split(" ")
    assert parents[0] == alice.base
    assert git(world.top, "show", f"{parents[1]}:b.txt") == "stashed"
    assert "1 untracked: new.txt" in git(world.top, "log", "-1", "--format=%B", saved.ref)


def test_a_conflict_is_kept_stage_by_stage(world: World) -> None:
    alice = world.member()
    for branch, text in (("side", "theirs"), ("headcount/t/alice", "ours")):
        git(alice.path, "checkout", "-q", *(["-b"] if branch == "side" else []), branch)
        (Path(alice.path) / "a.txt").write_text(text + "\n")
        git(alice.path, "commit", "-qam", text)
    git(alice.path, "merge", "side", ok=False)
    saved = world.salvage(alice)
    stages = [git(world.top, "show", f"{saved.ref}:index/{stage}/a.txt") for stage in (1, 2, 3)]
    assert stages == ["a", "ours", "theirs"]
    assert git(world.top, "show", f"{saved.ref}:gitdir/MERGE_HEAD") == git(world.top, "rev-parse", "side")


def test_a_later_salvage_of_the_same_incarnation_gets_its_own_ref(world: World) -> None:
    path, first = work(world)
    (Path(path) / "more.txt").write_text("more\n")
    second = world.salvage(world.member())
    assert (first.ref, second.ref) == (
        "refs/headcount/salvage/t/alice/1",
        "refs/headcount/salvage/t/alice/1.2",
    )
    assert world.repo.commit(first.ref) == first.commit
    assert not world.salvage(world.member()).created
    (Path(path) / "more.txt").unlink()
    again = world.salvage(world.member())
    assert (again.ref, again.created) == (first.ref, False)


def test_salvages_are_listed_in_order_and_by_exact_team(world: World) -> None:
    for n in range(1, 12):
        member = world.member("alice", n)
        (Path(member.path) / "new.txt").write_text(f"{n}\n")
        world.salvage(member)
    other = world.member("bob", team="t-2")
    (Path(other.path) / "new.txt").write_text("x\n")
    world.salvage(other)
    assert [ref.rpartition("/")[2] for ref, _ in list_salvage(world.repo, "t")] == [
        str(n) for n in range(1, 12)
    ]
    assert len(list_salvage(world.repo)) == 12


def test_bytes_are_taken_as_they_are_on_disk_whatever_filters_say(world: World) -> None:
    alice = world.member()
    root = Path(alice.path)
    (root / ".gitattributes").write_text("*.txt text eol=crlf\n*.up filter=upper\n*.id ident\n")
    git(root, "config", "filter.upper.clean", "tr a-z A-Z")
    git(root, "config", "core.autocrlf", "true")
    content = {"a.txt": b"crlf\r\nlf\n", "x.up": b"lower\n", "y.id": b"$Id: kept $\n"}
    for name, octets in content.items():
        (root / name).write_bytes(octets)
    git(root, "add", ".")
    saved = world.salvage(alice)
    restore(world.repo, saved.ref, str(world.top.parent / "back"))
    assert {name: (world.top.parent / "back" / name).read_bytes() for name in content} == content


def test_no_identity_is_needed_and_no_hook_runs(world: World, tmp_path: Path) -> None:
    hooks = Path(world.repo.common_dir) / "hooks"
    for name in ("reference-transaction", "post-checkout", "pre-commit", "post-index-change"):
        (hooks / name).write_text(f"#!/bin/sh\necho {name} >> {tmp_path}/ran\nexit 1\n")
        (hooks / name).chmod(0o755)
    _, saved = work(world)
    restore(world.repo, saved.ref, str(tmp_path / "back"))
    assert not (tmp_path / "ran").exists()


def test_works_on_a_copy_of_the_index_while_it_is_locked(world: World) -> None:
    alice = world.member()
    (Path(alice.path) / "a.txt").write_text("staged\n")
    git(alice.path, "add", "a.txt")
    (Path(alice.git_dir or "") / "index.lock").write_text("left by a crash")
    saved = world.salvage(alice)
    assert git(world.top, "show", f"{saved.ref}:index/0/a.txt") == "staged"
    restored = restore(world.repo, saved.ref, str(world.top.parent / "back"))
    git(restored.path, "reset", "-q")  # nothing is locked there


@pytest.mark.parametrize("split", [False, True], ids=["plain", "split"])
def test_F84_what_is_staged_is_saved_beside_a_broken_head(world: World, split: bool) -> None:
    alice = world.member()
    if split:
        git(alice.path, "update-index", "--split-index")
    (Path(alice.path) / "a.txt").write_text("staged\n")
    git(alice.path, "add", "a.txt")
    (Path(alice.path) / "a.txt").write_text("on disk\n")
    Path(alice.git_dir or "", "HEAD").write_text("not a head\n")
    saved = world.salvage(alice)
    assert git(world.top, "show", f"{saved.ref}:index/0/a.txt") == "staged"


def test_what_is_over_a_limit_is_listed_with_its_size_and_the_rest_is_saved(world: World) -> None:
    alice = world.member()
    root = Path(alice.path)
    (root / "small.txt").write_text("small\n")
    (root / "huge.bin").write_bytes(os.urandom(2 << 20))
    (root / "x.log").write_text("log\n")
    (root / "build").mkdir()
    for n in range(3):
        (root / "build" / f"{n}.o").write_bytes(os.urandom(512 << 10))
    saved = world.salvage(alice, max_mb=1, ignored_max_mb=1)
    left = {item.path: item.size for item in saved.left_out}
    assert left == {"huge.bin": 2 << 20, "build/": 3 * (512 << 10)}
    assert not saved.complete
    names = git(world.top, "ls-tree", "-r", "--name-only", saved.ref).split("\n")
    assert {"files/small.txt", "files/x.log"} <= set(names)
    assert "files/huge.bin" not in names and "files/build/0.o" not in names


def test_what_git_already_has_does_not_count_against_the_limit(world: World) -> None:
    (world.top / "big.bin").write_bytes(os.urandom(2 << 20))
    git(world.top, "add", "big.bin")
    git(world.top, "commit", "-qm", "big")
    alice = world.member()
    (Path(alice.path) / "new.txt").write_text("new\n")
    assert world.salvage(alice, max_mb=1).complete


def test_a_large_file_is_streamed_not_held(world: World) -> None:
    alice = world.member()
    with (Path(alice.path) / "huge.bin").open("wb") as file:
        for _ in range(96):
            file.write(os.urandom(1 << 20))
    code = (
        "import sys, json\n"
        "from headcount.domain.findings import Workspace\n"
        "from headcount.workspace.repository import Repository\n"
        "from headcount.workspace.restore import restore\n"
        "from headcount.workspace.salvage import salvage\n"
        "repo = Repository.open(sys.argv[1])\n"
        "saved = salvage(repo, Workspace.from_dict(json.loads(sys.argv[2])))\n"
        "restore(repo, saved.ref, sys.argv[3])\n"
        # Not ru_maxrss: that one is inherited from whoever forked us.
        "print([line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')][0])\n"
    )
    args = [str(world.top), json.dumps(alice.as_dict()), str(world.top.parent / "back")]
    done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, check=True, timeout=100)
    assert int(done.stdout) < 80 * 1024  # kilobytes; the file alone is 96 MB
    original = (Path(alice.path) / "huge.bin").read_bytes()
    assert (world.top.parent / "back" / "huge.bin").read_bytes() == original


def test_special_files_are_listed(world: World) -> None:
    alice = world.member()
    os.mkfifo(Path(alice.path) / "pipe")
    # Bound by a relative name: the limit for a socket's path is shorter than a test's directory.
    here = os.open(".", os.O_RDONLY)
    os.chdir(alice.path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
    os.fchdir(here)
    os.close(here)
    saved = world.salvage(alice)
    assert saved.complete
    assert read_saved(world.repo, saved.ref).manifest["special"] == ["files/pipe", "files/socket"]


GIT_ON_A_FULL_DISK = """#!{python}
import os, resource, signal, sys
if {verb!r} in sys.argv:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
os.execvp("git", ["git", *sys.argv[1:]])
"""


@pytest.mark.parametrize("verb", ["hash-object", "write-tree", "pack-objects"])
def test_C20_full_disk_fails_cleanly_and_nothing_is_half_referenced(
    world: World, tmp_path: Path, verb: str
) -> None:
    alice = world.member()
    (Path(alice.path) / "new.txt").write_text("new\n")
    script = tmp_path / "git-on-a-full-disk"
    script.write_text(GIT_ON_A_FULL_DISK.format(python=sys.executable, verb=verb))
    script.chmod(0o755)
    full = Repository.open(str(world.top), executable=str(script))
    before = git(world.top, "for-each-ref")
    with pytest.raises(WorldError):
        salvage(full, alice)
    assert git(world.top, "for-each-ref") == before
    assert not list(Path(world.repo.objects).glob("headcount-*")), "nothing is left in the object store"
    assert (Path(alice.path) / "new.txt").read_text() == "new\n"
    assert world.salvage(alice).created


GIT_ON_A_DISK_THAT_FORGETS = """#!{python}
import glob, os, sys
if "ls-tree" in sys.argv:
    for kept in glob.glob({packs!r} + "/*.keep"):
        pack = kept[:-4] + "pack"
        os.chmod(pack, 0o644)
        with open(pack, "r+b") as file:
            file.seek(len(open(pack, "rb").read()) // 2)
            file.write(b"other bytes")
os.execvp("git", ["git", *sys.argv[1:]])
"""


def test_C2_C20_what_is_read_back_otherwise_than_it_was_written_is_no_salvage(
    world: World, tmp_path: Path
) -> None:
    alice = world.member()
    new = Path(alice.path) / "new.txt"
    new.write_text("new\n")
    script = tmp_path / "git"
    packs = f"{world.repo.objects}/pack"
    script.write_text(GIT_ON_A_DISK_THAT_FORGETS.format(python=sys.executable, packs=packs))
    script.chmod(0o755)
    before = git(world.top, "for-each-ref")
    new.write_bytes(os.urandom(1 << 16))  # most of the pack, so that it is hit
    content = new.read_bytes()
    with pytest.raises(WorldError) as failed:
        salvage(Repository.open(str(world.top), executable=str(script)), alice)
    assert failed.value.code in ("salvage-differs", "git-failed", "object-missing")
    assert git(world.top, "for-each-ref") == before
    assert new.read_bytes() == content


GIT_THAT_WRITES_SOMETHING_ELSE = """#!{python}
import os, sys
if "--stdin-paths" in sys.argv:
    open({victim!r}, "w").write("changed behind our back")
os.execvp("git", ["git", *sys.argv[1:]])
"""


def test_a_file_that_changes_while_it_is_saved_is_an_error_and_no_ref(world: World, tmp_path: Path) -> None:
    alice = world.member()
    victim = Path(alice.path) / "new.txt"
    victim.write_text("new\n")
    script = tmp_path / "git"
    script.write_text(GIT_THAT_WRITES_SOMETHING_ELSE.format(python=sys.executable, victim=str(victim)))
    script.chmod(0o755)
    with pytest.raises(WorldError) as raised:
        salvage(Repository.open(str(world.top), executable=str(script)), alice)
    assert raised.value.code == "changed-while-reading"
    assert list_salvage(world.repo) == []


def test_salvage_that_takes_too_long_is_an_error_and_no_ref(world: World) -> None:
    alice = world.member()
    (Path(alice.path) / "new.txt").write_text("new\n")
    with pytest.raises(WorldError):
        world.salvage(alice, timeout_s=0)
    assert list_salvage(world.repo) == []


def test_salvage_of_a_workspace_whose_git_directory_is_gone_keeps_its_files_and_branch(world: World) -> None:
    alice = world.member()
    (Path(alice.path) / "a.txt").write_text("committed\n")
    git(alice.path, "commit", "-qam", "work")
    tip = git(alice.path, "rev-parse", "HEAD")
    (Path(alice.path) / "new.txt").write_text("new\n")
    os.rename(alice.git_dir or "", world.top / "elsewhere")
    saved = world.salvage(alice)
    assert git(world.top, "show", f"{saved.ref}:files/new.txt") == "new"
    assert world.repo.is_ancestor(tip, saved.commit)


def test_a_broken_index_does_not_stop_a_salvage(world: World) -> None:
    alice = world.member()
    (Path(alice.git_dir or "") / "index").write_bytes(b"not an index")
    (Path(alice.path) / "new.txt").write_text("new\n")
    saved = world.salvage(alice)
    assert git(world.top, "show", f"{saved.ref}:gitdir/index") == "not an index"
    assert git(world.top, "show", f"{saved.ref}:files/new.txt") == "new"


def test_submodules_are_saved_with_their_unpushed_commits_and_restored_linked(
    world: World, tmp_path: Path
) -> None:
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "-q", "-b", "main")
    (library / "lib.txt").write_text("lib\n")
    git(library, "add", ".")
    git(library, "commit", "-qm", "lib")
    git(world.top, "submodule", "add", "-q", str(library), "deep/lib")
    git(world.top, "commit", "-qm", "submodule")
    world = open_world(world.top)
    alice = world.member()
    git(alice.path, "submodule", "update", "-q", "--init")
    inside = Path(alice.path) / "deep" / "lib"
    (inside / "lib.txt").write_text("unpushed\n")
    git(inside, "commit", "-qam", "unpushed")
    tip = git(inside, "rev-parse", "HEAD")
    (inside / "new.txt").write_text("new\n")
    saved = world.salvage(alice)
    git(world.top, "worktree", "remove", "-f", "-f", alice.path)
    restored = Path(restore(world.repo, saved.ref, str(tmp_path / "back")).path)
    assert git(restored / "deep" / "lib", "rev-parse", "HEAD") == tip
    assert git(restored / "deep" / "lib", "status", "--porcelain") == "?? new.txt"
    assert git(restored, "submodule", "status").startswith(f"+{tip} deep/lib")


def test_repository_without_commits(tmp_path: Path) -> None:
    top = tmp_path / "empty"
    top.mkdir()
    git(top, "init", "-q")
    world = open_world(top)
    alice = world.member()
    assert world.findings(alice).spotless
    (Path(alice.path) / "first.txt").write_text("first\n")
    git(alice.path, "add", "first.txt")
    (Path(alice.path) / "second.txt").write_text("second\n")
    assert world.kinds(alice) == {"staged", "untracked"}
    saved = world.salvage(alice)
    git(top, "worktree", "remove", "-f", "-f", alice.path)
    restored = restore(world.repo, saved.ref, str(tmp_path / "back"))
    assert restored.branch == "headcount/t/alice"
    assert git(restored.path, "status", "--porcelain") == "A  first.txt\n?? second.txt"
    git(restored.path, "commit", "-qm", "the first commit")


def test_bare_main_repository(world: World, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(world.top), "bare.git")
    bare = Repository.open(str(tmp_path / "bare.git"))
    alice = Workspaces(bare, str(tmp_path / "worktrees")).create("t", "alice", 1)
    (Path(alice.path) / "a.txt").write_text("changed\n")
    assert [item.what for item in read_findings(bare, alice).items] == ["a.txt (modified)"]
    saved = salvage(bare, alice)
    git(tmp_path / "bare.git", "worktree", "remove", "-f", "-f", alice.path)
    assert (Path(restore(bare, saved.ref, str(tmp_path / "back")).path) / "a.txt").read_text() == "changed\n"


def test_sha256_repository(tmp_path: Path) -> None:
    top = tmp_path / "sha256"
    top.mkdir()
    git(top, "init", "-q", "--object-format=sha256")
    (top / "a.txt").write_text("a\n")
    git(top, "add", ".")
    git(top, "commit", "-qm", "first")
    world = open_world(top)
    _, saved = work(world)
    assert len(saved.commit) == 64
    assert verify(world.repo, saved.ref, world.member()).ok
