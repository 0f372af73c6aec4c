"""Hold the environment of an open team in memory, in no file of the state directory.

Members inherit the environment of the `up` or `run` that made their team, also when another engine starts
them later. It may hold keys. So headcount writes it to a file in memory (tmpfs), for this user alone, and the
state names only the path. The file is removed when the team closes, and a reboot takes it with every process
of the team. Where it is gone, the environment of the running engine serves instead.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from headcount.domain.environment import build_environment

if TYPE_CHECKING:
    from collections.abc import Mapping

FACT = "environment"
_PATH, _HOME, _VARIABLES, _WAYS = "held_in", "home", "variables", "ways"
_MOST_BYTES = 8 << 20  # the kernel gives a program less
_PLACES = ("/run/user/{uid}", "/dev/shm")  # noqa: S108 - a directory of mode 0700 is made there


def hold(home: str, team_id: str, environ: Mapping[str, str], ways: Mapping[str, str] = {}) -> dict[str, Any]:
    """Write it, and return the fact that names it. Remove files of state directories that are gone.

    `ways` are those of notifying: the address of a webhook is a secret, too.
    """
    place = _make_place()
    _remove_lost(place)
    name = hashlib.sha256(f"{os.path.realpath(home)}\0{team_id}".encode("utf-8", "surrogateescape"))
    path = f"{place}/{name.hexdigest()[:32]}.json"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w", encoding="ascii") as file:
        json.dump({_HOME: home, _VARIABLES: dict(environ), _WAYS: dict(ways)}, file)
    return {_PATH: path}


def read(fact: Mapping[str, Any]) -> dict[str, str]:
    """Return what a member or a command of the team inherits."""
    if not fact:
        return {}  # a team that was made without any
    if _PATH not in fact:
        return build_environment(fact)  # an earlier version recorded it in the store
    held = _read_file(str(fact[_PATH])).get(_VARIABLES)
    return build_environment(held if isinstance(held, dict) else os.environ)


def read_ways(fact: Mapping[str, Any]) -> dict[str, str]:
    """Return how the team notifies; empty where it is gone."""
    held = _read_file(str(fact.get(_PATH, ""))).get(_WAYS)
    return held if isinstance(held, dict) else {}


def forget(fact: Mapping[str, Any]) -> None:
    """Safe to repeat."""
    path = str(fact.get(_PATH, ""))
    if _read_file(path):
        with suppress(FileNotFoundError):
            os.unlink(path)


def _make_place() -> str:
    """A directory that only this user can enter, in memory where this machine has such a place."""
    user = os.getuid()
    for above in (*(place.format(uid=user) for place in _PLACES), tempfile.gettempdir()):
        place = f"{above}/headcount-{user}"
        try:
            os.mkdir(place, 0o700)
        except FileExistsError:
            pass
        except OSError:
            continue  # there is none, or it cannot be written
        found = os.lstat(place)
        if stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o077:
            return place
    return tempfile.mkdtemp(prefix="headcount-")


def _remove_lost(place: str) -> None:
    for name in os.listdir(place):
        path = f"{place}/{name}"
        home = _read_file(path).get(_HOME)
        if isinstance(home, str) and not os.path.isdir(home):
            with suppress(FileNotFoundError):  # another process of this user has just removed it
                os.unlink(path)


def _read_file(path: str) -> dict[str, Any]:
    """Empty unless it is a regular file of this user, which nobody else can write."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return {}
    with os.fdopen(fd, "rb") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
            return {}
        try:
            value = json.loads(file.read(_MOST_BYTES))
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}
