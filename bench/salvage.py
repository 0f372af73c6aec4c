"""Salvage, as a ratio to `git stash create`.

The comparison is unequal on purpose: `git stash create` reads only what changed, leaves untracked files out
and reads nothing back. The ratio is the price of the difference.

    python bench/salvage.py [--files 10000] [--rounds 5] [--directory DIR]

Prints the median and the spread over the rounds, for a workspace with a few changes and for one with many.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
from functools import partial
from pathlib import Path

from findings import WHO, make_repository, seconds, told

from headcount.domain.findings import Workspace
from headcount.workspace.repository import Repository
from headcount.workspace.salvage import salvage
from headcount.workspace.verify import verify
from headcount.workspace.worktrees import Workspaces


def change(workspace: Workspace, changed: int, new: int, turn: int) -> None:
    """Other bytes in every round: what git already has is not written again."""
    root = Path(workspace.path)
    for n in range(changed):
        (root / f"d{n % 100}" / f"f{n}.txt").write_text(f"changed {turn} {n}\n" * 20)
    for n in range(new):
        (root / f"new-{n}.txt").write_text(f"new {turn} {n}\n" * 20)


def measure(repo: Repository, workspace: Workspace, changed: int, new: int, rounds: int) -> None:
    stash = partial(
        subprocess.run, ["git", *WHO, "stash", "create"], cwd=workspace.path, check=True, capture_output=True
    )
    theirs, ours, read_back = [], [], []
    for turn in range(rounds):
        change(workspace, changed, new, 2 * turn)
        theirs.append(seconds(stash))
        change(workspace, changed, new, 2 * turn + 1)
        ours.append(seconds(lambda: salvage(repo, workspace)))
        ref = salvage(repo, workspace).ref
        read_back.append(seconds(partial(verify, repo, ref, workspace)))
    print(f"{changed} files changed, {new} untracked, {rounds} rounds")
    print("  " + told("git stash create", theirs))
    print("  " + told("salvage, written and read back", ours))
    print("  " + told("verify against the disk", read_back))
    print("  " + f"ratio: {statistics.median(ours) / statistics.median(theirs):.1f}")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--files", type=int, default=10_000)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--directory", help="where to work; /dev/shm keeps the disk out of it")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="headcount-bench-", dir=options.directory) as scratch:
        repo = make_repository(Path(scratch) / "repo", options.files)
        made = Workspaces(repo, f"{scratch}/worktrees")
        print(f"a repository of {options.files} files")
        for member, changed, new in (("few", 10, 10), ("many", 500, 500)):
            measure(repo, made.create("bench", member, 1), changed, new, options.rounds)


if __name__ == "__main__":
    main()
