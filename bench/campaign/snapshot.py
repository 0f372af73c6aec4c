"""What stands in a workspace: every byte, mode, link and empty directory, and every object that it names."""

from __future__ import annotations

import os
import stat
import subprocess
from dataclasses import dataclass, field
from typing import NamedTuple

from .ledger import blob_id
from .repository import closure, environment, named, reachable, staged


class Node(NamedTuple):
    """One file, link or directory. The object id is that of the bytes on disk, or of a link's target."""

    kind: str  # "file", "link", "directory"
    mode: int
    oid: str


@dataclass
class Snapshot:
    """One workspace at one moment."""

    path: str
    git_dir: str = ""
    nodes: dict[bytes, Node] = field(default_factory=dict)
    empty: set[bytes] = field(default_factory=set)
    objects: dict[str, str] = field(default_factory=dict)  # id to type
    inner: dict[bytes, dict[str, str]] = field(default_factory=dict)  # repositories inside: path to objects
    ignored: set[bytes] = field(default_factory=set)
    state: dict[str, str] = field(default_factory=dict)  # files of an operation in progress: name to id


def take(path: str, git_dir: str) -> Snapshot:
    snapshot = Snapshot(path, git_dir)
    walk(path, snapshot)
    if git_dir and os.path.isdir(git_dir):
        snapshot.objects = _objects(git_dir)
        snapshot.ignored = _ignored(path, git_dir)
        snapshot.state = _state(git_dir)
    return snapshot


# Where `salvage restore` puts a repository that an agent made in the place of its own `.git`.
_PUT_ASIDE = b".git.salvaged"


def walk(path: str, snapshot: Snapshot) -> None:
    """Read a tree by descriptors, so that no path is too long. Its `.git` and `.headcount` are left out."""
    top = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _walk(top, b"", snapshot)
    finally:
        os.close(top)


def _walk(directory: int, prefix: bytes, snapshot: Snapshot) -> None:
    names = [os.fsencode(name) for name in os.listdir(directory)]
    if prefix and not names:
        snapshot.empty.add(prefix[:-1])
    for name in names:
        path = prefix + name
        if name == b".headcount" and not prefix:
            continue
        if name == b".git":
            if prefix or os.path.isdir(f"{snapshot.path}/.git"):  # the file of a worktree leads elsewhere
                snapshot.inner[prefix[:-1]] = _inner(snapshot.path, prefix[:-1])
            continue
        if name == _PUT_ASIDE and not prefix:
            snapshot.inner[name] = _reachable(f"{snapshot.path}/{os.fsdecode(name)}")
        try:
            node = _node(directory, name)
        except FileNotFoundError:
            continue
        if node is not None:
            snapshot.nodes[path] = node
        if node is not None and node.kind == "directory":
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=directory)
            try:
                _walk(below, path + b"/", snapshot)
            finally:
                os.close(below)


def _node(directory: int, name: bytes) -> Node | None:
    seen = os.stat(name, dir_fd=directory, follow_symlinks=False)
    mode = stat.S_IMODE(seen.st_mode)
    if stat.S_ISLNK(seen.st_mode):
        return Node("link", 0o777, blob_id(os.fsencode(os.readlink(name, dir_fd=directory))))
    if stat.S_ISDIR(seen.st_mode):
        return Node("directory", mode, "")
    if not stat.S_ISREG(seen.st_mode):
        return None  # a pipe or a socket has no content
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=directory)
    with os.fdopen(file, "rb") as opened:
        return Node("file", mode, blob_id(opened.read()))


def _objects(git_dir: str) -> dict[str, str]:
    """Return what a worktree and its repository name, stashes included, and what is staged; no trees."""
    common = git_dir
    try:
        with open(f"{git_dir}/commondir") as file:
            common = os.path.normpath(os.path.join(git_dir, file.read().strip()))
    except OSError:
        pass  # the repository's own git directory
    entries = {oid for mode, oid, _ in staged(git_dir, common) if mode != "160000"}
    found = closure(common, named(common) | entries)
    return {oid: kind for oid, kind in found.items() if kind != "tree"}


def _state(git_dir: str) -> dict[str, str]:
    """Return the files of an operation in progress, such as messages and patches."""
    found: dict[str, str] = {}
    for name in os.listdir(git_dir):
        path = f"{git_dir}/{name}"
        if name.startswith("rebase-") or name == "sequencer":
            below = Snapshot(path)
            walk(path, below)
            found |= {f"{name}/{os.fsdecode(at)}": node.oid for at, node in below.nodes.items() if node.oid}
        elif name in (
            "MERGE_HEAD",
            "MERGE_MSG",
            "SQUASH_MSG",
            "CHERRY_PICK_HEAD",
            "REVERT_HEAD",
            "BISECT_LOG",
        ):
            with open(path, "rb") as file:
                found[name] = blob_id(file.read())
    return found


def _inner(top: str, path: bytes) -> dict[str, str]:
    """Return the objects that a repository inside the workspace can reach, wherever its git directory is."""
    place = os.fsdecode(path)
    done = subprocess.run(
        ["git", "-C", f"{top}/{place}", "rev-parse", "--absolute-git-dir"],
        capture_output=True, text=True, env=environment(), timeout=60,
    )  # fmt: skip
    return {} if done.returncode else _reachable(done.stdout.strip())


def _reachable(git_dir: str) -> dict[str, str]:
    try:
        found = reachable(git_dir)
    except (OSError, RuntimeError):
        return {}
    return {oid: kind for oid, kind in found.items() if kind != "tree"}


def _ignored(path: str, git_dir: str) -> set[bytes]:
    """Return the files that git calls ignored. This runs no filter."""
    command = ["git", f"--git-dir={git_dir}", f"--work-tree={path}", "ls-files", "--others", "--ignored"]
    words = [*command, "--exclude-standard", "-z"]
    done = subprocess.run(words, capture_output=True, cwd=path, env=environment(), timeout=120)
    return set(done.stdout.split(b"\0")) - {b""}
