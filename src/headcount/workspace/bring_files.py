"""Copy files that git ignores from the user's checkout into a new workspace (`copy` in the settings).

No link is followed, neither on the way to a file nor in its place, so nothing outside of the checkout is read
and nothing outside of the workspace is written. A file that is in the workspace already stays as it is. Where
the file system can, a copy shares the blocks of its source and takes no room.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Sequence

from headcount.errors import Declined
from headcount.workspace.disk_scan import Node, list_directory, read_node
from headcount.workspace.git import Git
from headcount.workspace.ref_names import shown
from headcount.workspace.safe_files import Target, find_fault, open_below

_FICLONE = 0x40049409  # Linux: share the blocks of another file
_CHUNK = 1 << 20


def bring(source: str, target: str, names: Sequence[str], git: Git | None) -> list[str]:
    """Copy each of `names`, a file or a directory, from `source` to `target`; what was not copied, and why.

    `git` is that of the workspace: only files that it ignores are copied. None: there is no git.
    """
    root, told = os.fsencode(source), []
    nodes: list[Node] = []
    for name in names:
        path = os.fsencode(name.rstrip("/"))
        if fault := find_fault(path):
            raise _refused(name, fault)
        if b".git" in path.split(b"/"):
            raise _refused(name, "it is git's own")
        try:
            found = _list(root, path)
        except FileNotFoundError:
            told.append(f"{name} is not in {source}")
            continue
        except OSError as error:  # a link, or no directory, on the way to it
            raise _refused(name, error.strerror or str(error)) from error
        kept = found if git is None else _ignored(git, found)
        if not kept:
            raise _refused(name, "git does not ignore it, so the member would have to commit it")
        nodes += kept
    return told + _copy(root, Target(os.fsencode(target)), nodes)


def _refused(name: str, why: str) -> Declined:
    hints = ("Name only ignored files of your checkout as `copy` in headcount.toml",)
    return Declined(f"Did not copy {shown(name)} into the workspace", why, hints, code="copy-refused")


def _list(root: bytes, path: bytes) -> list[Node]:
    """What is at `path` and below it, with paths from `root`; parents come first."""
    with open_below(root, path):  # fails where a link leads there
        node = read_node(root, path)
    if not node.is_directory:
        return [node]
    below = list_directory(os.path.join(root, path), lambda _: False)
    inner = (Node(os.path.join(path, one.path), one.mode, one.size, one.stamp) for one in below.nodes)
    return [node, *inner]


def _ignored(git: Git, nodes: list[Node]) -> list[Node]:
    """Only these, in the workspace; a path that git tracks there is not ignored."""
    # With "./" in front no name is taken for a pattern of git's.
    names = [b"./" + node.path + b"/" * node.is_directory for node in nodes]
    asked = b"".join(name + b"\0" for name in names)
    env = {"GIT_LITERAL_PATHSPECS": "0"}  # check-ignore fails with it
    found = set(git.run("check-ignore", "-z", "--stdin", stdin=asked, ok=(0, 1), env=env).records())
    return [node for node, name in zip(nodes, names, strict=True) if name in found]


def _copy(root: bytes, target: Target, nodes: list[Node]) -> list[str]:
    """Modes come last: a directory may be read-only."""
    told: list[str] = []
    modes: dict[bytes, int] = {}
    for node in nodes:
        name = shown(os.fsdecode(node.path))
        try:
            if node.is_directory:
                target.make_directory(node.path)
            elif node.is_link:
                with open_below(root, node.path) as (parent, last):
                    target.write_link(node.path, os.readlink(last, dir_fd=parent))
            elif node.is_file:
                _copy_file(root, target, node.path)
            else:
                told.append(f"{name} is not a file, and was not copied")
                continue
            modes[node.path] = node.mode
        except FileExistsError:
            told.append(f"{name} is in the workspace already")
    for path in sorted(modes, reverse=True):
        target.set_mode(path, stat.S_IMODE(modes[path]))
    return told


def _copy_file(root: bytes, target: Target, path: bytes) -> None:
    with open_below(root, path) as (parent, name):
        source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
    try:
        with target.new_file(path) as made:
            copy_content(source, made)
    finally:
        os.close(source)


def copy_content(source: int, target: int) -> None:
    """The bytes of one descriptor into another, empty one: shared, copied by the kernel, or by us."""
    try:
        fcntl.ioctl(target, _FICLONE, source)
        return
    except OSError:  # another file system, or one that shares nothing
        pass
    try:
        while os.copy_file_range(source, target, 1 << 30):
            pass
    except OSError:  # what was copied so far has moved both positions
        while chunk := os.read(source, _CHUNK):
            os.write(target, chunk)
