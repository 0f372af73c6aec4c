"""Compare the files of a workspace with what git holds of them, byte by byte.

`git status` gives git's opinion. It trusts times that a second write through a mapped page does not change,
filters that keep bytes out of git (`filter.NAME.clean`, set wherever git reads settings), and settings that
hide changes. Here the bytes on disk count: each tracked file is hashed and compared with its blob.

- A file that nothing has written since git checked it out (`Checkout`) needs no hash: its bytes came from the
  commit that the workspace began at.
- A file that git's own conversions (line ends, `$Id$`, encodings) turn into the blob is the same file. No
  configured filter runs for this comparison: it may be another one than the one that dropped the bytes.
- A Git LFS file is safe if the local LFS store holds exactly its bytes.

Everything else differs, and must be saved.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field

from headcount.domain.findings import Checkout, Kind
from headcount.errors import GitError
from headcount.value_classes import dataclass
from headcount.workspace.disk_scan import CHUNK, hash_path, read_boot_time
from headcount.workspace.git import Git, execute, scrubbed_environment
from headcount.workspace.git_state import EXECUTABLE, GITLINK, LINK, Entry, Status
from headcount.workspace.objects import try_blobs
from headcount.workspace.safe_files import read_file

_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:ext-.*\n)*oid sha256:([0-9a-f]{64})\nsize (\d+)\n"
)
_POINTER_BYTES = 1024  # the LFS specification allows no larger pointer
_ALGORITHMS = {20: "sha1", 32: "sha256"}
_OFF = ("clean=", "smudge=", "process=", "required=false")


@dataclass(frozen=True, slots=True)
class Difference:
    """`path` is relative to the territory's root."""

    kind: Kind
    path: bytes
    why: str


def find_unlisted(territory: Territory, entries: Mapping[bytes, Entry], status: Status) -> list[Difference]:
    """Files that are neither in the index nor in the status, such as those in an unpopulated submodule."""
    told = {os.fsencode(path) for path in (*status.untracked, *status.ignored)}
    found = []
    for path in sorted(territory.files.keys() - entries.keys() - told):
        above = list(directories_of(path))
        if any(place in entries and entries[place].mode == GITLINK for place in above):
            why = "in the directory of a submodule that is not checked out"
            found.append(Difference(Kind.SUBMODULE, path, why))
        elif not any(place + b"/" in told for place in above):
            found.append(Difference(Kind.HIDDEN, path, "not in the index and not in git status"))
    return found


def find_uncommittable(
    territory: Territory, entries: Mapping[bytes, Entry], umask: int | None, sticky: int
) -> Iterator[Difference]:
    """Empty directories, and permissions other than those that git would give a file or a directory.

    `sticky` is a set-group-ID bit that new directories inherit here.
    """
    for path in territory.empty:
        if path not in entries:  # that of a submodule is
            yield Difference(Kind.EMPTY_DIRECTORY, path, "an empty directory")
    if umask is None:
        return
    for path, mode in territory.directories.items():
        if stat.S_IMODE(mode) != 0o777 & ~umask | sticky:
            yield Difference(Kind.PERMISSIONS, path, f"mode {stat.S_IMODE(mode):o}")
    for path, mode in territory.touched.items():
        entry = entries.get(path)
        if entry is None or entry.mode == LINK or not stat.S_ISREG(mode):
            continue
        usual = (0o777 if entry.mode == EXECUTABLE else 0o666) & ~umask
        if stat.S_IMODE(mode) != usual:
            yield Difference(Kind.PERMISSIONS, path, f"mode {stat.S_IMODE(mode):o}")


