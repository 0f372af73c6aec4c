"""What git records about a worktree: its index, hidden changes, its status, operations in progress.

The index lists which paths git tracks, with which bytes. `git ls-files` would cost a process for each
inspection of each workspace; for most workspaces that is half of the inspection. So headcount reads the plain
formats itself (gitformat-index: versions 2 and 3, whole in one file, with a correct checksum), and asks git
about all others.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import struct
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import NamedTuple

from headcount.domain.findings import Checkout
from headcount.value_classes import dataclass
from headcount.workspace.git import Git
from headcount.workspace.safe_files import read_file

GITLINK = 0o160000
LINK = 0o120000
EXECUTABLE = 0o100755
_HASHES = ("sha1", "sha256")
_HEADER = struct.Struct(">4sII")
_EXTENSION = struct.Struct(">4sI")
_MODE_AT = 24  # in an entry; before it are two times, a device and an inode
_OID_AT = 40
_ASSUME_UNCHANGED, _EXTENDED, _STAGE, _NAME_LENGTH = 0x8000, 0x4000, 0x3000, 0x0FFF
_LARGEST = 1 << 30  # bytes
_SKIP_WORKTREE = 0x40  # in the first byte of the extended flags


class Entry(NamedTuple):
    path: bytes
    mode: int
    oid: bytes
    stage: int = 0
    assume_unchanged: bool = False
    skip_worktree: bool = False


def read_index(git: Git) -> list[Entry]:
    """All entries of the index, in every format that there is."""
    assert git.git_dir is not None
    entries = read_plain(os.path.join(git.git_dir, "index"))
    return ask_git(git) if entries is None else entries


def read_plain(path: str) -> list[Entry] | None:
    """The entries of an index in a plain format; None for every other one."""
    try:
        data = read_file(path, _LARGEST + 1)
    except FileNotFoundError:
        return []
    if len(data) > _LARGEST:
        return None
    digest = next((name for name in _HASHES if _is_whole(data, name)), None)
    try:
        return None if digest is None else _entries(data, hashlib.new(digest).digest_size)
    except (struct.error, IndexError, ValueError):
        return None


def ask_git(git: Git) -> list[Entry]:
    """The entries as git lists them. A small letter means "assume unchanged"."""
    entries = []
    for record in git.run("ls-files", "-v", "--stage", "-z").records():
        meta, _, path = record.partition(b"\t")
        tag, mode, oid, stage = meta.split(b" ")
        flags = (tag.islower(), tag in (b"S", b"s"))
        entries.append(Entry(path, int(mode, 8), bytes.fromhex(oid.decode()), int(stage), *flags))
    return entries


def _is_whole(data: bytes, name: str) -> bool:
    size = hashlib.new(name).digest_size
    return hashlib.new(name, memoryview(data)[:-size], usedforsecurity=False).digest() == data[-size:]


def _entries(data: bytes, oid_size: int) -> list[Entry] | None:
    signature, version, count = _HEADER.unpack_from(data)
    if signature != b"DIRC" or version not in (2, 3):
        return None
    found: list[Entry] = []
    at, flags_at = _HEADER.size, _OID_AT + oid_size
    for _ in range(count):
        flags = data[at + flags_at] << 8 | data[at + flags_at + 1]
        mode = data[at + _MODE_AT + 2] << 8 | data[at + _MODE_AT + 3]
        name_at = at + flags_at + (4 if flags & _EXTENDED else 2)
        length = flags & _NAME_LENGTH
        end = name_at + length if length < _NAME_LENGTH else data.index(b"\0", name_at)
        path, oid = data[name_at:end], data[at + _OID_AT : at + flags_at]
        if flags & ~_NAME_LENGTH:
            skipped = bool(flags & _EXTENDED and data[name_at - 2] & _SKIP_WORKTREE)
            stage = (flags & _STAGE) >> 12
            found.append(Entry(path, mode, oid, stage, bool(flags & _ASSUME_UNCHANGED), skipped))
        else:
            found.append(Entry(path, mode, oid))
        at += (end - at + 8) & ~7  # padded with NUL, at least one
    # A split index or a sparse one says so in an extension whose name is in small letters.
    return None if any(name[:1].islower() for name in _extensions(data, at, oid_size)) else found


def _extensions(data: bytes, at: int, oid_size: int) -> Iterator[bytes]:
    while at < len(data) - oid_size:
        name, size = _EXTENSION.unpack_from(data, at)
        yield name
        at += _EXTENSION.size + size


# --- hidden ----------------------------------------------------------------------------------------------
#
# Changes that git was told not to look at.
#
# `git update-index --assume-unchanged` and `--skip-worktree` make `git status` pass over a path, whatever is
# in it. headcount asks for the same status of a copy of the index without these flags.


def find_hidden(git: Git, entries: Iterable[Entry]) -> frozenset[str]:
    """Paths that git passes over though they may differ."""
    assert git.work_tree is not None
    flagged = [entry for entry in entries if entry.assume_unchanged or entry.skip_worktree]
    root = os.fsencode(git.work_tree)
    # Skipped and not there is what a sparse checkout is; skipped and there may be anything.
    return frozenset(
        os.fsdecode(entry.path)
        for entry in flagged
        if not entry.skip_worktree or os.path.lexists(os.path.join(root, entry.path))
    )


@contextmanager
def unhidden(git: Git, hidden: frozenset[str]) -> Iterator[Git]:
    """Git on a copy of the index without the flags; on the index itself if `hidden` is empty."""
    if not hidden:
        yield git
        return
    assert git.git_dir is not None
    with tempfile.TemporaryDirectory(prefix="headcount-") as scratch:
        copy = os.path.join(scratch, "index")
        shutil.copyfile(os.path.join(git.git_dir, "index"), copy)
        seeing = git.with_index(copy)
        paths = b"".join(os.fsencode(path) + b"\0" for path in sorted(hidden))
        for flag in ("--no-assume-unchanged", "--no-skip-worktree"):
            seeing.run("update-index", flag, "-z", "--stdin", stdin=paths)
        yield seeing


# --- status ----------------------------------------------------------------------------------------------
#
# `git status --porcelain=v2`, read into values.


# Config of the repository, or of a member, must not hide anything: everything is asked for by name.
COMMAND = (
    "status",
    "--porcelain=v2",
    "-z",
    "--branch",
    "--untracked-files=all",
    "--ignored=matching",
    # A git that looked into a submodule would read its configuration. What is in there is read on its own.
    "--ignore-submodules=dirty",
    "--find-renames",
)


@dataclass(frozen=True, slots=True)
class Changed:
    """A tracked path that differs: `staged` from HEAD, `unstaged` from the index, in git's letters."""

    path: str
    staged: str
    unstaged: str
    submodule: str
    old_path: str | None = None

    @property
    def submodule_commit_changed(self) -> bool:
        return self.submodule.startswith("S") and "C" in self.submodule


