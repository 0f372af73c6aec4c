"""Salvage, as a ratio to `git add -A` and `git write-tree` in a temporary index.

The comparison is unequal on purpose: git reads only what changed since the index was written, leaves ignored
files, modes and stashes out, and reads nothing back. The ratio is the price of the difference. git runs two
ways: with a copy of the workspace's index, and with an empty one, so that it hashes every file too.

    python bench/salvage.py [--files 10000] [--rounds 5] [--directory DIR]

Prints the median and the spread of the processor time over the rounds, for a workspace with a few changes and
for one with many. On a busy machine the time on the clock says little.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from findings import cpu_seconds, make_repository, told

from headcount.domain.findings import Workspace
from headcount.domain.policy import Policy
from headcount.workspace.repository import Repository
from headcount.workspace.salvage import salvage
from headcount.workspace.saving_rules import SavingRules
from headcount.workspace.verify import verify
from headcount.workspace.worktrees import Workspaces

RULES = SavingRules.of(Policy(), {})


def change(workspace: Workspace, changed: int, new: int, turn: int) -> None:
    """Other bytes in every round: what git already has is not written again."""
    root = Path(workspace.path)
    for n in range(changed):
        (root / f"d{n % 100}" / f"f{n}.txt").write_text(f"changed {turn} {n}\n" * 20)
    for n in range(new):
        (root / f"new-{n}.txt").write_text(f"new {turn} {n}\n" * 20)


def add(workspace: Workspace, index: str, *, copied: bool) -> None:
    if copied:
        shutil.copyfile(f"{workspace.git_dir}/index", index)
    for words in (["add", "-A"], ["write-tree"]):
        environment = {**os.environ, "GIT_INDEX_FILE": index}
        subprocess.run(["git", *words], cwd=workspace.path, env=environment, check=True, capture_output=True)
    os.unlink(index)


def measure(repo: Repository, workspace: Workspace, changed: int, new: int, rounds: int) -> None:
    index = f"{workspace.git_dir}/bench.index"
    ways: dict[str, Callable[[], object]] = {
        "git add -A, write-tree; the index copied": partial(add, workspace, index, copied=True),
        "git add -A, write-tree; a new index": partial(add, workspace, index, copied=False),
        "salvage, written and read back": partial(salvage, repo, workspace, rules=RULES),
    }
    found: dict[str, list[float]] = {name: [] for name in ways}
    read_back = []
    for turn in range(rounds):
        for number, (name, run) in enumerate(ways.items()):
            change(workspace, changed, new, len(ways) * turn + number)
            found[name].append(cpu_seconds(run))
        ref = salvage(repo, workspace, rules=RULES).ref
        read_back.append(cpu_seconds(partial(verify, repo, ref, workspace)))
    print(f"{changed} files changed, {new} untracked, {rounds} rounds")
    for name, values in found.items():
        print("  " + told(name, values))
    print("  " + told("verify against the disk", read_back))
    copied, anew, ours = (statistics.median(values) for values in found.values())
    print(f"  ratio: {ours / copied:.1f} to the copied index, {ours / anew:.1f} to the new one")


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