def find_different(
    git: Git,
    territory: Territory,
    entries: Mapping[bytes, Entry],
    find_lfs_store: Callable[[], str | None],
) -> list[Difference]:
    """Tracked files with other bytes than their blob.

    `find_lfs_store` returns the directory of an LFS store that outlives the workspace, if there is one.
    """
    assert git.work_tree is not None
    root = os.fsencode(git.work_tree)
    deadline = math.inf if git.deadline is None else git.deadline
    suspects: dict[bytes, Entry] = {}
    for path, mode in territory.touched.items():
        entry = entries.get(path)
        if entry is None or entry.mode == GITLINK:
            continue
        try:
            algorithm = _ALGORITHMS[len(entry.oid)]
            oid = hash_path(root, path, stat.S_ISLNK(mode), algorithm, deadline)
        except FileNotFoundError:
            continue  # a running member has just removed it; git status reports that
        if oid != entry.oid.hex() or stat.S_ISLNK(mode) is not (entry.mode == LINK):
            suspects[path] = entry
    if not suspects:
        return []
    filters = read_filters(git, suspects)
    different = _convert(git, suspects, filters)
    pointers = _read_pointers(git, [suspects[path] for path in different])
    lfs_store = find_lfs_store() if pointers else None
    return [
        difference
        for path in different
        if (difference := _judge(root, path, filters.get(path), pointers.get(path), lfs_store))
    ]


def directories_of(path: bytes) -> Iterator[bytes]:
    """The directories above a path, the outermost first."""
    end = path.find(b"/")
    while end >= 0:
        yield path[:end]
        end = path.find(b"/", end + 1)


def read_filters(git: Git, paths: Iterable[bytes]) -> dict[bytes, str]:
    """The filter that attributes name for each path, whether or not it is configured anywhere."""
    asked = b"".join(path + b"\0" for path in paths)
    told = git.run("check-attr", "-z", "--stdin", "filter", stdin=asked).records()
    pairs = zip(told[::3], told[2::3], strict=True)
    named = {path: os.fsdecode(value) for path, value in pairs}
    return {path: name for path, name in named.items() if name not in ("unspecified", "unset", "set")}


def _convert(git: Git, suspects: Mapping[bytes, Entry], filters: Mapping[bytes, str]) -> list[bytes]:
    """Those of `suspects` that differ from their blob also after git's own conversions.

    An index of their own has no times in it, so git reads every byte.
    """
    # A name with "=" cannot be switched off by `-c`: its file counts as different.
    odd = [path for path, name in filters.items() if "=" in name]
    names = sorted({name for path, name in filters.items() if path not in odd})
    off = [word for name in names for end in _OFF for word in ("-c", f"filter.{name}.{end}")]
    lines = b"".join(
        b"%o %s 0\t%s\0" % (entry.mode, entry.oid.hex().encode(), path)
        for path, entry in suspects.items()
        if path not in odd
    )
    with tempfile.TemporaryDirectory(prefix="headcount-") as scratch:
        own = git.with_index(os.path.join(scratch, "index"))
        own.run("update-index", "-z", "--index-info", stdin=lines)
        own.run(*off, "update-index", "-q", "--refresh", ok=(0, 1))
        told = own.run(*off, "diff-files", "-z", "--name-only", "--ignore-submodules=none").records()
    return sorted({*odd, *told})


def _read_pointers(git: Git, entries: list[Entry]) -> dict[bytes, tuple[str, int]]:
    """For each path whose blob is a Git LFS pointer: SHA-256 and size of what it stands for."""
    pointers = {}
    oids = dict.fromkeys(entry.oid.hex() for entry in entries)
    for oid, blob in try_blobs(git, oids):
        if blob is None:
            continue
        start = b""
        for chunk in blob.chunks:
            start += chunk if len(start) <= _POINTER_BYTES else b""
        if found := _POINTER.fullmatch(start):
            pointers[oid] = (found[1].decode(), int(found[2]))
    return {entry.path: pointers[entry.oid.hex()] for entry in entries if entry.oid.hex() in pointers}


