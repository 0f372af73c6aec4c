"""Repositories inside a workspace: submodules, what they leave behind, and clones that a member made."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from headcount.domain.findings import Checkout
from headcount.workspace.files import read_file
from headcount.workspace.git import Git

_LINK_BYTES = 1 << 16
_CONTENT = (stat.S_IFREG, stat.S_IFLNK)
_SCHEME = re.compile(r"(?:ssh|git|https?|ftps?|git\+ssh|ssh\+git)://(?:[^/@]*@)?(\[[^]]*\]|[^/:]*)")
_HOST = re.compile(r"(?:[^/@:]*@)?(\[[^]]*\]|[^/:]+):(?!:)")
_THIS_MACHINE = re.compile(r"|localhost|.*\.localhost|127\..*|\[::1\]|0\.0\.0\.0", re.IGNORECASE)


@dataclass(slots=True)
class Territory:
    """What one repository has of a directory tree: all below its root but what is inside another repository.

    `root` is relative to the workspace, all other paths are relative to `root`. `files` are regular files and
    links, `touched` the modes of those that may have been written since git checked them out.
    """

    root: bytes
    files: set[bytes] = field(default_factory=set)
    touched: dict[bytes, int] = field(default_factory=dict)
    directories: dict[bytes, int] = field(default_factory=dict)
    empty: list[bytes] = field(default_factory=list)


def survey(root: str, checkout: Checkout | None) -> list[Territory]:
    """The territories below `root`, that of the workspace first, an outer one before those inside it.

    Repositories are searched on disk: `git status` passes over most of them.
    """
    found = [Territory(b"")]
    began, ended = (checkout.began_ns, checkout.ended_ns) if checkout else (0, 0)
    pending = [(found[0], b"")]
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
        for entry in entries:
            if entry.name == b".git":
                continue
            try:
                seen = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            path, mode = before + entry.name, seen.st_mode
            sort = stat.S_IFMT(mode)
            if sort == stat.S_IFDIR:
                territory.directories[path] = mode
                pending.append((territory, path))
            elif sort in _CONTENT:
                territory.files.add(path)
                if not began <= seen.st_ctime_ns < ended:
                    territory.touched[path] = mode
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
