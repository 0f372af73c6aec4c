"""A salvage from elsewhere is an archive from a stranger. Restoring it writes below its target only."""

from __future__ import annotations

import io
import json
import os
import shutil
import stat
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from gitworld import World, git

from headcount.domain.findings import Archive
from headcount.errors import HeadcountError, WorldError
from headcount.workspace.archive import _digest, restore_archive, verify_archive
from headcount.workspace.restore import restore
from headcount.workspace.safe_files import Target
from headcount.workspace.verify import verify

REF = "refs/headcount/salvage/t/mallory/1"
Entry = tuple[str, str, bytes]  # mode, path in the salvage's tree, content


def put(world: World, *args: str, stdin: bytes) -> str:
    done = subprocess.run(["git", *args], cwd=world.top, input=stdin, capture_output=True, check=True)
    return done.stdout.decode().strip()


def tree_of(world: World, entries: dict[str, Any]) -> str:
    """A tree by hand: git's own commands would refuse some of these names."""
    raw = b""
    for name, value in sorted(entries.items()):
        if isinstance(value, dict):
            mode, oid = b"40000", tree_of(world, value)
        else:
            mode, oid = value[0].encode(), put(world, "hash-object", "-w", "--stdin", stdin=value[1])
        raw += mode + b" " + name.encode() + b"\0" + bytes.fromhex(oid)
    return put(world, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=raw)


def forge(world: World, files: list[Entry], **changes: Any) -> str:
    """A salvage that was never taken, with these files and this manifest."""
    head = git(world.top, "rev-parse", "HEAD")
    manifest: dict[str, Any] = {
        "version": 1,
        "workspace": {
            "team": "t",
            "member": "mallory",
            "generation": 1,
            "path": "/gone",
            "git_dir": "/gone/.git",
        },
        "limits": [1, 1],
        "head": head,
        "head_ref": "refs/heads/mallory",
        "branches": {},
        "stashes": [],
        "modes": {"100644": 0o644, "100755": 0o755, "directory": 0o755},
        "odd_modes": {},
        "empty_directories": [],
        "special": [],
        "left_out": [],
    }
    top: dict[str, Any] = {"manifest.json": ("100644", json.dumps({**manifest, **changes}).encode())}
    for mode, path, content in files:
        *parents, name = path.split("/")
        at = top
        for parent in parents:
            at = at.setdefault(parent, {})
        at[name] = (mode, content)
    commit = git(world.top, "commit-tree", tree_of(world, top), "-p", head, "-m", "headcount: forged")
    git(world.top, "update-ref", REF, commit)
    return REF


def snapshot(place: Path) -> set[tuple[str, int]]:
    return {(str(path), path.lstat().st_mode) for path in place.rglob("*") if ".git" not in path.parts}


NAMES = [
    "files/%../escaped",
    "files/a/%../%../%../escaped",
    "files/../escaped",
    "files/./escaped",
    "files/%/escaped",
    "files/%./escaped",
    "files/%name",  # not as we write it
    "files/.git/config",
    "files/.GIT/config",
    "gitdir/%../escaped",
    "gitdir/commondir",
    "gitdir/COMMONDIR",
    "gitdir/gitdir",
    "gitdir/locked",
    "gitdir/headcount.json",
]


@pytest.mark.parametrize("name", NAMES)
def test_F45_a_name_that_leads_elsewhere_is_refused_and_nothing_is_written(
    world: World, tmp_path: Path, name: str
) -> None:
    ref = forge(world, [("100644", "files/fine.txt", b"fine\n"), ("100644", name, b"evil\n")])
    before = snapshot(tmp_path)
    with pytest.raises(HeadcountError) as raised:
        restore(world.repo, ref, str(tmp_path / "deep" / "in" / "back"))
    assert raised.value.code == "salvage-unsafe"
    assert snapshot(tmp_path) == before
    assert not verify(world.repo, ref).ok, "and `salvage verify` names it"
    with pytest.raises(HeadcountError):
        world.workspaces.create("t", "next", 1, base=ref)


def test_F45_nothing_is_written_through_a_link(world: World, tmp_path: Path) -> None:
    """A tree with a link and a directory of one name, which git's own commands do not make."""
    (tmp_path / "outside").mkdir()
    link = put(world, "hash-object", "-w", "--stdin", stdin=str(tmp_path / "outside").encode())
    inner = tree_of(world, {"escaped": ("100644", b"evil\n")})
    raw = b"120000 a\0" + bytes.fromhex(link) + b"40000 a\0" + bytes.fromhex(inner)
    files = put(world, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=raw)
    ref = forge(world, [("100644", "files/fine.txt", b"fine\n")])
    manifest = git(world.top, "rev-parse", f"{ref}:manifest.json")
    raw = b"40000 files\0" + bytes.fromhex(files) + b"100644 manifest.json\0" + bytes.fromhex(manifest)
    tree = put(world, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=raw)
    git(world.top, "update-ref", ref, git(world.top, "commit-tree", tree, "-m", "headcount: forged"))
    assert not verify(world.repo, ref).ok
    with pytest.raises(HeadcountError):
        restore(world.repo, ref, str(tmp_path / "back"))
    assert os.listdir(tmp_path / "outside") == []