def _judge(
    root: bytes, path: bytes, filter_name: str | None, pointer: tuple[str, int] | None, lfs_store: str | None
) -> Difference | None:
    if pointer:
        place = os.path.join(root, path)
        if _is_stored(place, *pointer, lfs_store):
            return None
        return Difference(Kind.FILTERED, path, "a Git LFS file whose bytes are not in the local LFS store")
    if filter_name:
        return Difference(Kind.FILTERED, path, f"git has other bytes, by the filter {filter_name}")
    return Difference(Kind.HIDDEN, path, "git has other bytes, and git status does not say so")


def _is_stored(place: bytes, digest: str, size: int, lfs_store: str | None) -> bool:
    if lfs_store is None:
        return False
    stored = os.path.join(lfs_store, "objects", digest[:2], digest[2:4], digest)
    return all(_sha256(os.fsencode(file)) == (digest, size) for file in (place, stored))


def _sha256(path: bytes) -> tuple[str, int]:
    """Digest and size of a file; of anything else, one that fits nothing."""
    digest, size = hashlib.sha256(), 0
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return "", -1
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return "", -1
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            size += len(chunk)
    return digest.hexdigest(), size


# --- inner -----------------------------------------------------------------------------------------------
#
# Repositories inside a workspace: submodules, what they leave behind, and clones that a member made.


_LINK_BYTES = 1 << 16
_SECOND = 1_000_000_000  # ns
_CLOCK_NS = 5_000_000  # two readings of the clock differ by less
_SORT = 0o170000  # in a mode: what it is
_CONTENT = (stat.S_IFREG, stat.S_IFLNK)
_SCHEME = re.compile(r"(?:ssh|git|https?|ftps?|git\+ssh|ssh\+git)://(?:[^/@]*@)?(\[[^]]*\]|[^/:]*)")
_HOST = re.compile(r"(?:[^/@:]*@)?(\[[^]]*\]|[^/:]+):(?!:)")
_THIS_MACHINE = re.compile(r"|localhost|.*\.localhost|127\..*|\[::1\]|0\.0\.0\.0", re.IGNORECASE)


@dataclass(slots=True)
class Territory:
    """What one repository has of a directory tree: all below its root but what is inside another repository.

    `root` is relative to the workspace, all other paths are relative to `root`. `files` are the sizes of
    regular files and links, `touched` the modes of those that may have been written since their checkout.
    """

    root: bytes
    files: dict[bytes, int] = field(default_factory=dict)
    touched: dict[bytes, int] = field(default_factory=dict)
    directories: dict[bytes, int] = field(default_factory=dict)
    empty: list[bytes] = field(default_factory=list)


def is_untouched(root: str, checkout: Checkout | None, timeout_s: float) -> bool:
    """Whether everything below `root` is as git checked it out. False also means that headcount cannot tell.

    The kernel records each change of a file in the time of the file, and each change of a name in the time of
    its directory. `find` compares these times and stops at the first that is not from the checkout. Python
    needs twice as long, and its threads wait for each other at each file.
    """
    began, ended = _find_period(checkout)
    if not began <= os.lstat(root).st_ctime_ns < ended:
        return False
    before, last = (f"@{time // _SECOND}.{time % _SECOND:09}" for time in (began - 1, ended - 1))
    outside = ("(", "!", "-newerct", before, "-o", "-newerct", last, ")")
    try:
        answer = execute(
            ("find", root, *outside, "-print", "-quit"),
            cwd=None, env=scrubbed_environment(), stdin=None, timeout_s=timeout_s,
        )  # fmt: skip
    except GitError:
        return False  # there is no `find`, or it took too long
    return not (answer.code or answer.out or answer.err)


def _find_period(checkout: Checkout | None) -> tuple[int, int]:
    """When git wrote the files. Empty if the clock was set since: a later write may have an earlier time."""
    if checkout is None or abs(read_boot_time() - checkout.clock_ns) > _CLOCK_NS:
        return 0, 0
    return checkout.began_ns, checkout.ended_ns


