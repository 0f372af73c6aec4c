"""Continue from a salvage: write its files into a workspace that another member was just given."""

from __future__ import annotations

import os
from itertools import count

from headcount.workspace.beneath import Target
from headcount.workspace.names import from_tree
from headcount.workspace.objects import read_blobs, read_tree, write_leaf
from headcount.workspace.picture import FILES
from headcount.workspace.repository import Repository
from headcount.workspace.verify import Saved

_PATIENCE_S = 600.0


def carry_over(repo: Repository, saved: Saved, path: str) -> None:
    """Make the files below `path`, a fresh checkout of the salvage's HEAD, what they were in the salvage.

    Changes come uncommitted, as they were left; the index, stashes and operations stay with the salvage. A
    file is replaced by renaming, so that it is the old one or the new one at any moment.
    """
    saved.require_safe()
    repo = repo.until(_PATIENCE_S)
    head = read_tree(repo.git, saved.manifest["head"]) if saved.manifest["head"] else {}
    files = {
        from_tree(name.removeprefix(FILES)): leaf
        for name, leaf in saved.leaves.items()
        if name.startswith(FILES) and not _is_link_file(name)
    }
    directories = {parent for name in files for parent in _parents(name)}
    used = {part for name in files for part in name.split(b"/")}
    beside = next(name for name in (b".headcount-new%d" % n for n in count()) if name not in used)
    target = Target(os.fsencode(path), beside=beside)
    for name, leaf in head.items():
        # Of what is no longer there, and of a file or link that stands where a directory goes.
        if leaf.mode != "160000" and (name not in files or name in directories):
            target.delete(name)
    changed = {name: leaf for name, leaf in files.items() if leaf != head.get(name)}
    blobs = read_blobs(repo.git, (leaf.oid for leaf in changed.values()))
    for (name, leaf), blob in zip(changed.items(), blobs, strict=True):
        write_leaf(target, name, leaf, blob.chunks, replace=True)


def _is_link_file(name: bytes) -> bool:
    """The new workspace has its own `.git`; what stood there stays with the salvage."""
    return from_tree(name.removeprefix(FILES)).split(b"/")[0] == b".git"


def _parents(path: bytes) -> list[bytes]:
    parts = path.split(b"/")
    return [b"/".join(parts[:n]) for n in range(1, len(parts))]
