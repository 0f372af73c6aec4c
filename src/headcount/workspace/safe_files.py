"""Open, read and write files that others may have changed, without following their tricks.

headcount opens entries below a directory by descriptors, one component of the path after the other, for two
reasons. A path may be longer than the kernel takes in one call (PATH_MAX, 4,096 bytes): a member that changes
its directory step by step can make such paths, and git cannot open them. And a restore must write only below
its target: no component is a link, so no name in a salvage leads elsewhere.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import field

from headcount.errors import GitError
from headcount.value_classes import dataclass
from headcount.workspace.ref_names import shown

LONGEST = 4000  # bytes; a little is left of PATH_MAX for what git adds
DEEPEST = 500  # components; git and Python recurse into directories, and each step costs them stack
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PERMISSIONS = 0o1777  # a salvage never makes a program that runs as another user or group
_LOOK_EACH_S = 0.02


def is_long(root: bytes, path: bytes) -> bool:
    return len(root) + 1 + len(path) > LONGEST


@contextmanager
def reach(root: bytes, path: bytes) -> Iterator[tuple[int | None, bytes]]:
    """A descriptor and a name that stand for `root`/`path` in calls with `dir_fd`, however long it is."""
    if not is_long(root, path):
        yield None, root + b"/" + path if path else root
        return
    with open_below(root, path) as found:
        yield found


def list_names(root: bytes, path: bytes) -> list[bytes]:
    """The names in a directory, sorted."""
    if not is_long(root, path):
        return sorted(os.listdir(os.path.join(root, path)))
    with reach(root, path) as (fd, name):
        inner = os.open(name, _DIRECTORY, dir_fd=fd)
        try:
            return sorted(map(os.fsencode, os.listdir(inner)))
        finally:
            os.close(inner)


def find_fault(path: bytes) -> str:
    """Why a path must not be written below a target, or nothing."""
    parts = path.split(b"/")
    if any(part in (b"", b".", b"..") for part in parts) or b"\0" in path:
        return f"{shown(os.fsdecode(path))} is not a path below the workspace"
    return f"{shown(os.fsdecode(path[:80]))}… is nested too deeply" if len(parts) > DEEPEST else ""


def _descend(fd: int, parts: Iterable[bytes]) -> int:
    """The directory below `fd`, which is closed. A link on the way is an error."""
    for part in parts:
        try:
            inner = os.open(part, _DIRECTORY, dir_fd=fd)
        finally:
            os.close(fd)
        fd = inner
    return fd


@contextmanager
def open_below(root: bytes, path: bytes) -> Iterator[tuple[int, bytes]]:
    """The directory that `root`/`path` is in, and the last name. A link on the way is an error."""
    *parents, name = path.split(b"/")
    fd = _descend(os.open(root, _DIRECTORY), parents)
    try:
        yield fd, name
    finally:
        os.close(fd)


@dataclass(slots=True)
class Target:
    """A directory that is filled from a salvage or an archive, and what was made in it.

    Only directories that were made here get new permissions, and nothing that was there is replaced unless
    the caller says so.
    """

    root: bytes
    made: set[bytes] = field(default_factory=set)
    beside: bytes = b".headcount-new"  # what is to replace a file has this name until it is complete

    def make_directory(self, path: bytes) -> None:
        """Make a directory and those above it, where they are missing."""
        os.close(self._open(path))

    def write_file(
        self, path: bytes, chunks: Iterable[bytes], mode: int = 0o644, *, replace: bool = False
    ) -> None:
        """A new file with these bytes; with `replace`, in the place of a file or link of that name."""
        with self._parent(path) as (fd, name):
            beside = self._free(fd) if replace else name
            with open(os.open(beside, _NEW, mode & _PERMISSIONS, dir_fd=fd), "wb") as file:
                for chunk in chunks:
                    file.write(chunk)
            self._put(fd, beside, name)
        self.made.add(path)

    @contextmanager
    def new_file(self, path: bytes) -> Iterator[int]:
        """A descriptor to write a new file by."""
        with self._parent(path) as (fd, name):
            made = os.open(name, _NEW, 0o600, dir_fd=fd)
        self.made.add(path)
        try:
            yield made
        finally:
            os.close(made)

    def write_link(self, path: bytes, target: bytes, *, replace: bool = False) -> None:
        with self._parent(path) as (fd, name):
            beside = self._free(fd) if replace else name
            os.symlink(target, beside, dir_fd=fd)
            self._put(fd, beside, name)
        self.made.add(path)

    def link(self, path: bytes, other: bytes) -> None:
        """A second name of a file that was made here."""
        if other not in self.made:
            raise _outside(other)
        with self._parent(other) as (from_fd, from_name), self._parent(path) as (fd, name):
            if not stat.S_ISREG(os.lstat(from_name, dir_fd=from_fd).st_mode):
                raise _outside(other)
            os.link(from_name, name, src_dir_fd=from_fd, dst_dir_fd=fd, follow_symlinks=False)
        self.made.add(path)

    def delete(self, path: bytes) -> None:
        """Remove a file or a link, and the directories above it that are empty then. Missing is done."""
        try:
            with self._parent(path, make=False) as (fd, name):
                os.unlink(name, dir_fd=fd)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _outside(path) from error
        parent = os.path.dirname(path)
        while parent:
            with self._parent(parent, make=False) as (fd, name):
                try:
                    os.rmdir(name, dir_fd=fd)
                except OSError:
                    return  # not empty
            parent = os.path.dirname(parent)

    def set_mode(self, path: bytes, mode: int) -> None:
        """Permissions of something that was made here; a link has none."""
        if path not in self.made:
            return
        with self._parent(path, make=False) as (fd, name):
            if not stat.S_ISLNK(os.lstat(name, dir_fd=fd).st_mode):
                os.chmod(name, mode & _PERMISSIONS, dir_fd=fd)

    def read(self, path: bytes, limit: int) -> bytes:
        """The first bytes of a file that was made here."""
        with self._parent(path, make=False) as (fd, name):
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            with open(os.open(name, flags, dir_fd=fd), "rb") as file:
                return file.read(limit)

    def lstat(self, path: bytes) -> os.stat_result:
        with self._parent(path, make=False) as (fd, name):
            return os.lstat(name, dir_fd=fd)

    def _free(self, fd: int) -> bytes:
        """The name beside, free of what a killed process left there."""
        with suppress(FileNotFoundError):
            os.unlink(self.beside, dir_fd=fd)
        return self.beside

    def _put(self, fd: int, beside: bytes, name: bytes) -> None:
        if beside != name:
            os.rename(beside, name, src_dir_fd=fd, dst_dir_fd=fd)

    @contextmanager
    def _parent(self, path: bytes, *, make: bool = True) -> Iterator[tuple[int, bytes]]:
        if fault := find_fault(path):
            raise GitError("Did not write what a salvage names", fault, code="salvage-unsafe")
        parent, name = os.path.split(path)
        fd = self._open(parent, make=make)
        try:
            yield fd, name
        finally:
            os.close(fd)

    def _open(self, path: bytes, *, make: bool = True) -> int:
        if path and (fault := find_fault(path)):
            raise GitError("Did not write what a salvage names", fault, code="salvage-unsafe")
        fd, done = os.open(self.root, _DIRECTORY), b""
        for part in path.split(b"/") if path else ():
            done = os.path.join(done, part)
            try:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, 0o755, dir_fd=fd)
                        self.made.add(done)
                inner = os.open(part, _DIRECTORY, dir_fd=fd)
            except NotADirectoryError as error:  # also a link: O_NOFOLLOW with O_DIRECTORY says so
                raise _outside(done) from error
            finally:
                os.close(fd)
            fd = inner
        return fd


def _outside(path: bytes) -> GitError:
    return GitError(
        "Did not write what a salvage names",
        f"{shown(os.fsdecode(path))} is not a directory or file of this restore",
        ("Look at it with `headcount salvage verify`",),
        code="salvage-unsafe",
    )


# --- files -----------------------------------------------------------------------------------------------
#
# Small files: our own, written so that a crash leaves the old one or the new one; and others', read so that
# nothing is waited for that may stand in their place.


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
    """Write beside, sync, rename, sync the directory. A failure, as on a full disk, leaves nothing."""
    beside = f"{path}.{os.getpid()}.new"
    try:
        with open(beside, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError:
        with suppress(FileNotFoundError):
            os.unlink(beside)
        raise
    sync_directory(os.path.dirname(path))


def sync_directory(path: str) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def exclusive(path: str, *, limit_s: float | None = None) -> Iterator[None]:
    """One at a time, in all threads and processes; the kernel lets go of it when its holder dies.

    BlockingIOError if another still has it at the end of `limit_s`.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if limit_s is None:
            fcntl.flock(fd, fcntl.LOCK_EX)
        else:
            _lock_until(fd, time.monotonic() + limit_s)
        yield
    finally:
        os.close(fd)


def _lock_until(fd: int, deadline: float) -> None:
    while True:
        try:
            return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise
        time.sleep(_LOOK_EACH_S)