def survey(root: str, checkout: Checkout | None) -> list[Territory]:
    """The territories below `root`, that of the workspace first, an outer one before those inside it.

    Repositories are searched on disk: `git status` passes over most of them.
    """
    top = Territory(b"")
    found = [top]
    began, ended = _find_period(checkout)
    pending = [(top, b"")]
    while pending:
        territory, directory = pending.pop()
        try:
            with os.scandir(os.path.join(os.fsencode(root), territory.root, directory)) as listed:
                entries = list(listed)
        except FileNotFoundError:
            if not directory:
                raise
            continue  # a running member has just removed it
        if directory and any(entry.name == b".git" for entry in entries):
            territory, directory = Territory(os.path.join(territory.root, directory)), b""
            found.append(territory)
        elif directory and not entries:
            territory.empty.append(directory)
        before = directory + b"/" if directory else b""
        files, touched = territory.files, territory.touched
        for entry in entries:
            name = entry.name
            if name == b".git":
                continue
            try:
                seen = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            mode = seen.st_mode
            sort = mode & _SORT
            if sort in _CONTENT:
                files[before + name] = seen.st_size
                if not began <= seen.st_ctime_ns < ended:
                    touched[before + name] = mode
            elif sort == stat.S_IFDIR:
                territory.directories[before + name] = mode
                pending.append((territory, before + name))
    return found


@dataclass(frozen=True, slots=True)
class Inner:
    """`path` is relative to the workspace, and None for a git directory that is checked out nowhere."""

    git_dir: str
    path: str | None

    @property
    def common_dir(self) -> str:
        """Where its refs are: its own git directory, unless it is a linked worktree of something."""
        try:
            return os.path.realpath(os.path.join(self.git_dir, _read(self.git_dir, "commondir").strip()))
        except FileNotFoundError:
            return os.path.realpath(self.git_dir)


def find_left_modules(git_dir: str, seen: Iterable[Inner]) -> list[Inner]:
    """Git directories of submodules that are checked out nowhere."""
    known = {os.path.realpath(inner.git_dir) for inner in seen}
    modules = os.path.join(git_dir, "modules")
    return [Inner(path, None) for path in _git_dirs(modules) if os.path.realpath(path) not in known]


def git_dir_of(directory: str) -> str:
    """Where `.git` leads: itself, or what the link file in its place names."""
    path = os.path.join(directory, ".git")
    if os.path.isdir(path):
        return path
    return os.path.join(directory, _read(directory, ".git").removeprefix("gitdir:").strip())


def read_submodule_paths(git: Git) -> frozenset[bytes]:
    """The paths that `.gitmodules` names. A repository at any other path is not a submodule."""
    assert git.work_tree is not None
    file = os.path.join(git.work_tree, ".gitmodules")
    asked = ("config", "-z", "--file", file, "--get-regexp", r"^submodule\..*\.path$")
    told = git.run(*asked, ok=range(256))
    return frozenset(record.partition(b"\n")[2].rstrip(b"/") for record in told.records())


def read_far_remotes(git: Git) -> list[str]:
    """Names of the remotes that are on another machine: a path on this one may be gone tomorrow."""
    far: dict[str, bool] = {}
    for line in git.text("remote", "--verbose").split("\n"):
        name, _, rest = line.partition("\t")
        url, _, what = rest.rpartition(" ")
        if what == "(fetch)":
            far[name] = far.get(name, True) and is_far(url)
    return [name for name, is_far_away in far.items() if is_far_away]


def is_far(url: str) -> bool:
    """Whether a remote's URL leads to another machine. A helper of its own (`ext::…`) may lead anywhere."""
    found = _SCHEME.match(url) or (None if "://" in url else _HOST.match(url))
    return found is not None and not _THIS_MACHINE.fullmatch(found[1])


def _read(directory: str, name: str) -> str:
    return os.fsdecode(read_file(os.path.join(directory, name), _LINK_BYTES))


def _git_dirs(modules: str) -> Iterator[str]:
    for directory, names, _ in os.walk(modules):
        if "objects" in names and "refs" in names:
            yield directory
            # A submodule's own submodules are in its `modules`; objects and refs hold no repository.
            names[:] = [name for name in names if name == "modules"]