@dataclass(slots=True)
class Status:
    head: str | None = None
    branch: str | None = None
    changed: list[Changed] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    untracked: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)

    def list_untracked_since_head(self) -> Iterator[bytes]:
        """Paths that HEAD has and the index has no more: an index that was lost or emptied tracks nothing."""
        for entry in self.changed:
            if entry.staged in ("D", "R"):
                yield os.fsencode(entry.old_path or entry.path)


def read_status(git: Git) -> Status:
    return parse_status(git.run(*COMMAND).records())


def parse_status(records: list[bytes]) -> Status:
    """An untracked or ignored path that ends in `/` is a nested repository, or an ignored directory."""
    status = Status()
    rest = iter(records)
    for record in rest:
        _take(status, os.fsdecode(record), rest)
    return status


def _take(status: Status, line: str, rest: Iterator[bytes]) -> None:
    match line[0]:
        case "#":
            _take_header(status, line)
        case "1":
            _, letters, submodule, *_, path = line.split(" ", 8)
            status.changed.append(Changed(path, letters[0], letters[1], submodule))
        case "2":
            _, letters, submodule, *_, path = line.split(" ", 9)
            old_path = os.fsdecode(next(rest))
            status.changed.append(Changed(path, letters[0], letters[1], submodule, old_path))
        case "u":
            status.conflicts.append(line.split(" ", 10)[10])
        case "?":
            status.untracked.append(line[2:])
        case "!":
            status.ignored.append(line[2:])


