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
from headcount.workspace.index import GITLINK, Entry, read_unusual


@dataclass(frozen=True, slots=True)
class Flags:
    """`hidden`: paths that git passes over though they may differ; `gitlinks`: paths that are submodules."""

    hidden: frozenset[str]
    gitlinks: frozenset[str]


# "H" is an ordinary entry. In a large index nearly all are, and only the others are worth a look.
_UNUSUAL = re.compile(rb"\0((?:[^H]|H 160000)[^\0]*)")


def read_flags(git: Git) -> Flags:
    assert git.git_dir is not None and git.work_tree is not None
    entries = read_unusual(os.path.join(git.git_dir, "index"))
    if entries is None:
        entries = _ask_git(git)
    hidden, gitlinks = set(), set()
    for entry in entries:
        path = os.fsdecode(entry.path)
        # Skipped and not there is what a sparse checkout is; skipped and there may be anything.
        there = not entry.skip_worktree or os.path.lexists(os.path.join(git.work_tree, path))
        if (entry.skip_worktree or entry.assume_unchanged) and there:
            hidden.add(path)
        if entry.mode == GITLINK:
            gitlinks.add(path)
    return Flags(frozenset(hidden), frozenset(gitlinks))


def _ask_git(git: Git) -> list[Entry]:
    """Of every format of the index that there is. A small letter is "assume unchanged"."""
    entries = []
    for record in _UNUSUAL.findall(b"\0" + git.run("ls-files", "-v", "--stage", "-z").out):
        meta, _, path = record.partition(b"\t")
        tag, mode = meta[:1], int(meta[2:8], 8)
        entries.append(Entry(path, mode, tag.islower(), tag in b"Ss"))
    return entries


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
