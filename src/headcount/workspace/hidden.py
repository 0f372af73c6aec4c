"""Changes that git was told not to look at.

`git update-index --assume-unchanged` and `--skip-worktree` make `git status` pass over a path, whatever is
in it. Here the same status is asked of a copy of the index in which nobody said so.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from headcount.workspace.git import Git


@dataclass(frozen=True, slots=True)
class Flags:
    """`hidden`: paths that git passes over though they may differ; `gitlinks`: paths that are submodules."""

    hidden: frozenset[str]
    gitlinks: frozenset[str]


# "H" is an ordinary entry. In a large index nearly all are, and only the others are worth a look.
_UNUSUAL = re.compile(rb"\0((?:[^H]|H 160000)[^\0]*)")


def read_flags(git: Git) -> Flags:
    assert git.work_tree is not None
    hidden, gitlinks = set(), set()
    for record in _UNUSUAL.findall(b"\0" + git.run("ls-files", "-v", "--stage", "-z").out):
        meta, _, name = record.partition(b"\t")
        tag, mode = meta[:1], meta[2:8]
        path = os.fsdecode(name)
        # Skipped and not there is what a sparse checkout is; skipped and there may be anything.
        skipped = tag in b"Ss"
        if (skipped or tag.islower()) and (not skipped or os.path.lexists(os.path.join(git.work_tree, path))):
            hidden.add(path)
        if mode == b"160000":
            gitlinks.add(path)
    return Flags(frozenset(hidden), frozenset(gitlinks))


@contextmanager
def unhidden(git: Git, flags: Flags) -> Iterator[Git]:
    """Git on a copy of the index in which nothing is hidden; on the index itself where nothing is."""
    if not flags.hidden:
        yield git
        return
    assert git.git_dir is not None
    with tempfile.TemporaryDirectory(prefix="headcount-") as scratch:
        copy = os.path.join(scratch, "index")
        shutil.copyfile(os.path.join(git.git_dir, "index"), copy)
        seeing = git.with_index(copy)
        paths = b"".join(os.fsencode(path) + b"\0" for path in sorted(flags.hidden))
        for flag in ("--no-assume-unchanged", "--no-skip-worktree"):
            seeing.run("update-index", flag, "-z", "--stdin", stdin=paths)
        yield seeing
