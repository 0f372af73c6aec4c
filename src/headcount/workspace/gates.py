"""Checkouts that gates run in, and the removal of those that a killed engine has left.

A checkout is a linked worktree outside of the user's, so that no file above it counts for a build. While one
is in use, its engine holds a lock on `<state>/gates/<name>.lock`, which names it. The kernel frees the lock
when the engine dies: a checkout whose lock is free is nobody's.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from headcount.workspace.repository import Repository

_PREFIX = "headcount-gate-"
_NAME = re.compile(r"[0-9a-f]{16}\.lock")
_PLACE_BYTES = 4096


@contextmanager
def make_checkout(repo: Repository, records: str, branch: str) -> Iterator[str]:
    """A directory with what is on `branch`, for as long as the block lasts."""
    os.makedirs(records, mode=0o700, exist_ok=True)
    name = secrets.token_hex(8)
    lock = f"{records}/{name}.lock"
    place = f"{os.path.realpath(tempfile.gettempdir())}/{_PREFIX}{name}"
    # Locked under another name first: nobody must take it for one that was left.
    fd = os.open(f"{lock}.new", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        os.write(fd, os.fsencode(place))
        os.rename(f"{lock}.new", lock)
        try:
            os.mkdir(place, 0o700)
            yield _fill(repo, f"{place}/tree", branch)
        finally:
            _remove(repo, place)
            os.unlink(lock)
    finally:
        os.close(fd)


def _fill(repo: Repository, tree: str, branch: str) -> str:
    repo.git.run("worktree", "add", "--quiet", "--detach", "--no-checkout", tree, branch)
    git_dir = repo.find_git_dir(tree)
    assert git_dir is not None
    repo.git.on(git_dir, tree).run("read-tree", "--reset", "-u", "HEAD")
    return tree


def find_left(records: str) -> list[str]:
    """The places of checkouts whose engine is dead."""
    return [place for _, place in _free_locks(records)]


def remove_left(repo: Repository, records: str) -> list[str]:
    """Remove the checkouts whose engine is dead, and git's entries of them; return their places."""
    removed = []
    for lock, place in _free_locks(records):
        _remove(repo, place)
        with suppress(FileNotFoundError):
            os.unlink(lock)
        removed.append(place)
    return removed


def _free_locks(records: str) -> Iterator[tuple[str, str]]:
    """Each is held for as long as it is looked at, so that two who sweep do not meet."""
    names = sorted(filter(_NAME.fullmatch, os.listdir(records))) if os.path.isdir(records) else []
    for name in names:
        with suppress(FileNotFoundError, BlockingIOError):
            fd = os.open(f"{records}/{name}", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                place = os.fsdecode(os.read(fd, _PLACE_BYTES))
                # Anybody can write such a file; only what is called as it is was made by us.
                if os.path.basename(place) == f"{_PREFIX}{name.removesuffix('.lock')}":
                    yield f"{records}/{name}", place
            finally:
                os.close(fd)


def _remove(repo: Repository, place: str) -> None:
    """git's entry first, in one rename: a git of the user's that lists worktrees never sees half of it."""
    for at in repo.linked():
        if at.path == f"{place}/tree":
            aside = tempfile.mkdtemp(prefix="headcount.removing.", dir=repo.common_dir)
            with suppress(FileNotFoundError):
                os.rename(at.git_dir, f"{aside}/worktree")
            shutil.rmtree(aside)
    shutil.rmtree(place, ignore_errors=True)
