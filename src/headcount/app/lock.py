"""Who drives a state directory: a lock file that the kernel frees the moment its holder dies.

Apart from the engine, because looking costs nothing, and the engine is much to import.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOOK_S = 0.005  # whoever only looks holds the lock for a moment
_LOOKS = 10


@contextmanager
def drive_lock(home: str) -> Iterator[bool]:
    """True while this process is the one that drives; False at once when another is."""
    fd = os.open(f"{home}/engine.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _lock(fd):
            yield False
            return
        os.ftruncate(fd, 0)
        os.write(fd, f"{os.getpid()}\n".encode())
        yield True
    finally:
        os.close(fd)


def _lock(fd: int) -> bool:
    for _ in range(_LOOKS):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            time.sleep(_LOOK_S)
    return False


def is_driven(home: str) -> bool:
    """By a shared lock, so that two who look at once do not take each other for the one that drives."""
    fd = os.open(f"{home}/engine.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
