"""Remember the state directories of this user, for `headcount teams --all` and `headcount open`.

The list is one file of mode 0600 below `$XDG_STATE_HOME/headcount`. headcount adds a state directory when it
makes a team there. Where the list cannot be written, nothing fails. A list or a state directory of another
user is not read. A state directory that is gone is dropped from the list.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME, _LOCK = "repositories.json", "repositories.lock"
_MOST = 1000
_MOST_BYTES = 8 << 20
_FLAGS = os.O_NOFOLLOW | os.O_CLOEXEC


def find_directory(environ: Mapping[str, str]) -> str:
    """Return where this user's state is, by the XDG base directory specification."""
    base = environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):  # the specification: a relative path is ignored
        base = os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "headcount")


def remember(home: str, environ: Mapping[str, str] = os.environ) -> None:
    """Put a state directory first in the list."""
    with suppress(OSError):
        _change(find_directory(environ), os.path.realpath(home))


def list_homes(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return the state directories that are there and belong to this user, the last used first."""
    directory = find_directory(environ)
    listed = _read(directory)
    found = [home for home in listed if _is_own_directory(home)]
    if found != listed:
        with suppress(OSError):
            _change(directory)
    return found


def _change(directory: str, first: str = "") -> None:
    """Write the list again, without what is gone; one process at a time, and whole or not at all."""
    os.makedirs(directory, mode=0o700, exist_ok=True)
    if not _is_own_directory(directory):
        return
    lock = os.open(os.path.join(directory, _LOCK), os.O_RDWR | os.O_CREAT | _FLAGS, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        listed = _read(directory)
        homes = [home for home in dict.fromkeys((first, *listed)) if home and _is_own_directory(home)]
        if homes == listed:
            return
        path = os.path.join(directory, _NAME)
        making = f"{path}.{os.getpid()}"
        with suppress(FileNotFoundError):
            os.unlink(making)
        fd = os.open(making, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8", errors="surrogateescape") as file:
            json.dump({"homes": homes[:_MOST]}, file, ensure_ascii=False)
            file.flush()
            os.fsync(fd)
        os.replace(making, path)
    finally:
        os.close(lock)


def _read(directory: str) -> list[str]:
    """Return the list as it is; empty if it is not a file that only this user can write."""
    try:
        fd = os.open(os.path.join(directory, _NAME), os.O_RDONLY | os.O_NONBLOCK | _FLAGS)
    except OSError:
        return []
    with os.fdopen(fd, "r", encoding="utf-8", errors="surrogateescape") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
            return []
        try:
            homes = json.loads(file.read(_MOST_BYTES))["homes"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return []
    return [home for home in homes if isinstance(home, str)] if isinstance(homes, list) else []


def _is_own_directory(path: str) -> bool:
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