def test_F45_the_writer_itself_follows_no_link_and_leaves_no_root(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link").symlink_to(tmp_path / "outside")
    target = Target(os.fsencode(tmp_path / "in"))
    for path in (b"link/x", b"../x", b"/x", b"a//x", b"a/./x", b"", b"a/\0x"):
        with pytest.raises(HeadcountError):
            target.write_file(path, [b"evil"])
    with pytest.raises(HeadcountError):
        target.delete(b"link/x")
    target.write_file(b"link", [b"a file now"], replace=True)
    assert (tmp_path / "in" / "link").read_text() == "a file now"
    with pytest.raises(FileExistsError):
        target.write_file(b"link", [b"over what is there"])
    target.set_mode(b"../outside", 0o000)
    assert os.listdir(tmp_path / "outside") == []
    assert stat.S_IMODE((tmp_path / "outside").stat().st_mode) != 0


@pytest.mark.parametrize(
    "changes",
    [
        {"odd_modes": {"files/../../..": 0o777}},
        {"odd_modes": {"files/fine.txt": 0o100777}},
        {"odd_modes": {"files/fine.txt": "0o777"}},
        {"modes": {"100644": -1}},
        {"empty_directories": ["files/../escaped"]},
        {"empty_directories": ["/escaped"]},
        {"empty_directories": [7]},
        {"special": ["files/../pipe"]},
        {"head": "--upload-pack=evil"},
        {"head": "HEAD"},
        {"head_ref": "refs/heads/../../../escaped"},
        {"head_ref": "refs/heads/x\nevil"},
        {"head_ref": "/etc/passwd"},
        {"branches": {"../x": "0" * 40}},
        {"branches": {"x": "HEAD"}},
        {"branches": ["x"]},
        {"stashes": [["HEAD", "text"]]},
        {"stashes": [[]]},
        {"workspace": {"path": "/"}},
        {"workspace": None},
        {"left_out": [["x"]]},
        {"version": 2},
        {"limits": "all"},
    ],
    ids=lambda changes: "-".join(f"{key}={value}" for key, value in changes.items())[:40],
)
def test_F49_a_manifest_that_no_salvage_has_is_refused(
    world: World, tmp_path: Path, changes: dict[str, Any]
) -> None:
    ref = forge(world, [("100644", "files/fine.txt", b"fine\n")], **changes)
    before = git(world.top, "for-each-ref"), snapshot(tmp_path)
    with pytest.raises(HeadcountError) as raised:
        restore(world.repo, ref, str(tmp_path / "back"))
    assert raised.value.code == "salvage-unsafe"
    assert (git(world.top, "for-each-ref"), snapshot(tmp_path)) == before
    assert not verify(world.repo, ref).ok


@pytest.mark.parametrize("content", [b"[]", b"{", b"[" * 200_000, b"\xff", b"null"])
def test_F49_a_manifest_that_cannot_be_read_is_an_error_of_the_salvage(world: World, content: bytes) -> None:
    ref = forge(world, [("100644", "manifest.json", content)])
    with pytest.raises(WorldError):
        verify(world.repo, ref)


def test_F49_a_huge_manifest_is_not_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[verify.__module__], "_LARGEST_MANIFEST", 1000)
    ref = forge(world, [], special=["files/" + "x" * 1000])
    with pytest.raises(WorldError) as raised:
        verify(world.repo, ref)
    assert "its manifest has" in raised.value.why


def test_F49_trees_that_hold_each_other_many_times_are_not_unfolded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[verify.__module__], "_MOST_ENTRIES", 1000)
    ref = forge(world, [])
    manifest = git(world.top, "rev-parse", f"{ref}:manifest.json")
    oid = put(world, "hash-object", "-w", "--stdin", stdin=b"x")
    tree = put(world, "mktree", stdin=f"100644 blob {oid}\tx\n".encode())
    for _ in range(11):
        tree = put(world, "mktree", stdin=f"040000 tree {tree}\ta\n040000 tree {tree}\tb\n".encode())
    top = put(
        world,
        "mktree",
        stdin=f"040000 tree {tree}\tfiles\n100644 blob {manifest}\tmanifest.json\n".encode(),
    )
    git(world.top, "update-ref", ref, git(world.top, "commit-tree", top, "-m", "headcount: forged"))
    with pytest.raises(WorldError) as raised:
        verify(world.repo, ref)
    assert raised.value.why == "it has more than 1,000 files"