def _take_header(status: Status, line: str) -> None:
    _, name, value = line.split(" ", 2)
    if name == "branch.oid" and value != "(initial)":
        status.head = value
    if name == "branch.head" and value != "(detached)":
        status.branch = value


# --- operations ------------------------------------------------------------------------------------------
#
# Operations that git has begun in a worktree and not ended.


@dataclass(frozen=True, slots=True)
class Operation:
    """`file` is the state, inside the git directory, that shows it; `oid` what it is about, if it says so."""

    name: str
    file: str
    oid: str | None = None


_HEADS = (("MERGE_HEAD", "merge"), ("CHERRY_PICK_HEAD", "cherry-pick"), ("REVERT_HEAD", "revert"))
_USUAL_DIRECTORY = re.compile(r"logs|refs|modules|rebase-merge|rebase-apply|sequencer|fsmonitor--daemon")
_USUAL_FILE = re.compile(
    r"[A-Z][A-Z0-9_]*|index|index\.lock|sharedindex\..*|commondir|gitdir|locked|headcount\..*"
)
_AUTOSTASHES = ("rebase-merge/autostash", "rebase-apply/autostash", "MERGE_AUTOSTASH")


def read_operations(git_dir: str) -> list[Operation]:
    def there(name: str) -> bool:
        return os.path.lexists(os.path.join(git_dir, name))

    found = [Operation(name, file, _oid(git_dir, file)) for file, name in _HEADS if there(file)]
    if there("rebase-merge"):
        found.append(Operation("rebase", "rebase-merge", _oid(git_dir, "rebase-merge/orig-head")))
    if there("rebase-apply"):
        name = "am" if there("rebase-apply/applying") else "rebase"
        found.append(Operation(name, "rebase-apply", _oid(git_dir, "rebase-apply/orig-head")))
    if there("BISECT_LOG"):
        found.append(Operation("bisect", "BISECT_LOG"))
    # Between two picks of a series there is a sequencer and no *_HEAD.
    if there("sequencer") and not any(operation.name in ("cherry-pick", "revert") for operation in found):
        found.append(Operation("cherry-pick or revert", "sequencer", _oid(git_dir, "sequencer/head")))
    return found


def read_autostashes(git_dir: str) -> list[str]:
    """Object ids of what a rebase or merge put aside and has not put back."""
    found = (_oid(git_dir, file) for file in _AUTOSTASHES)
    return [oid for oid in found if oid]


def list_private_files(git_dir: str, checkout: Checkout | None) -> list[str]:
    """Files in a worktree's private git directory that neither git's usual work nor headcount put there:
    settings of the worktree alone (`config.worktree`), patterns of a sparse checkout, files of the member.

    All that git writes by itself is derived from elsewhere, or read as refs, operations and submodules.
    """
    began, ended = (checkout.began_ns, checkout.ended_ns) if checkout else (0, 0)
    found = []
    for directory, names, files in os.walk(git_dir):
        if directory == git_dir:
            names[:] = [name for name in names if not _USUAL_DIRECTORY.fullmatch(name)]
            files = [name for name in files if not _USUAL_FILE.fullmatch(name)]
        for name in files:
            path = os.path.join(directory, name)
            if not began <= os.lstat(path).st_ctime_ns < ended:
                found.append(os.path.relpath(path, git_dir))
    return sorted(found)


def _oid(git_dir: str, file: str) -> str | None:
    try:
        start = read_file(os.path.join(git_dir, file), 64)
        return start.split(b"\n")[0].strip().decode("ascii", "replace") or None
    except OSError:
        return None
