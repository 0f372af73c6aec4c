"""Git's index, as far as its flags go.

Asking `git ls-files` costs a process for each look at each workspace; for most workspaces that is half of
the look. So the plain formats are read here (gitformat-index: versions 2 and 3, whole in one file, its
checksum right), and of everything else it is said that it is not known: then git is asked.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from typing import NamedTuple

from headcount.workspace.files import read_file

GITLINK = 0o160000
_HASHES = ("sha1", "sha256")
_HEADER = struct.Struct(">4sII")
_EXTENSION = struct.Struct(">4sI")
_MODE_AT = 24  # in an entry; before it are two times, a device and an inode
_OID_AT = 40
_ASSUME_UNCHANGED, _EXTENDED, _NAME_LENGTH = 0x8000, 0x4000, 0x0FFF
_LARGEST = 1 << 30  # bytes
_SKIP_WORKTREE = 0x40  # in the first byte of the extended flags


class Entry(NamedTuple):
    path: bytes
    mode: int
    assume_unchanged: bool
    skip_worktree: bool


def read_unusual(path: str) -> list[Entry] | None:
    """The entries that git was told not to look at, and the submodules; None: not known, ask git."""
    try:
        data = read_file(path, _LARGEST + 1)
    except FileNotFoundError:
        return []
    if len(data) > _LARGEST:
        return None
    digest = next((name for name in _HASHES if _is_whole(data, name)), None)
    try:
        return None if digest is None else _unusual(data, hashlib.new(digest).digest_size)
    except (struct.error, IndexError, ValueError):
        return None


def _is_whole(data: bytes, name: str) -> bool:
    size = hashlib.new(name).digest_size
    return hashlib.new(name, memoryview(data)[:-size], usedforsecurity=False).digest() == data[-size:]


def _unusual(data: bytes, oid_size: int) -> list[Entry] | None:
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
        if flags & (_ASSUME_UNCHANGED | _EXTENDED) or mode == GITLINK:
            skipped = bool(flags & _EXTENDED and data[name_at - 2] & _SKIP_WORKTREE)
            found.append(Entry(data[name_at:end], mode, bool(flags & _ASSUME_UNCHANGED), skipped))
        at += (end - at + 8) & ~7  # padded with NUL, at least one
    # A split index or a sparse one says so in an extension whose name is in small letters.
    return None if any(name[:1].islower() for name in _extensions(data, at, oid_size)) else found


def _extensions(data: bytes, at: int, oid_size: int) -> Iterator[bytes]:
    while at < len(data) - oid_size:
        name, size = _EXTENSION.unpack_from(data, at)
        yield name
        at += _EXTENSION.size + size
