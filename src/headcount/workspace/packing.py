"""Write a salvage's objects as one pack that no `git gc`, `prune` or `repack` deletes.

git deletes objects that no ref reached when it began, however new they are. `git gc --prune=now` deletes
loose ones, and `git repack -a -d` deletes packs that were there when it began. Neither deletes a pack with a
`.keep` file beside it. So everything is written in this order:

1. a quarantine: an object directory of our own inside the repository's, which no other git reads
2. one pack of all objects that the salvage needs and that are not safe elsewhere (`list_unsafe`), verified
3. the pack in the repository's store, its `.keep` first and its `.idx`, which makes it visible, last
4. the ref (`claim`), after the content was read back from the store

A quarantine belongs to the process that holds a lock on it, which the kernel releases when that process ends.
The next salvage removes a quarantine without owner, and with it what it had left in the store: a lock file on
the ref, a `.keep` without a ref.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from headcount.errors import GitError
from headcount.value_classes import dataclass
from headcount.workspace.git import Git
from headcount.workspace.objects import FAST, find_whole, read_types
from headcount.workspace.ref_names import SALVAGE
from headcount.workspace.repository import Repository, first_line
from headcount.workspace.safe_files import sync_directory

_PREFIX = "headcount-saving-"  # `git prune` removes what begins with `tmp_`
_KEEP = "headcount salvage"
_UNFINISHED_S = 600.0  # a quarantine without a lock is being made or removed, or was when a kill came
_LOCK_TRIES, _LOCK_WAIT_S = 20, 0.05
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS)  # a file system without hard links
_DEEPEST_ALTERNATE = 5  # as in git
_ONE_PACK = ("-c", "pack.packSizeLimit=0", "-c", "pack.writeReverseIndex=false")
# Most new objects are new files: a search for similar ones takes longer than it saves (docs/decisions/0030).
_WINDOW = "--window=2"


@dataclass(frozen=True, slots=True)
class Quarantine:
    """An object directory that only our own git commands see, beside the repository's own objects."""

    repo: Repository
    path: str

    @property
    def objects(self) -> str:
        return os.path.join(self.path, "objects")

    def scratch(self, name: str) -> str:
        return os.path.join(self.path, name)

    @property
    def git(self) -> Git:
        """git that writes here and reads the repository's objects too."""
        return self.repo.git.with_env(GIT_OBJECT_DIRECTORY=self.objects)

    @property
    def alone(self) -> Git:
        """git that sees this directory only, and so writes objects which the repository has already."""
        return self.repo.git.with_env(GIT_OBJECT_DIRECTORY=self.scratch("alone"))

    def pack(self, oids: Iterable[str]) -> str:
        """Write these objects as one pack, verify it, and return its name without an ending.

        Objects of the member's history that were damaged before are left out: nothing can save them. The
        caller reads back what was in the workspace.
        """
        wanted = list(oids)
        try:
            return self._pack(wanted)
        except GitError as error:
            whole = find_whole(self.git, self.repo.hash_name, wanted)
            if error.code != "git-failed" or len(whole) == len(wanted):
                raise
            return self._pack(whole)

    def _pack(self, oids: list[str]) -> str:
        wanted = "".join(f"{oid}\n" for oid in oids).encode()
        args = ("pack-objects", "--quiet", "--delta-base-offset", _WINDOW, self.scratch("pack"))
        name = f"pack-{self.git.run(*FAST, *_ONE_PACK, *args, stdin=wanted).text}"
        self.git.run("verify-pack", self.scratch(f"{name}.idx"))
        return name

    def publish(self, name: str, commit: str) -> None:
        """Move the pack into the repository's store, kept before it is visible, and sync it."""
        store = os.path.join(self.repo.objects, "pack")
        os.makedirs(store, exist_ok=True)
        _write(self.scratch("published"), f"{name} {commit}\n")
        _write(self.scratch(f"{name}.keep"), f"{_KEEP} {commit}\n")
        made = [entry for entry in os.listdir(self.path) if entry.startswith(f"{name}.")]
        for entry in sorted(made, key=_publishing_order):
            _sync_file(self.scratch(entry))
            os.rename(self.scratch(entry), os.path.join(store, entry))
        sync_directory(store)

    def claim(self, ref: str, commit: str) -> bool:
        """Create `ref` as git does, behind its lock file. False if it is there or another git has locked it.

        The lock file is a hard link to a file in here. A process that finds the lock later, with this
        quarantine without owner, can tell that it was ours.
        """
        path = os.path.join(self.repo.common_dir, ref)
        _write(self.scratch("ref"), f"{commit}\n")
        _write(self.scratch("locking"), ref)
        _sync_file(self.scratch("ref"))
        if not self._lock(f"{path}.lock"):
            return False
        try:
            free = not self.repo.exists(ref) and not _list_refs(self.repo, f"{ref}/")
            if free:
                _put_in_place(f"{path}.lock", path)
        except BaseException:
            os.unlink(f"{path}.lock")
            raise
        if not free:
            os.unlink(f"{path}.lock")
            return False
        _sync_up(os.path.dirname(path), self.repo.common_dir)
        if self.repo.commit(ref) != commit:
            raise GitError(f"Could not create {ref}", "it does not name what was written", code="git-ref")
        return True

    def _lock(self, lock: str) -> bool:
        for _ in range(_LOCK_TRIES):
            try:
                os.makedirs(os.path.dirname(lock), exist_ok=True)
                _create_lock(self.scratch("ref"), lock)
                return True
            except FileNotFoundError:
                continue  # git removed the empty directory a moment ago
            except FileExistsError:
                if os.path.isdir(lock):
                    return False
                time.sleep(_LOCK_WAIT_S)
            except OSError as error:
                raise GitError(f"Could not create {lock}", str(error), code="git-ref") from error
        return False


