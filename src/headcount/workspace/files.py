"""Small files of our own, written so that a crash leaves the old one or the new one."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager


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
