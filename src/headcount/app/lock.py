"""Who drives a state directory: a lock file that the kernel frees the moment its holder dies.

Apart from the engine, because looking costs nothing, and the engine is much to import.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager

from headcount.app.ancestry import LOCK, NAMESPACE, is_stopped, read_namespace, read_record
from headcount.errors import ProcessError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LOOK_S = 0.005  # whoever only looks holds the lock for a moment
_LOOKS = 10


class DriveLock:
    """Held. It is freed at the end of the block, or, once it is to be kept, with this process."""

    def __init__(self) -> None:
        self.kept = False

    def keep(self) -> None:
        self.kept = True


@contextmanager
def drive_lock(home: str) -> Iterator[DriveLock | None]:
    """The lock while this process is the one that drives; None at once when another is."""
    fd = _open(home)
    lock = None
    try:
        if not _lock(fd):
            yield None
            return
        os.ftruncate(fd, 0)
        os.write(fd, f"{os.getpid()}\n".encode())
        _write_namespace(home)
        lock = DriveLock()
        yield lock
    finally:
        if lock is None or not lock.kept:
            if lock is not None:
                os.ftruncate(fd, 0)  # who reads it next finds nobody, and not who was there last
            os.close(fd)


def _write_namespace(home: str) -> None:
    """For callers, which may not be in another one. Written whole: they read it at any time."""
    new = f"{home}/{NAMESPACE}.{os.getpid()}"
    with open(new, "w", encoding="ascii") as file:
        file.write(read_namespace())
    os.replace(new, f"{home}/{NAMESPACE}")


def _open(home: str) -> int:
    """A link is not followed and a pipe not waited for: a member can put either there. Raises
    FileNotFoundError if the state directory is gone."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.open(f"{home}/{LOCK}", flags, 0o600)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ProcessError(
            f"{home}/{LOCK} cannot be opened", error.strerror or str(error),
            ("Look at what is there, and remove it",), code="unwritable",
        ) from error  # fmt: skip


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
    fd = _open(home)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(fd)


def suspended_driver(home: str) -> int | None:
    """The process that drives, when it was stopped (Ctrl-Z): it keeps its lock, and does nothing."""
    try:
        pid = int(read_record(f"{home}/{LOCK}")) if is_driven(home) else 0
    except (OSError, ValueError):
        return None  # it has just begun, or ended
    return pid if pid and is_stopped(pid) else None


def refuse_suspended(home: str) -> None:
    pid = suspended_driver(home)
    if pid is not None:
        raise ProcessError(
            "The engine is suspended",
            f"process {pid} was stopped, for example with Ctrl-Z; no other engine may act until it continues",
            (f"Continue it with `kill -CONT {pid}`, or `fg` in its terminal", "Then repeat the command"),
            code="engine-suspended",
        )
