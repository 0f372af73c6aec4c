"""Write files of a checkpoint back: to a new directory, or over the files of a workspace.

Paths are opened as those of a salvage are (`safe_files.Target`), so no name leads out of the target. A
restore deletes nothing. In a workspace it replaces only files that the checkpoint `before` has, so it can be
undone.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from headcount.errors import GitError, UsageError
from headcount.value_classes import dataclass
from headcount.workspace.checkpoints import Checkpoint, Checkpoints
from headcount.workspace.contents import directories_of
from headcount.workspace.objects import Leaf, find_broken, read_blobs, read_tree, write_leaf
from headcount.workspace.ref_names import shown
from headcount.workspace.restore import require_empty, require_room
from headcount.workspace.safe_files import Target


@dataclass(frozen=True, slots=True)
class Restored:
    """`notes` name the files that were not written, and why."""

    path: str
    files: int
    notes: tuple[str, ...]


def restore_to(store: Checkpoints, point: Checkpoint, target: str, paths: Sequence[str] = ()) -> Restored:
    """Write the files, or those below `paths`, to a directory that does not exist or is empty."""
    wanted = _find_files(store, point, paths)
    target = os.path.realpath(target)
    require_empty(target)
    require_room(store.git, wanted.values(), target, f"checkpoint {point.number}")
    os.makedirs(target, exist_ok=True)
    return Restored(target, _write(store, wanted, Target(os.fsencode(target)), replace=False), ())


def restore_in_place(
    store: Checkpoints, point: Checkpoint, before: Checkpoint, paths: Sequence[str] = ()
) -> Restored:
    """Write the files over those of the workspace, whose member must not run.

    `before` was taken a moment ago: a file that is there and not in it has no copy, and stays as it is.
    """
    wanted, now = _find_files(store, point, paths), read_tree(store.git, before.tree)
    path = store.workspace.path
    top = os.fsencode(path)
    notes: list[str] = []
    for name, leaf in list(wanted.items()):
        if now.get(name) == leaf:
            del wanted[name]
        elif name not in now and os.path.lexists(os.path.join(top, name)):
            del wanted[name]
            notes.append(f"{shown(os.fsdecode(name))} was not written: what is there is not in a checkpoint")
        elif any(_is_in_the_way(os.path.join(top, above)) for above in directories_of(name)):
            del wanted[name]
            notes.append(f"{shown(os.fsdecode(name))} was not written: a file is where its directory was")
    require_room(store.git, wanted.values(), path, f"checkpoint {point.number}")
    used = {part for name in {**wanted, **now} for part in name.split(b"/")}
    beside = next(
        name for name in (b".headcount-new%d" % n for n in range(len(used) + 1)) if name not in used
    )
    return Restored(path, _write(store, wanted, Target(top, beside=beside), replace=True), tuple(notes))


def _find_files(store: Checkpoints, point: Checkpoint, paths: Sequence[str]) -> dict[bytes, Leaf]:
    """The files of a checkpoint that are one of these paths or below it; all without a path."""
    # An empty path, as of a variable that is not set, would mean everything to `normpath`.
    asked = [os.fsencode(os.path.normpath(path or os.devnull)) for path in paths]
    found = {
        name: leaf
        for name, leaf in read_tree(store.git, point.tree).items()
        if not asked or any(name == path or name.startswith(path + b"/") or path == b"." for path in asked)
    }
    if not found:
        raise UsageError(
            f"Checkpoint {point.number} has no {shown(' '.join(paths) or 'files')}",
            "paths begin at the top of the workspace",
            (f"See its files with `headcount checkpoints show {store.workspace.member}@{point.number}`",),
            code="no-checkpoint",
        )
    if any(part.lower() == b".git" for name in found for part in name.split(b"/")):
        raise GitError(
            f"Did not restore checkpoint {point.number}",
            "it has a file called .git, and no checkpoint of headcount does",
            code="salvage-unsafe",
        )
    broken = find_broken(store.git, store.repo.hash_name, found.values())
    if broken:
        raise GitError(
            f"Did not restore checkpoint {point.number}",
            f"object {broken[0]} is missing or broken",
            code="salvage-differs",
        )
    return found


def _write(store: Checkpoints, wanted: dict[bytes, Leaf], target: Target, *, replace: bool) -> int:
    blobs = read_blobs(store.git, (leaf.oid for leaf in wanted.values()))
    for (name, leaf), blob in zip(wanted.items(), blobs, strict=True):
        write_leaf(target, name, leaf, blob.chunks, replace=replace)
    return len(wanted)


def _is_in_the_way(place: bytes) -> bool:
    """Whether something else is where a directory must be; a link to a directory counts."""
    return os.path.lexists(place) and (os.path.islink(place) or not os.path.isdir(place))