@contextmanager
def open_quarantine(repo: Repository) -> Iterator[Quarantine]:
    """Make a quarantine, remove those without owner, and remove this one at the end."""
    clean_up(repo)
    path = tempfile.mkdtemp(prefix=_PREFIX, dir=repo.objects)
    lock = os.open(os.path.join(path, "lock.new"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.rename(os.path.join(path, "lock.new"), os.path.join(path, "lock"))
        for name in ("objects/info", "alone"):
            os.makedirs(os.path.join(path, name))
        # Relative, so that no character in the repository's path has a meaning here.
        _write(os.path.join(path, "objects", "info", "alternates"), "../..\n../alone\n")
        yield Quarantine(repo, path)
    finally:
        _remove(path)
        os.close(lock)


def _remove(path: str) -> None:
    """Its lock goes last: what a kill leaves of the rest is removed by the next one."""
    for name in os.listdir(path) if os.path.isdir(path) else ():
        if os.path.isdir(os.path.join(path, name)):
            shutil.rmtree(os.path.join(path, name), ignore_errors=True)
        elif name != "lock":
            os.unlink(os.path.join(path, name))
    shutil.rmtree(path, ignore_errors=True)


def clean_up(repo: Repository) -> None:
    """Remove quarantines whose owner was killed, and what they had left in the store."""
    with suppress(FileNotFoundError):
        for name in os.listdir(repo.objects):
            if name.startswith(_PREFIX):
                _clean_up_one(repo, os.path.join(repo.objects, name))


def _clean_up_one(repo: Repository, path: str) -> None:
    try:
        lock = os.open(os.path.join(path, "lock"), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        with suppress(FileNotFoundError):
            if time.time() - os.stat(path).st_mtime > _UNFINISHED_S:
                shutil.rmtree(path, ignore_errors=True)
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.lexists(os.path.join(path, "lock")):
            _unlock(repo, path)
            _release(repo, path)
            _remove(path)
    except BlockingIOError:
        pass  # its owner is alive
    finally:
        os.close(lock)


def _unlock(repo: Repository, path: str) -> None:
    """Remove the lock on a ref that the owner of this quarantine held when it was killed."""
    ref = first_line(os.path.join(path, "locking"))
    if ref:
        lock = os.path.join(repo.common_dir, f"{ref}.lock")
        with suppress(FileNotFoundError):
            if os.path.samestat(os.lstat(lock), os.lstat(os.path.join(path, "ref"))):
                os.unlink(lock)


def _release(repo: Repository, path: str) -> None:
    """Leave a pack that never got its ref to `git gc`. We do not delete it: other objects may need it now."""
    name, _, commit = (first_line(os.path.join(path, "published")) or "").partition(" ")
    if not name or _list_refs(repo, SALVAGE, f"--points-at={commit}"):
        return
    store = os.path.join(repo.objects, "pack")
    endings = (".keep",) if os.path.lexists(os.path.join(store, f"{name}.idx")) else (".keep", ".pack")
    for ending in endings:
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(store, name + ending))


def put_back(repo: Repository, ref: str, commit: str) -> bool:
    """Make a salvage's ref again, if it is gone and its commit is there. True if it was made."""
    if repo.exists(ref) or read_types(repo.git.offline(), [commit]).get(commit) != "commit":
        return False
    with open_quarantine(repo) as quarantine:
        return quarantine.claim(ref, commit)


def find_pack(repo: Repository, commit: str) -> str:
    """The name of the kept pack that was written for a salvage; "" for one that has none."""
    store = os.path.join(repo.objects, "pack")
    kept = (name for name in os.listdir(store) if name.endswith(".keep")) if os.path.isdir(store) else ()
    wanted = f"{_KEEP} {commit}"
    return next(
        (name[: -len(".keep")] for name in kept if first_line(os.path.join(store, name)) == wanted), ""
    )


def check_pack(repo: Repository, name: str) -> list[str]:
    """Problems with a kept pack, none if every object in it is whole and no `git gc` can take it."""
    place = os.path.join(repo.objects, "pack", name)
    if not os.path.exists(f"{place}.pack"):
        return [f"{name}.pack is gone"]
    problems = []
    if not os.path.exists(f"{place}.keep"):
        problems.append(f"{name}.keep is gone, so `git gc` may delete the pack")
    if repo.git.run("verify-pack", f"{place}.idx", ok=range(256)).code:
        problems.append(f"{name}.pack is damaged")
    return problems


def list_unsafe(quarantine: Quarantine, commit: str, base: str | None, branches: Iterable[str]) -> set[str]:
    """The objects that `commit` needs and that must be in its pack.

    Not safe are: objects that no ref reaches except the member's own `branches`, stashes and salvages; loose
    objects newer than the workspace, which a `git prune` that began before them deletes although a ref
    reaches them now; and objects in an alternate store that goes with a workspace.
    """
    git, repo = quarantine.git, quarantine.repo
    # `allow-any` is for holes that were there before: what does not exist cannot be saved.
    walk = ("rev-list", "--objects", "--no-object-names", "--ignore-missing", "--missing=allow-any")
    own = ("refs/headcount/*", "refs/stash", *(f"refs/heads/{name}" for name in branches))
    others = ("--single-worktree", "--not", *(f"--exclude={ref}" for ref in own), "--all")
    found = set(git.text(*walk, commit, *others).split())
    found |= set(git.text(*walk, "--unpacked", commit, *(["--not", base] if base else [])).split())
    # Alternate stores that go with a workspace, or that read one which does.
    places = [os.path.join(repo.common_dir, "worktrees"), *(at.real for at in repo.linked() if at.real)]
    inside = tuple(os.path.join(os.path.realpath(place), "") for place in places)
    passing = {store for store in _alternates(repo.objects) if _passes(store, inside, _DEEPEST_ALTERNATE)}
    if passing:
        needed = set(git.text(*walk, commit).split())
        found |= needed - read_types(_without(quarantine, passing), needed).keys()
    return found


def list_loose(repo: Repository) -> set[str]:
    """Names of the loose objects in the repository's own store."""
    found: set[str] = set()
    for name in os.listdir(repo.objects):
        if len(name) == 2:
            with suppress(FileNotFoundError, NotADirectoryError):
                found.update(name + rest for rest in os.listdir(os.path.join(repo.objects, name)))
    return found


def _passes(store: str, inside: tuple[str, ...], depth: int) -> bool:
    if os.path.join(store, "").startswith(inside):
        return True
    return depth > 0 and any(_passes(further, inside, depth - 1) for further in _alternates(store))


def _alternates(store: str) -> list[str]:
    path = os.path.join(store, "info", "alternates")
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            lines = [line for line in file.read().split("\n") if line and not line.startswith("#")]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [os.path.realpath(os.path.join(store, line)) for line in lines]


def _without(quarantine: Quarantine, stores: set[str]) -> Git:
    """git on the repository's objects, through links, without these alternates and without the quarantine."""
    view, objects = quarantine.scratch("view"), quarantine.repo.objects
    os.makedirs(os.path.join(view, "info"), exist_ok=True)
    for name in os.listdir(objects):
        if len(name) == 2 or name == "pack":
            os.symlink(os.path.join(objects, name), os.path.join(view, name))
    lasting = [store for store in _alternates(objects) if store not in stores]
    _write(os.path.join(view, "info", "alternates"), "".join(f"{store}\n" for store in lasting))
    return quarantine.repo.git.with_env(GIT_OBJECT_DIRECTORY=view)


def _list_refs(repo: Repository, below: str, *filters: str) -> list[str]:
    return repo.git.text("for-each-ref", "--format=%(refname)", *filters, below).split()


def _publishing_order(entry: str) -> tuple[int, str]:
    order = {"keep": 0, "pack": 1, "idx": 3}
    return order.get(entry.rpartition(".")[2], 2), entry


def _create_lock(record: str, lock: str) -> None:
    try:
        os.link(record, lock)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # A lock like this one, left by a kill, cannot be told from another git's.
        with open(record, "rb") as ours, open(lock, "xb") as file:
            file.write(ours.read())
            file.flush()
            os.fsync(file.fileno())


def _put_in_place(lock: str, path: str) -> None:
    try:
        os.rename(lock, path)
    except IsADirectoryError:
        for directory, _, _ in os.walk(path, topdown=False):  # git leaves empty directories behind
            os.rmdir(directory)
        os.rename(lock, path)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)


def _sync_file(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _sync_up(path: str, top: str) -> None:
    """A directory and those above it up to `top`: any of them may be new."""
    while len(path) > len(top):
        with suppress(FileNotFoundError):  # `git pack-refs` has just moved what was in it
            sync_directory(path)
        path = os.path.dirname(path)
