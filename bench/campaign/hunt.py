"""Look for every piece of a snapshot, and of a ledger, in what is left after a team has ended."""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .ledger import Slot, blob_id
from .repository import git, kept_in_packs, reachable
from .snapshot import Node, Snapshot, walk

_SECRETS = (b".env",)  # names of files whose bytes no ref may hold


class Listed(NamedTuple):
    """Paths that receipts list as skipped, and the paths inside them that receipts list as saved."""

    skipped: frozenset[bytes] = frozenset()
    kept: frozenset[bytes] = frozenset()

    def covers(self, path: bytes) -> bool:
        """Tell whether a file, or a directory without anything that was saved, need not be found."""
        below = any(path == one or path.startswith(one + b"/") for one in self.skipped)
        return below and not any(
            one == path or one.startswith(path + b"/") or path.startswith(one + b"/") for one in self.kept
        )


@dataclass
class Remains:
    """All that can still be found: objects behind refs, bytes in files and archives, trees of refs."""

    objects: set[str] = field(default_factory=set)
    contents: set[str] = field(default_factory=set)
    trees: dict[bytes, set[Node]] = field(default_factory=dict)
    restored: dict[str, list[Snapshot]] = field(default_factory=dict)

    def has(self, oid: str) -> bool:
        return oid in self.objects or oid in self.contents


def gather(repo: str) -> Remains:
    """Read what is there now. This runs no command of headcount."""
    git_dir = f"{repo}/.git"
    remains = Remains(objects=set(reachable(git_dir)) | kept_in_packs(git_dir))
    for place in (repo, f"{repo}/.headcount/worktrees", f"{repo}/.headcount/archive"):
        if os.path.isdir(place):
            on_disk = Snapshot(place)
            walk(place, on_disk)
            remains.contents |= {node.oid for node in on_disk.nodes.values() if node.oid}
            for objects in on_disk.inner.values():
                remains.objects |= set(objects)
    remains.contents |= set(_in_archives(f"{repo}/.headcount/archive"))
    for path, node in _trees(git_dir):
        remains.trees.setdefault(path, set()).add(node)
    return remains


def _in_archives(place: str) -> Iterator[str]:
    for directory, _, names in os.walk(place):
        for name in names:
            if ".tar" in name or name.endswith(".tgz"):
                with tarfile.open(f"{directory}/{name}") as archive:
                    for member in archive:
                        content = archive.extractfile(member) if member.isreg() else None
                        yield blob_id(content.read() if content else os.fsencode(member.linkname))


def _trees(git_dir: str) -> Iterator[tuple[bytes, Node]]:
    """Return each entry of each ref's tree as a checkout would make it."""
    for ref in git(git_dir, "for-each-ref", "--format=%(objectname)").decode().split():
        for record in git(git_dir, "ls-tree", "-r", "-z", ref, check=False).split(b"\0"):
            if record:
                head, path = record.split(b"\t", 1)
                mode, _, oid = head.decode().split()
                yield path, _checked_out(mode, oid)


def _checked_out(mode: str, oid: str) -> Node:
    if mode == "160000":
        return Node("directory", 0o755, "")  # a submodule that was not initialised is an empty directory
    if mode == "120000":
        return Node("link", 0o777, oid)
    return Node("file", 0o755 if mode == "100755" else 0o644, oid)


def lost(member: str, before: Snapshot, remains: Remains, listed: Listed) -> list[str]:
    """Return what of a workspace cannot be found any more, in words.

    A file may be gone only if git ignored it and a receipt lists it as skipped.
    """
    found = [f"{kind} {oid} of {member}" for oid, kind in before.objects.items() if not remains.has(oid)]
    trees = list(remains.restored.get(member, []))
    if os.path.isdir(before.path):
        now = Snapshot(before.path)
        walk(before.path, now)
        trees.append(now)
    inner = {oid for tree in trees for objects in tree.inner.values() for oid in objects}
    for path, objects in before.inner.items():
        gone = [oid for oid in objects if not remains.has(oid) and oid not in inner]
        found += [f"{objects[oid]} {oid} of {member} in the repository {_shown(path)}" for oid in gone]
    in_trees = {node.oid for tree in trees for node in tree.nodes.values()}
    for path, node in before.nodes.items():
        if (path in before.ignored or node.kind == "directory") and listed.covers(path):
            continue
        now_there = {tree.nodes[path] for tree in trees if path in tree.nodes} | remains.trees.get(
            path, set()
        )
        if node.oid and not remains.has(node.oid) and node.oid not in in_trees:
            found.append(f"{node.kind} with its bytes of {member}: {_shown(path)}")
        elif not _has_mode(node, now_there):
            found.append(f"mode {node.mode:o} of a {node.kind} of {member}: {_shown(path)}")
    for name, oid in before.state.items():
        if not remains.has(oid) and not os.path.exists(f"{before.git_dir}/{name}"):
            found.append(f"{name} of an operation in progress of {member}")
    for path in before.empty:
        if listed.covers(path):
            continue
        if path not in remains.trees and not any(path in tree.nodes for tree in trees):
            found.append(f"empty directory of {member}: {_shown(path)}")
    return found


def _has_mode(node: Node, now_there: set[Node]) -> bool:
    """Tell whether the path has these permissions somewhere; it may have been committed with other bytes.

    A file or directory with the permissions that every checkout gives needs no record of them.
    """
    usual = {"file": 0o644, "directory": 0o755, "link": 0o777}[node.kind]
    return node.mode == usual or node.mode in {other.mode for other in now_there if other.kind == node.kind}


def unrecorded(member: str, slots: list[Slot], remains: Remains) -> list[str]:
    """Return the slots of a ledger of which no accepted content can be found."""
    trees = {node.oid for tree in remains.restored.get(member, []) for node in tree.nodes.values()}
    return [
        f"{slot.name} that {member} wrote"
        for slot in slots
        if not any(remains.has(oid) or oid in trees for oid in slot.accepted)
    ]


def published(member: str, before: Snapshot, remains: Remains) -> list[str]:
    """Return the ignored secrets of a workspace whose bytes are an object of the repository now."""
    return [
        f"{_shown(path)} of {member} is in git"
        for path, node in before.nodes.items()
        if os.path.basename(path) in _SECRETS and path in before.ignored and node.oid in remains.objects
    ]


def _shown(path: bytes) -> str:
    return path.decode(errors="backslashreplace")[:200]


# --- what the receipt says about itself -----------------------------------------------------------------


def receipts(repo: str) -> list[dict[str, Any]]:
    found = []
    archive = f"{repo}/.headcount/archive"
    for directory, _, names in os.walk(archive):
        if "receipt.json" in names:
            with open(f"{directory}/receipt.json") as file:
                found.append(json.load(file))
    return found


def skipped(repo: str, member: str) -> Listed:
    """Return the paths that receipts list as skipped for this member."""
    entries = [
        one for receipt in receipts(repo) for one in receipt.get("members", ()) if one.get("name") == member
    ]
    listed = [one for entry in entries for one in _listed(entry)]
    return Listed(
        frozenset(os.fsencode(one["path"]).rstrip(b"/") for one in listed),
        frozenset(os.fsencode(path).rstrip(b"/") for one in listed for path in one.get("kept", ())),
    )


def _listed(value: Any) -> Iterator[dict[str, Any]]:
    """Return everything below a key `skipped`, wherever it stands."""
    if isinstance(value, dict):
        for key, below in value.items():
            if key == "skipped" and isinstance(below, list):
                yield from below
            else:
                yield from _listed(below)
    elif isinstance(value, list):
        for below in value:
            yield from _listed(below)
