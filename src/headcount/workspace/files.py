"""Small files: our own, written so that a crash leaves the old one or the new one; and others', read so that
nothing is waited for that may stand in their place.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager


class NotAFile(OSError):
    """Something else has the name that a file should have."""


def read_file(path: str, limit: int) -> bytes:
    """The first `limit` bytes. A member may put a pipe here, which is waited for, or a device without end."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise NotAFile(f"{path} is not a file")
        return file.read(limit)


def write_durably(path: str, content: bytes) -> None:
    """Write beside, sync, rename, sync the directory."""
    beside = f"{path}.{os.getpid()}.new"
    with open(beside, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)
    sync_directory(os.path.dirname(path))


def sync_directory(path: str) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def exclusive(path: str) -> Iterator[None]:
    """One at a time, in all threads and processes; the kernel lets go of it when its holder dies."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
