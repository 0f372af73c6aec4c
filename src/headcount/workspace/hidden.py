"""Changes that git was told not to look at.

`git update-index --assume-unchanged` and `--skip-worktree` make `git status` pass over a path, whatever is
in it. headcount asks for the same status of a copy of the index without these flags.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from headcount.workspace.git import Git
from headcount.workspace.index import Entry


def find_hidden(git: Git, entries: Iterable[Entry]) -> frozenset[str]:
    """Paths that git passes over though they may differ."""
    assert git.work_tree is not None
    flagged = [entry for entry in entries if entry.assume_unchanged or entry.skip_worktree]
    root = os.fsencode(git.work_tree)
    # Skipped and not there is what a sparse checkout is; skipped and there may be anything.
    return frozenset(
        os.fsdecode(entry.path)
        for entry in flagged
        if not entry.skip_worktree or os.path.lexists(os.path.join(root, entry.path))
    )


@contextmanager
def unhidden(git: Git, hidden: frozenset[str]) -> Iterator[Git]:
    """Git on a copy of the index without the flags; on the index itself if `hidden` is empty."""
    if not hidden:
        yield git
        return
    assert git.git_dir is not None
    with tempfile.TemporaryDirectory(prefix="headcount-") as scratch:
        copy = os.path.join(scratch, "index")
        shutil.copyfile(os.path.join(git.git_dir, "index"), copy)
        seeing = git.with_index(copy)
        paths = b"".join(os.fsencode(path) + b"\0" for path in sorted(hidden))
        for flag in ("--no-assume-unchanged", "--no-skip-worktree"):
            seeing.run("update-index", flag, "-z", "--stdin", stdin=paths)
        yield seeing
