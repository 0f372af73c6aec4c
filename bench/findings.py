"""Findings of many workspaces, as a ratio to running `git status` in each, one after the other.

    python bench/findings.py [--worktrees 20] [--files 10000] [--rounds 5] [--directory DIR]

Prints the median and the spread over the rounds. The two are run alternately, so that a noisy machine is
noisy for both. On a busy machine several threads get a larger share of it than one git, so the ratio of the
processor times is printed, too. Every tenth workspace has something dirty in it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from headcount.domain.findings import Workspace
from headcount.workspace.inspection import read_all, read_findings
from headcount.workspace.repository import Repository
from headcount.workspace.worktrees import Workspaces

WHO = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"]


def make_repository(top: Path, files: int) -> Repository:
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    for n in range(files):
        place = top / f"d{n % 100}" / f"f{n}.txt"
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"file {n}\n" * 20)
    subprocess.run(["git", "add", "."], cwd=top, check=True)
    subprocess.run(["git", *WHO, "commit", "-qm", "first"], cwd=top, check=True)
    return Repository.open(str(top))


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def cpu_seconds(run: Callable[[], object]) -> float:
    """The processor time of this process and of those that it has waited for."""
    before = os.times()
    run()
    return sum(os.times()[:4]) - sum(before[:4])


def git_status_in_each(workspaces: list[Workspace]) -> None:
    for workspace in workspaces:
        subprocess.run(["git", "status", "--porcelain"], cwd=workspace.path, check=True, capture_output=True)


def told(name: str, values: list[float], unit: str = " s") -> str:
    return f"{name}: median {statistics.median(values):.3f}{unit} ({min(values):.3f} to {max(values):.3f})"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--worktrees", type=int, default=20)
    arguments.add_argument("--files", type=int, default=10_000)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--directory", help="where to work; /dev/shm keeps the disk out of it")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="headcount-bench-", dir=options.directory) as scratch:
        repo = make_repository(Path(scratch) / "repo", options.files)
        made = Workspaces(repo, f"{scratch}/worktrees")
        workspaces = [made.create("bench", f"m{n}", 1) for n in range(options.worktrees)]
        for workspace in workspaces[::10]:
            (Path(workspace.path) / "new.txt").write_text("new\n")
        reads = [partial(read_findings, repo, workspace) for workspace in workspaces]
        git_status_in_each(workspaces)
        one_by_one, ours, alone, theirs_cpu, ours_cpu = [], [], [], [], []
        for _ in range(options.rounds):
            one_by_one.append(seconds(lambda: git_status_in_each(workspaces)))
            ours.append(seconds(lambda: read_all(reads)))
            alone.append(seconds(lambda: [read() for read in reads]))
            theirs_cpu.append(cpu_seconds(lambda: git_status_in_each(workspaces)))
            ours_cpu.append(cpu_seconds(lambda: read_all(reads)))
        print(f"{options.worktrees} worktrees of {options.files} files, {options.rounds} rounds")
        print(told("git status in each, one after the other", one_by_one))
        print(told("findings of all, in threads", ours))
        print(told("findings of all, one after the other", alone))
        print(told("ratio", [mine / theirs for mine, theirs in zip(ours, one_by_one, strict=True)], ""))
        print(told("processor time of git status", theirs_cpu))
        print(told("processor time of the findings", ours_cpu))
        spent = [mine / theirs for mine, theirs in zip(ours_cpu, theirs_cpu, strict=True)]
        print(told("ratio of processor times", spent, ""))


if __name__ == "__main__":
    main()
