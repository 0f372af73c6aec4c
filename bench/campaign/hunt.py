"""Look for every piece of a snapshot, and of a ledger, in what is left after a team has ended."""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .ledger import Slot, blob_id
from .repository import git, kept_in_packs, reachable
from .snapshot import Node, Snapshot, walk

_SKIPPED_KEYS = ("left_out", "leftOut", "skipped", "rebuildable", "not_saved", "notSaved")


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


def lost(member: str, before: Snapshot, remains: Remains, skipped: set[bytes]) -> list[str]:
    """Return what of a workspace cannot be found any more, in words."""
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
        if path in before.ignored and _is_skipped(path, skipped):
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


def _is_skipped(path: bytes, skipped: set[bytes]) -> bool:
    return any(path == one or path.startswith(one + b"/") for one in skipped)


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


def skipped(repo: str, member: str) -> set[bytes]:
    """Return the paths that a receipt lists as not saved for this member."""
    entries = [
        one for receipt in receipts(repo) for one in receipt.get("members", ()) if one.get("name") == member
    ]
    return {os.fsencode(path).rstrip(b"/") for entry in entries for path in _listed(entry)}


def _listed(value: Any, inside: bool = False) -> Iterator[str]:
    if isinstance(value, dict):
        for key, below in value.items():
            if inside and key == "path" and isinstance(below, str):
                yield below
            yield from _listed(below, inside or key in _SKIPPED_KEYS)
    elif isinstance(value, list):
        for below in value:
            if inside and isinstance(below, str):
                yield below
            yield from _listed(below, inside)