def test_F45_a_forged_salvage_without_faults_is_restored_without_its_powers(
    world: World, tmp_path: Path
) -> None:
    """What can run a command by itself stays behind: setuid, settings of the worktree, the link to git."""
    git(world.top, "config", "extensions.worktreeConfig", "true")
    ref = forge(
        world,
        [
            ("100755", "files/tool", b"#!/bin/sh\n"),
            ("100644", "files/%.git/config", b"[core]\n\tfsmonitor = evil\n"),
            ("100644", "gitdir/config.worktree", b"[core]\n\tfsmonitor = touch evil\n"),
        ],
        odd_modes={"files/tool": 0o6755},
    )
    restored = restore(world.repo, ref, str(tmp_path / "back"))
    back = Path(restored.path)
    assert stat.S_IMODE((back / "tool").stat().st_mode) == 0o755
    assert (back / ".git").is_file() and (back / ".git.salvaged" / "config").exists()
    git_dir = Path(world.repo.find_git_dir(restored.path) or "")
    assert not (git_dir / "config.worktree").exists()
    git(back, "status")
    assert not (back / "evil").exists()
    assert any("config.worktree" in note for note in restored.notes)
    assert any(".git.salvaged" in note for note in restored.notes)


def test_settings_of_a_sparse_worktree_come_back(world: World, tmp_path: Path) -> None:
    git(world.top, "config", "extensions.worktreeConfig", "true")
    alice = world.member()
    git(alice.path, "sparse-checkout", "set", "src")
    (Path(alice.path) / "new.txt").write_text("new\n")
    saved = world.salvage(alice)
    restored = restore(world.repo, saved.ref, str(tmp_path / "back"))
    assert git(restored.path, "config", "--worktree", "core.sparseCheckout") == "true"
    assert git(restored.path, "status", "--porcelain") == "?? new.txt"


def test_F45_what_has_no_room_is_refused_before_the_first_byte(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = forge(world, [("100644", f"files/{n}", b"x" * 1000) for n in range(3)])
    free = type("Usage", (), {"free": 2000})
    monkeypatch.setattr(shutil, "disk_usage", lambda _: free)
    with pytest.raises(WorldError) as raised:
        restore(world.repo, ref, str(tmp_path / "back"))
    assert raised.value.why.startswith("it has 3,000 bytes")
    assert not (tmp_path / "back").exists()


def test_F45_going_on_from_a_salvage_replaces_and_never_deletes_first(world: World, tmp_path: Path) -> None:
    alice = world.member()
    root = Path(alice.path)
    (root / "a.txt").write_text("changed\n")
    (root / "b.txt").unlink()
    (root / "b.txt").mkdir()
    (root / "b.txt" / "inside").write_text("a directory now\n")
    (root / "src" / "run.sh").unlink()
    (root / "src" / "run.sh").symlink_to(tmp_path)
    saved = world.salvage(alice)
    fresh = world.workspaces.create("t", "next", 1, base=saved.ref)
    root = Path(fresh.path)
    assert (root / "a.txt").read_text() == "changed\n"
    assert (root / "b.txt" / "inside").read_text() == "a directory now\n"
    assert os.readlink(root / "src" / "run.sh") == str(tmp_path)
    assert not list(root.rglob(".headcount-new*"))


def forged_tar(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Archive:
    with tarfile.open(path, "w") as tar:
        for info, content in members:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return Archive(str(path), _digest(str(path)), len(members), path.stat().st_size)


def entry(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", mode: int = 0o644) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, link, mode
    return info


@pytest.mark.parametrize(
    "members",
    [
        [(entry("../escaped"), b"evil")],
        [(entry("/tmp/escaped-by-headcount"), b"evil")],
        [(entry("a/../../escaped"), b"evil")],
        [(entry("link", tarfile.SYMTYPE, ".."), b""), (entry("link/escaped"), b"evil")],
        [(entry("hard", tarfile.LNKTYPE, "../mine"), b"")],
        [(entry("hard", tarfile.LNKTYPE, "/etc/passwd"), b"")],
        [
            (entry("soft", tarfile.SYMTYPE, "../mine"), b""),
            (entry("hard", tarfile.LNKTYPE, "soft"), b""),
        ],
    ],
)
def test_F46_a_tar_that_leads_elsewhere_is_refused(
    tmp_path: Path, members: list[tuple[tarfile.TarInfo, bytes]]
) -> None:
    (tmp_path / "mine").write_text("mine\n")
    kept = forged_tar(tmp_path / "evil.tar", *members)
    with pytest.raises(HeadcountError):
        restore_archive(kept, str(tmp_path / "back"))
    assert not (tmp_path / "escaped").exists() and not os.path.lexists("/tmp/escaped-by-headcount")
    assert (tmp_path / "mine").stat().st_nlink == 1


def test_F46_modes_of_a_tar_give_nobody_another_users_rights_and_devices_are_not_made(tmp_path: Path) -> None:
    kept = forged_tar(
        tmp_path / "evil.tar",
        (entry("tool", mode=0o6755), b"#!/bin/sh\n"),
        (entry("device", tarfile.CHRTYPE), b""),
        (entry("pipe", tarfile.FIFOTYPE), b""),
        (entry("shared", tarfile.DIRTYPE, mode=0o2777), b""),
    )
    assert verify_archive(kept) == []
    notes = restore_archive(kept, str(tmp_path / "back"))
    assert stat.S_IMODE((tmp_path / "back" / "tool").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "back" / "shared").stat().st_mode) == 0o777
    assert sorted(os.listdir(tmp_path / "back")) == ["shared", "tool"]
    assert len(notes) == 2
