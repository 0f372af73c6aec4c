"""Versions of clients, remembered across commands in the user's cache directory.

`gemini --version` takes seconds. A version belongs to one file: its path, size and times, the time of its
last change among them, because package managers set the others to what they like. The cache is trusted only
if it is a file of this user that nobody else can write. Without it a version is just asked for again.
"""

from __future__ import annotations

import _thread
import json
import os
import stat

_NAME = "client-versions.json"
_MOST = 1 << 16
_KEPT = 50
_LOCK = _thread.allocate_lock()  # clients are asked in several threads; another process may lose a version


def identify(path: str) -> str:
    found = os.stat(path)
    return f"{os.path.realpath(path)}:{found.st_size}:{found.st_mtime_ns}:{found.st_ctime_ns}"


def read(identity: str) -> str:
    return _load().get(identity, "")


def write(identity: str, version: str) -> None:
    """Remember a version, if there is one and the file can be written."""
    directory = _directory()
    if not version or not directory:
        return
    with _LOCK:
        _write(directory, {**_load(), identity: version})


def _write(directory: str, known: dict[str, str]) -> None:
    text = json.dumps(dict(list(known.items())[-_KEPT:]))
    draft = f"{directory}/{_NAME}.{os.getpid()}"
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(fd, "w") as file:
            file.write(text)
        os.replace(draft, f"{directory}/{_NAME}")
    except OSError:
        return


def _directory() -> str:
    base = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("HOME") and f"{os.environ['HOME']}/.cache")
    return f"{base}/headcount" if base and os.path.isabs(base) else ""


def _load() -> dict[str, str]:
    try:
        fd = os.open(f"{_directory()}/{_NAME}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(fd, "rb") as file:
            about = os.fstat(fd)
            own = about.st_uid == os.geteuid() and stat.S_ISREG(about.st_mode)
            if not own or stat.S_IMODE(about.st_mode) & 0o077:
                return {}
            found = json.loads(file.read(_MOST))
    except (OSError, ValueError):
        return {}
    known = found.items() if isinstance(found, dict) else ()
    return {name: version for name, version in known if isinstance(version, str)}
