"""Keep files outside of git, in a tar file that is read back: a plain directory, or private files.

The file is written beside its place, synced, read back entry by entry, and only then given its name, which
no other file had. Everything tar can hold is in it: links, modes, empty directories, pipes. Sockets it
cannot. Only the user can read it.

Private files of a worktree, which `salvage_private` names, are in no ref. The manifest of their salvage names
them and the tar file, and holds no digest of them: a short secret could be guessed from its digest.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from headcount.domain.findings import Archive, Salvage, Workspace
from headcount.errors import UsageError, WorldError
from headcount.workspace.disk_scan import (
    CHUNK,
    Node,
    hash_blob,
    hash_node,
    list_directory,
    open_path,
    read_link,
)
from headcount.workspace.ref_names import encode, numbered, parse_salvage_ref, shown
from headcount.workspace.safe_files import Target, find_fault, sync_directory

_HASH = "sha256"
_PRIVATE = ".private"
PRIVATE, ARCHIVE = "private", "private_archive"  # in the manifest of a salvage


def archive(workspace: Workspace, directory: str) -> Archive:
    """Archive into `directory`/<team>/. A repeat, with nothing changed, gives the archive that is there."""
    return _keep(workspace, directory, f"{encode(workspace.member)}-{workspace.generation}", None)


def keep_private(workspace: Workspace, generation: int, nodes: list[Node], directory: str) -> Archive:
    """Archive these files and links of a worktree, byte for byte and with their modes."""
    return _keep(workspace, directory, f"{encode(workspace.member)}-{generation}{_PRIVATE}", nodes)


def _keep(workspace: Workspace, directory: str, name: str, nodes: list[Node] | None) -> Archive:
    parent = os.path.join(directory, encode(workspace.team))
    for place in (directory, parent):
        os.makedirs(place, mode=0o700, exist_ok=True)
    add = _add_entry if nodes is None else _add_private
    beside = os.path.join(parent, f".{name}.{os.getpid()}.new")
    try:
        if os.path.lexists(beside):  # a process with this number was killed here
            os.unlink(beside)
        _write(workspace.path, beside, _nodes(workspace.path) if nodes is None else nodes, add)
        problems = compare(beside, workspace.path, nodes)
        if problems:
            raise WorldError("The archive is not what was read", problems[0], code="salvage-differs")
        path = _publish(beside, os.path.join(parent, name))
        # Any of these directories may be new.
        for above in (directory, os.path.dirname(directory)):
            sync_directory(above)
    except OSError as error:
        raise WorldError(f"Could not archive {workspace.path}", str(error), code="salvage-failed") from error
    finally:
        if os.path.lexists(beside):
            os.unlink(beside)
    with tarfile.open(path) as tar:
        entries = len(tar.getmembers())
    return Archive(path, _digest(path), entries, os.path.getsize(path))


def _write(
    root: str, path: str, nodes: list[Node], add: Callable[[tarfile.TarFile, bytes, Node], None]
) -> None:
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
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for node in nodes:
                add(tar, os.fsencode(root), node)
        file.flush()
        os.fsync(file.fileno())


def _add_entry(tar: tarfile.TarFile, root: bytes, node: Node) -> None:
    tar.add(os.fsdecode(os.path.join(root, node.path)), os.fsdecode(node.path), recursive=False)


def _add_private(tar: tarfile.TarFile, root: bytes, node: Node) -> None:
    """Without times and owners, so that the same files give the same archive; however long the path is."""
    entry = tarfile.TarInfo(os.fsdecode(node.path))
    entry.mode = stat.S_IMODE(node.mode)
    if node.is_link:
        entry.type, entry.linkname = tarfile.SYMTYPE, os.fsdecode(read_link(root, node.path))
        tar.addfile(entry)
        return
    with open(open_path(root, node.path), "rb") as file:
        entry.size = os.fstat(file.fileno()).st_size
        tar.addfile(entry, file)


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


def compare(path: str, root: str, nodes: list[Node] | None = None) -> list[str]:
    """What differs between an archive and a directory, or these of its files: names, kinds, modes, bytes."""
    with tarfile.open(path) as tar:
        archived = {member.name: _archived(tar, member) for member in tar}
    listed = _nodes(root) if nodes is None else nodes
    present = {
        os.fsdecode(node.path): (_kind(node), node.mode & 0o7777, _content(root, node))
        for node in listed
        if _kind(node) != "socket"
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


# --- private files ---------------------------------------------------------------------------------------


def find_private(
    directory: str, ref: str, manifest: Mapping[str, Any], receipt: Salvage | None = None
) -> Archive | None:
    """The archive of a salvage's private files: as its receipt names it, else by its name in `directory`.

    A salvage may come from elsewhere, so it can name no other archive than one of its own incarnation.
    """
    if receipt is not None and receipt.private is not None:
        return receipt.private
    name, key = str(manifest.get(ARCHIVE, "")), parse_salvage_ref(ref)
    path = os.path.join(directory, name)
    if not directory or key is None or not os.path.isfile(path):
        return None
    own = f"{encode(key[0])}/{encode(key[1])}-{key[2]}{_PRIVATE}"
    if not re.fullmatch(re.escape(own) + r"(\.\d+)?\.tar", name):
        return None
    return Archive(path, _digest(path), len(manifest.get(PRIVATE, ())), os.path.getsize(path))


def check_private(manifest: Mapping[str, Any], kept: Archive | None) -> list[str]:
    """Problems with the private files of a salvage."""
    paths = manifest.get(PRIVATE, ())
    if not paths:
        return []
    if kept is None:
        return [f"the archive {shown(str(manifest.get(ARCHIVE)))} with its private files is not here"]
    if problems := verify_archive(kept):
        return problems
    with tarfile.open(kept.path) as tar:
        same = sorted(tar.getnames()) == sorted(paths)
    return [] if same else [f"{kept.path} does not hold the private files that the salvage names"]


def read_private(kept: Archive) -> Iterator[tuple[bytes, int, bytes | None, Iterator[bytes]]]:
    """Each private file: its path and mode, the target of a link, and the bytes of a file."""
    with tarfile.open(kept.path) as tar:
        for member in tar:
            file = tar.extractfile(member) if member.isfile() else None
            target = os.fsencode(member.linkname) if member.issym() else None
            chunks = iter(partial(file.read, CHUNK), b"") if file is not None else iter(())
            yield os.fsencode(member.name), member.mode, target, chunks


def name_in(directory: str, kept: Archive) -> str:
    """Its name below `directory`, as the manifest of its salvage has it."""
    return os.path.relpath(kept.path, directory)
