"""Keep a plain directory, where there is no git: a tar file, read back.

The file is written beside its place, synced, read back entry by entry, and only then given its name, which
no other file had. Everything tar can hold is in it: links, modes, empty directories, pipes. Sockets it
cannot.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
from collections.abc import Iterable
from functools import partial
from typing import Any

from headcount.domain.findings import Archive, Workspace
from headcount.errors import UsageError, WorldError
from headcount.workspace.disk_scan import CHUNK, Node, hash_blob, hash_node, list_directory
from headcount.workspace.ref_names import encode, numbered, shown
from headcount.workspace.safe_files import Target, find_fault, sync_directory

_HASH = "sha256"


def archive(workspace: Workspace, directory: str) -> Archive:
    """Archive into `directory`/<team>/. A repeat, with nothing changed, gives the archive that is there."""
    parent = os.path.join(directory, encode(workspace.team))
    os.makedirs(parent, mode=0o700, exist_ok=True)
    beside = os.path.join(parent, f".{encode(workspace.member)}.{os.getpid()}.new")
    try:
        _write(workspace.path, beside)
        problems = compare(beside, workspace.path)
        if problems:
            raise WorldError("The archive is not what was read", problems[0], code="salvage-differs")
        path = _publish(beside, os.path.join(parent, f"{encode(workspace.member)}-{workspace.generation}"))
    except OSError as error:
        raise WorldError(f"Could not archive {workspace.path}", str(error), code="salvage-failed") from error
    finally:
        if os.path.lexists(beside):
            os.unlink(beside)
    with tarfile.open(path) as tar:
        entries = len(tar.getmembers())
    return Archive(path, _digest(path), entries, os.path.getsize(path))


def _write(root: str, path: str) -> None:
    nodes = _nodes(root)
    # Before the first byte: a disk that is full, if only for a while, costs others their work. The holes of
    # a sparse file are bytes in a tar file.
    directory = os.path.dirname(path)
    needed = sum(node.size for node in nodes if node.is_file)
    free = shutil.disk_usage(directory).free
    if needed > free:
        raise WorldError(
            f"Could not archive {root}",
            f"it has {needed:,} bytes, and {free:,} are free in {directory}",
            ("Free some space, or delete what you do not need",),
            code="salvage-failed",
        )
    with open(path, "xb") as file:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for node in nodes:
                tar.add(os.path.join(root, os.fsdecode(node.path)), os.fsdecode(node.path), recursive=False)
        file.flush()
        os.fsync(file.fileno())


def _nodes(root: str) -> list[Node]:
    listing = list_directory(os.fsencode(root), lambda _: False)
    if listing.unreadable:
        path, why = listing.unreadable[0]
        raise WorldError(
            f"Could not archive {root}", f"{shown(os.fsdecode(path))}: {why}", code="salvage-failed"
        )
    return sorted(listing.nodes, key=lambda node: node.path)


def _publish(beside: str, name: str) -> str:
    """Give it the next free name, or find the one that holds the very same."""
    digest, n = _digest(beside), 1
    while True:
        path = numbered(name, n) + ".tar"
        try:
            os.link(beside, path)
            sync_directory(os.path.dirname(path))
            return path
        except FileExistsError:
            if _digest(path) == digest:
                return path
            n += 1


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, _HASH).hexdigest()


def verify_archive(kept: Archive, workspace: Workspace | None = None) -> list[str]:
    """Problems, none if all is well: the file is what it was, and, with a workspace, what is on disk now."""
    if not os.path.exists(kept.path):
        return [f"{kept.path} is gone"]
    problems = [] if _digest(kept.path) == kept.sha256 else [f"{kept.path} was changed"]
    try:
        with tarfile.open(kept.path) as tar:
            problems += filter(None, (find_fault(os.fsencode(name)) for name in tar.getnames()))
    except tarfile.TarError as error:
        return [*problems, f"{kept.path} cannot be read: {error}"]
    return problems + (compare(kept.path, workspace.path) if workspace else [])


def compare(path: str, root: str) -> list[str]:
    """What differs between an archive and a directory: names, kinds, modes, link targets, bytes."""
    with tarfile.open(path) as tar:
        archived = {member.name: _archived(tar, member) for member in tar}
    nodes = [node for node in _nodes(root) if _kind(node) != "socket"]
    present = {
        os.fsdecode(node.path): (_kind(node), node.mode & 0o7777, _content(root, node)) for node in nodes
    }
    names: Iterable[str] = sorted(archived.keys() | present.keys())
    return [f"{shown(name)} differs" for name in names if archived.get(name) != present.get(name)]


def _archived(tar: tarfile.TarFile, member: tarfile.TarInfo) -> tuple[str, int, str]:
    if member.issym():
        return (
            "link",
            member.mode,
            hash_blob(_HASH, len(os.fsencode(member.linkname)), [os.fsencode(member.linkname)]),
        )
    file = tar.extractfile(member) if member.isfile() or member.islnk() else None
    if file is None:
        return ("directory" if member.isdir() else "special"), member.mode, ""
    size = tar.getmember(member.linkname).size if member.islnk() else member.size
    return "file", member.mode, hash_blob(_HASH, size, iter(lambda: file.read(CHUNK), b""))


def _kind(node: Node) -> str:
    if node.is_link:
        return "link"
    if node.is_directory:
        return "directory"
    if node.is_file:
        return "file"
    return "socket" if node.is_socket else "special"


def _content(root: str, node: Node) -> str:
    return hash_node(os.fsencode(root), node, _HASH) if node.is_file or node.is_link else ""


def list_entries(kept: Archive) -> list[dict[str, Any]]:
    with tarfile.open(kept.path) as tar:
        return [{"path": shown(one.name), "mode": f"{one.mode:o}", "bytes": one.size} for one in tar]


def restore_archive(kept: Archive, target: str) -> list[str]:
    """Unpack to `target`, which must not exist or be an empty directory. Return what was not made, and why.

    `tarfile` does not do it here. Its `data` filter refuses links to absolute paths, which any Python
    environment has, and up to Python 3.11.12 it can be led out of the target (CVE-2025-4517).
    """
    if problems := verify_archive(kept):
        raise WorldError(f"Did not restore {kept.path}", problems[0], code="salvage-differs")
    if os.path.lexists(target) and (not os.path.isdir(target) or os.listdir(target)):
        raise UsageError(f"Did not restore to {shown(target)}", "it is not empty", code="target-not-empty")
    os.makedirs(target, exist_ok=True)
    with tarfile.open(kept.path) as tar:
        return _unpack(tar, Target(os.fsencode(os.path.realpath(target))))


def _unpack(tar: tarfile.TarFile, target: Target) -> list[str]:
    """Everything below the target, links never followed, modes last: a directory may be read-only."""
    notes, modes = [], {}
    for member in tar:
        path = os.fsencode(member.name)
        if member.isdir():
            target.make_directory(path)
        elif member.issym():
            target.write_link(path, os.fsencode(member.linkname))
        elif member.islnk():
            target.link(path, os.fsencode(member.linkname))
        elif (file := tar.extractfile(member) if member.isfile() else None) is not None:
            target.write_file(path, iter(partial(file.read, CHUNK), b""))
        else:
            notes.append(f"{shown(member.name)} was no file and is not there")
            continue
        modes[path] = member.mode
    for path in sorted(modes, reverse=True):
        target.set_mode(path, modes[path])
    return notes
