"""Go on from a salvage: the files that somebody left, in a workspace that somebody else was just given."""

from __future__ import annotations

import os

from headcount.workspace.names import from_tree
from headcount.workspace.objects import Leaf, read_blobs, read_tree, write_leaf
from headcount.workspace.picture import FILES
from headcount.workspace.repository import Repository
from headcount.workspace.verify import Saved


def carry_over(repo: Repository, saved: Saved, path: str) -> None:
    """Make the files below `path`, a fresh checkout of the salvage's HEAD, what they were in the salvage.

    Changes come uncommitted, as they were left; the index, stashes and operations stay with the salvage.
    """
    root = os.fsencode(path)
    head = read_tree(repo.git, saved.manifest["head"]) if saved.manifest["head"] else {}
    files = {
        from_tree(name.removeprefix(FILES)): leaf
        for name, leaf in saved.leaves.items()
        if name.startswith(FILES)
    }
    # All that differs goes first: nothing is then written through a link that stood in a directory's place.
    for name, leaf in {**head, **files}.items():
        if leaf != head.get(name) or leaf != files.get(name):
            _delete(root, name, leaf)
    changed = {name: leaf for name, leaf in files.items() if leaf != head.get(name)}
    blobs = read_blobs(repo.git, (leaf.oid for leaf in changed.values()))
    for (name, leaf), blob in zip(changed.items(), blobs, strict=True):
        place = os.path.join(root, name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        write_leaf(place, leaf, blob.chunks)


def _delete(root: bytes, name: bytes, leaf: Leaf) -> None:
    place = os.path.join(root, name)
    if leaf.mode == "160000" or not os.path.lexists(place):
        return
    os.unlink(place)
    parent = os.path.dirname(place)
    while parent != root and not os.listdir(parent):
        os.rmdir(parent)
        parent = os.path.dirname(parent)
