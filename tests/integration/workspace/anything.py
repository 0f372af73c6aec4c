"""Everything a member can do to a workspace, and an account of it that headcount has no part in."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gitworld import git

NAMES = [
    b"plain.txt",
    b"with space",
    b"new\nline",
    b"\xff\xfebytes",
    b'"quoted"',
    b"%percent",
    b"back\\slash",
    b"carriage\r",
    b"-dash",
    "ünïcode".encode(),
    b".gitmodules",
    b"git~1",
]

Action = Callable[[Path, bytes, int], None]


def _at(root: Path, name: bytes) -> Path:
    return Path(os.fsdecode(os.path.join(os.fsencode(root), name)))


def _write(root: Path, name: bytes, n: int, prefix: bytes = b"") -> Path:
    place = _at(root, prefix + name)
    if place.is_dir():
        return place / "x"
    place.write_bytes(os.urandom(64 + n) if n % 2 else b"line %d\r\n" % n)
    return place


def modify(root: Path, name: bytes, n: int) -> None:
    (root / "a.txt").unlink(missing_ok=True)
    (root / "a.txt").write_bytes(b"modified %d\n" % n)


def stage(root: Path, name: bytes, n: int) -> None:
    (root / "b.txt").write_bytes(b"staged %d\n" % n)
    git(root, "add", "b.txt", ok=False)
    (root / "b.txt").write_bytes(b"and changed again %d\n" % n)


def untracked(root: Path, name: bytes, n: int) -> None:
    _write(root, name, n)


def staged_new(root: Path, name: bytes, n: int) -> None:
    _write(root, name, n, b"s-")
    subprocess.run([b"git", b"add", b"--", b"s-" + name], cwd=root, capture_output=True, check=False)


def intent_to_add(root: Path, name: bytes, n: int) -> None:
    _write(root, name, n, b"i-")
    subprocess.run([b"git", b"add", b"-N", b"--", b"i-" + name], cwd=root, capture_output=True, check=False)


def delete(root: Path, name: bytes, n: int) -> None:
    (root / "b.txt").unlink(missing_ok=True)


def delete_staged(root: Path, name: bytes, n: int) -> None:
    git(root, "rm", "-qf", "src/run.sh", ok=False)


def rename(root: Path, name: bytes, n: int) -> None:
    git(root, "mv", "b.txt", f"renamed-{n}", ok=False)


def type_change(root: Path, name: bytes, n: int) -> None:
    (root / "a.txt").unlink(missing_ok=True)
    (root / "a.txt").symlink_to("b.txt")


def file_to_directory(root: Path, name: bytes, n: int) -> None:
    if not (root / "b.txt").is_dir():
        (root / "b.txt").unlink(missing_ok=True)
        (root / "b.txt").mkdir()
    (root / "b.txt" / "inside").write_bytes(b"%d" % n)


def modes(root: Path, name: bytes, n: int) -> None:
    place = _write(root, name, n, b"m-")
    if place.exists():
        place.chmod([0o600, 0o400, 0o755, 0o444, 0o640, 0o700][n % 6])


def read_only_directory(root: Path, name: bytes, n: int) -> None:
    place = root / f"locked-{n}"
    if not place.exists():
        place.mkdir()
        _write(place, name, n)
        place.chmod(0o555)


def ignored(root: Path, name: bytes, n: int) -> None:
    _write(root, name, n, b"ignored-")
    (root / "build").mkdir(exist_ok=True)
    _write(root / "build", name, n)


def empty_directory(root: Path, name: bytes, n: int) -> None:
    (root / f"empty-{n}" / "deeper").mkdir(parents=True, exist_ok=True)


def links(root: Path, name: bytes, n: int) -> None:
    for target in (b"nowhere", b"src", b"..", name):
        place = _at(root, b"link-%d-" % n + target.replace(b".", b"_"))
        if not os.path.lexists(place):
            os.symlink(target, os.fsencode(place))


def binary(root: Path, name: bytes, n: int) -> None:
    (root / f"binary-{n}").write_bytes(os.urandom(300_000))


def special(root: Path, name: bytes, n: int) -> None:
    if not os.path.lexists(root / f"pipe-{n}"):
        os.mkfifo(root / f"pipe-{n}")


def nested(root: Path, name: bytes, n: int) -> None:
    place = root / f"nested-{n}"
    git(root, "init", "-q", str(place))
    _write(place, name, n)
    git(place, "add", ".")
    git(place, "commit", "-qm", "inside", ok=False)
    (place / "dirty").write_bytes(b"%d" % n)


def stash(root: Path, name: bytes, n: int) -> None:
    modify(root, name, n)
    git(root, "stash", "push", "-q", "-m", f"stash {n}", ok=False)


def stash_untracked(root: Path, name: bytes, n: int) -> None:
    (root / f"untracked-{n}").write_bytes(b"in a stash %d" % n)
    git(root, "stash", "push", "-q", "-u", ok=False)


def commit(root: Path, name: bytes, n: int) -> None:
    modify(root, name, n)
    git(root, "commit", "-qam", f"commit {n}", ok=False)


def amend(root: Path, name: bytes, n: int) -> None:
    git(root, "commit", "-q", "--amend", "--allow-empty", "-m", f"amended {n}", ok=False)


def branch(root: Path, name: bytes, n: int) -> None:
    git(root, "checkout", "-qb", f"branch-{n}", ok=False)
    commit(root, name, n + 100)


def detach(root: Path, name: bytes, n: int) -> None:
    git(root, "checkout", "-q", "--detach", ok=False)
    commit(root, name, n + 200)


def _two_sides(root: Path, n: int) -> str:
    side = f"side-{n}"
    here = git(root, "symbolic-ref", "-q", "--short", "HEAD", ok=False) or git(
        root, "rev-parse", "HEAD", ok=False
    )
    git(root, "checkout", "-qb", side, ok=False)
    commit(root, b"", n + 300)
    git(root, "checkout", "-q", here, ok=False)
    commit(root, b"", n + 400)
    return side


def merge(root: Path, name: bytes, n: int) -> None:
    git(root, "merge", "-q", _two_sides(root, n), ok=False)


def rebase(root: Path, name: bytes, n: int) -> None:
    side = _two_sides(root, n)
    if not (root / "b.txt").is_dir():
        (root / "b.txt").write_bytes(b"put aside %d\n" % n)
    git(root, "rebase", "-q", "--autostash", side, ok=False)


def cherry_pick(root: Path, name: bytes, n: int) -> None:
    git(root, "cherry-pick", _two_sides(root, n), ok=False)


def bisect(root: Path, name: bytes, n: int) -> None:
    git(root, "bisect", "start", "HEAD", ok=False)


def assume_unchanged(root: Path, name: bytes, n: int) -> None:
    git(root, "update-index", "--assume-unchanged", "a.txt", ok=False)
    modify(root, name, n)


def filters(root: Path, name: bytes, n: int) -> None:
    (root / ".gitattributes").write_text("*.txt text eol=crlf\n*.id ident\n*.up filter=upper\n")
    git(root, "config", "filter.upper.clean", "tr a-z A-Z")
    (root / "c.txt").write_bytes(b"crlf\r\nlf\n")
    (root / "d.id").write_bytes(b"$Id: not what git would keep $\n")
    (root / "e.up").write_bytes(b"lower\n")
    git(root, "add", "c.txt", "d.id", "e.up", ok=False)


ACTIONS: list[Action] = [
    modify, stage, untracked, staged_new, intent_to_add, delete, delete_staged, rename, type_change,
    file_to_directory, modes, read_only_directory, ignored, empty_directory, links, binary, special, nested,
    stash, stash_untracked, commit, amend, branch, detach, merge, rebase, cherry_pick, bisect,
    assume_unchanged, filters,
]  # fmt: skip


def read_files(root: Path) -> dict[bytes, tuple[Any, ...]]:
    """Every entry with its kind, mode and bytes; pipes cannot be kept by git and are not counted."""
    found: dict[bytes, tuple[Any, ...]] = {}
    for directory, directories, files in os.walk(os.fsencode(root)):
        for name in directories + files:
            path = os.path.join(directory, name)
            relative = os.path.relpath(path, os.fsencode(root))
            mode = os.lstat(path).st_mode
            if relative == b".git" or stat.S_ISFIFO(mode):
                continue
            if stat.S_ISLNK(mode):
                found[relative] = ("link", os.readlink(path))
            elif stat.S_ISDIR(mode):
                found[relative] = ("directory", stat.S_IMODE(mode))
            else:
                found[relative] = ("file", stat.S_IMODE(mode), Path(os.fsdecode(path)).read_bytes())
    return found


def read_account(root: Path) -> dict[str, Any]:
    """What a restored workspace must have in common with the old one."""
    raw = {
        name: subprocess.run(["git", *args], cwd=root, capture_output=True, check=False).stdout
        for name, args in {
            "index": ["ls-files", "--stage", "-z"],
            "flags": ["ls-files", "-v", "-z"],
            "status": ["status", "--porcelain=v2", "-z", "--ignored=matching", "--untracked-files=all"],
            "in words": ["status", "--long", "-uno"],
            "head": ["rev-parse", "HEAD"],
            "on": ["symbolic-ref", "-q", "HEAD"],
        }.items()
    }
    return {"files": read_files(root), **raw}


def read_objects(top: Path) -> set[str]:
    """Every object that any ref, stash, index or reflog of the repository can reach."""
    listed = git(top, "rev-list", "--objects", "--all", "--reflog", "--indexed-objects", "--no-object-names")
    return set(listed.split("\n"))
