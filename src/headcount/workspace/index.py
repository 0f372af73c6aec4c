"""Git's index: which paths git tracks, with which bytes, and where it was told not to look.

Asking `git ls-files` costs a process for each inspection of each workspace; for most workspaces that is half
of the inspection. So headcount reads the plain formats itself (gitformat-index: versions 2 and 3, whole in
one file, with a correct checksum), and asks git about all others.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

from headcount.workspace.files import read_file
from headcount.workspace.git import Git

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
