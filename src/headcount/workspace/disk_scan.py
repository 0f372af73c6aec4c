"""Read a directory from disk: each entry with its mode, and a content hash made without git.

The scan follows no link, applies no filter and writes nothing. `hashlib` computes the names that git
would give the contents, so headcount can check what git wrote against what it read.
"""

from __future__ import annotations

import hashlib
import math
import mmap
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterable
from dataclasses import field
from typing import NamedTuple

from headcount.errors import WorldError
from headcount.value_classes import dataclass
from headcount.workspace.safe_files import DEEPEST, is_long, list_names, reach

CHUNK = 1 << 20
_DIGESTS = {"sha1": hashlib.sha1, "sha256": hashlib.sha256}


class Node(NamedTuple):
    """One entry. `path` is relative, in bytes; `stamp` tells whether it was replaced or written since."""

    path: bytes
    mode: int
    size: int
    stamp: tuple[int, int, int]

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.mode)

    @property
    def is_link(self) -> bool:
        return stat.S_ISLNK(self.mode)

    @property
    def is_directory(self) -> bool:
        return stat.S_ISDIR(self.mode)

    @property
    def is_socket(self) -> bool:
        return stat.S_ISSOCK(self.mode)

    @property
    def tree_mode(self) -> str:
        """The mode that git has for it."""
        if self.is_link:
            return "120000"
        return "100755" if self.mode & 0o100 else "100644"


@dataclass(slots=True)
class Listing:
    """Everything below a directory, parents before children, and what could not be listed."""

    nodes: list[Node] = field(default_factory=list)
    unreadable: list[tuple[bytes, str]] = field(default_factory=list)


def list_directory(root: bytes, skip: Callable[[bytes], bool]) -> Listing:
    """List what is below `root`, without what `skip` says; a root that is gone has nothing below it."""
    listing = Listing()
    pending = [b""] if os.path.lexists(root) else []
    while pending:
        directory = pending.pop()
        if directory.count(b"/") >= DEEPEST:
            listing.unreadable.append((directory[:80], f"nested more than {DEEPEST} directories deep"))
            continue
        try:
            names = list_names(root, directory)
        except OSError as error:
            listing.unreadable.append((directory, error.strerror or str(error)))
            continue
        before = directory + b"/" if directory else b""
        for name in names:
            path = before + name
            if skip(path):
                continue
            try:
                node = read_node(root, path)
            except PermissionError as error:  # its directory may be listed, and not entered
                listing.unreadable.append((path, error.strerror or str(error)))
                continue
            listing.nodes.append(node)
            if node.is_directory:
                pending.append(path)
    return listing


def read_node(root: bytes, path: bytes) -> Node:
    if is_long(root, path):
        with reach(root, path) as (fd, name):
            found = os.lstat(name, dir_fd=fd)
    else:  # nearly always, and twice as fast
        found = os.lstat(root + b"/" + path)
    return Node(path, found.st_mode, found.st_size, (found.st_ino, found.st_size, found.st_mtime_ns))


def hash_node(root: bytes, node: Node, algorithm: str, deadline: float = math.inf) -> str:
    """The blob name of a file's bytes or of a link's target. OSError if it cannot be read, or not in time."""
    return hash_path(root, node.path, node.is_link, algorithm, deadline)


def hash_path(root: bytes, path: bytes, is_link: bool, algorithm: str, deadline: float = math.inf) -> str:
    if is_link:
        target = read_link(root, path)
        return hash_blob(algorithm, len(target), [target])
    file = open_path(root, path)
    try:
        size = os.fstat(file).st_size
        if size < CHUNK:  # nearly always: one read, which would also return a byte too many
            content = _read_in_time(file, size + 1, deadline)
            while len(content) < size and (more := _read_in_time(file, size + 1, deadline)):
                content += more
            return hash_bytes(algorithm, "blob", size, content)
        return hash_blob(algorithm, size, iter(lambda: _read_in_time(file, CHUNK, deadline), b""))
    finally:
        os.close(file)


def open_path(root: bytes, path: bytes) -> int:
    """A descriptor to read a file by; never what a link leads to, and never waiting for a pipe."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    if not is_long(root, path):
        return os.open(root + b"/" + path, flags)
    with reach(root, path) as (fd, name):
        return os.open(name, flags, dir_fd=fd)


def read_link(root: bytes, path: bytes) -> bytes:
    with reach(root, path) as (fd, name):
        return os.readlink(name, dir_fd=fd)


def copy_node(root: bytes, node: Node, to: bytes) -> None:
    """Write a file's bytes, or a link's target, to the new file `to`."""
    with open(to, "xb") as copy:
        if node.is_link:
            copy.write(read_link(root, node.path))
            return
        with open(open_path(root, node.path), "rb") as file:
            shutil.copyfileobj(file, copy, CHUNK)


def _read_in_time(file: int, size: int, deadline: float) -> bytes:
    if time.monotonic() > deadline:
        raise TimeoutError("reading took too long")
    return os.read(file, size)


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a file system records.

    `now_ns` is its present time, None if it misses writes through mapped memory. `umask` is what it takes
    from the permissions of new files, None if it does not keep permissions.
    """

    now_ns: int | None
    umask: int | None


def try_recording(place: str) -> Recorded:
    """Learn from a file of our own, made beside `place` and removed again, what the file system records."""
    path = f"{place}.probe"
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o777)
    try:
        os.write(file, b"0")
        made = os.fstat(file)
        os.fchmod(file, 0o640)
        keeps_modes = stat.S_IMODE(os.fstat(file).st_mode) == 0o640
        os.utime(file, ns=(0, 0))
        with mmap.mmap(file, 1) as mapped:
            # Read first: tmpfs makes a page writable at its first use, and then misses the write.
            mapped[0] ^= 1
        last = os.fstat(file)
    finally:
        os.close(file)
        os.unlink(path)
    umask = 0o777 & ~stat.S_IMODE(made.st_mode)
    sees_mapped = last.st_mtime_ns != 0
    return Recorded(last.st_ctime_ns if sees_mapped else None, umask if keeps_modes else None)


def read_boot_time() -> int:
    """The time of day at which the machine was started, by its present clock. It changes when someone sets
    the clock, and not when the clock is slewed. The best of a few readings: this thread may wait between."""
    readings = []
    for _ in range(5):
        before = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        now = time.time_ns()
        after = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        readings.append((after - before, now - after))
    return min(readings)[1]


def hash_blob(algorithm: str, size: int, chunks: Iterable[bytes]) -> str:
    return hash_object(algorithm, "blob", size, chunks)


def hash_bytes(algorithm: str, kind: str, size: int, content: bytes) -> str:
    """As `hash_object`, for content that is in memory."""
    if len(content) != size:
        return hash_object(algorithm, kind, size, [content])  # which raises
    digest = _DIGESTS[algorithm](b"%s %d\0" % (kind.encode(), size), usedforsecurity=False)
    digest.update(content)
    return digest.hexdigest()


def hash_object(algorithm: str, kind: str, size: int, chunks: Iterable[bytes]) -> str:
    digest = hashlib.new(algorithm, b"%s %d\0" % (kind.encode(), size), usedforsecurity=False)
    seen = 0
    for chunk in chunks:
        digest.update(chunk)
        seen += len(chunk)
    if seen != size:
        raise WorldError(
            "A file changed while it was read",
            f"{seen} bytes instead of {size}",
            code="changed-while-reading",
        )
    return digest.hexdigest()
