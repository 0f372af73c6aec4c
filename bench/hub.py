"""What a hub costs: pushes of salvages one by one and together, with and without git's sparse search, and
checkpoints of ten members every 30 s.

    python bench/hub.py [--files 10000] [--members 10] [--directory DIR]

Prints the processor time of this process and of git on both sides (the hub is on the same disk), and how much
the hub has grown. All figures are of one run, so their ratios hold on a busy machine, too.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from findings import WHO
from salvage import RULES, cpu_seconds

from headcount.domain.findings import Salvage, Workspace
from headcount.domain.policy import Policy
from headcount.workspace.engine_checkpoints import EngineCheckpoints
from headcount.workspace.hub import RemoteHub
from headcount.workspace.hub_setup import init_hub
from headcount.workspace.repository import Repository
from headcount.workspace.salvage import salvage
from headcount.workspace.worktrees import Workspaces

LIMIT_S = 600.0
INTERVAL_S = 30.0


def make_repository(top: Path, files: int) -> Repository:
    """Files of a kilobyte that do not compress, in packages of a hundred."""
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    rng = random.Random(17)
    for n in range(files):
        place = top / "src" / f"p{n // 100}" / f"f{n}"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(rng.randbytes(1000))
    subprocess.run(["git", "add", "."], cwd=top, check=True)
    subprocess.run(["git", *WHO, "commit", "-qm", "first"], cwd=top, check=True)
    return Repository.open(str(top))


def change(workspace: Workspace, turn: int) -> None:
    rng = random.Random(turn)
    for n in range(5):
        Path(workspace.path, "src", f"p{n}", f"f{100 * n}").write_bytes(rng.randbytes(1000))
    for n in range(3):
        Path(workspace.path, f"new-{n}").write_bytes(rng.randbytes(1000))


def new_hub(repo: Repository, place: str) -> RemoteHub:
    """A hub that has the history, as one has after its first use."""
    shutil.rmtree(place, ignore_errors=True)
    hub = RemoteHub(repo, init_hub(place))
    hub.push({"refs/heads/main": repo.head_commit() or ""}, LIMIT_S)
    return hub


def size(hub: RemoteHub) -> int:
    files = (Path(top, name) for top, _, names in os.walk(f"{hub.url}/objects") for name in names)
    return sum(file.stat().st_size for file in files)


def compare_sparse(repo: Repository, saved: Salvage, place: str) -> None:
    """The same push by hand, with git's default and without."""
    print("one salvage, pushed by hand")
    for setting in ("true", "false"):
        hub = new_hub(repo, place)
        before = size(hub)
        sparse, spec = f"pack.useSparse={setting}", f"{saved.commit}:{saved.ref}"
        words = ["git", "-c", sparse, "push", "-q", hub.url, spec]
        began = time.monotonic()
        cpu = cpu_seconds(partial(subprocess.run, words, cwd=repo.common_dir, check=True))
        took, sent = time.monotonic() - began, size(hub) - before
        print(f"  pack.useSparse={setting:6} {cpu:6.2f} s CPU, {took:6.2f} s, {sent / 1e6:8.3f} MB")


def compare_together(repo: Repository, saved: list[Salvage], place: str) -> None:
    print(f"{len(saved)} salvages")
    found = []
    for together in (False, True):
        hub = new_hub(repo, place)
        before = size(hub)

        def push(one: Salvage, hub: RemoteHub = hub) -> dict[str, str]:
            return hub.push({one.ref: one.commit}, LIMIT_S)

        def run(together: bool = together) -> None:
            with ThreadPoolExecutor(len(saved) if together else 1) as pool:
                list(pool.map(push, saved))

        began = time.monotonic()
        cpu = cpu_seconds(run)
        how = "in one push" if together else "one by one"
        took, sent = time.monotonic() - began, size(hub) - before
        found.append(cpu)
        print(f"  {how}: {cpu:6.2f} s CPU, {cpu / len(saved):.3f} each, {took:6.2f} s, {sent / 1e6:.3f} MB")
    print(f"  ratio: {found[1] / found[0]:.2f}")


def measure_checkpoints(repo: Repository, made: Workspaces, members: int, place: str, home: str) -> None:
    hub = new_hub(repo, place)
    workspaces = [made.create("bench", f"w{n}", 1) for n in range(members)]
    checkpoints = EngineCheckpoints(repo, home)
    taking, pushing = [], []
    for turn in range(4):
        for n, workspace in enumerate(workspaces):
            change(workspace, 1000 + turn * members + n)

        def take() -> None:
            for workspace in workspaces:
                checkpoints.take(workspace, Policy(), {}, "bench", LIMIT_S)

        taking.append(cpu_seconds(take))
        pushing.append(cpu_seconds(lambda: checkpoints.push(workspaces, hub, LIMIT_S)))
    unchanged = cpu_seconds(lambda: checkpoints.push(workspaces, hub, LIMIT_S))
    taken, pushed = min(taking[1:]), min(pushing[1:])  # the first fills the stores
    part, of_hub = 100 * (taken + pushed) / INTERVAL_S, 100 * pushed / INTERVAL_S
    print(f"checkpoints of {members} members that changed, every {INTERVAL_S:g} s")
    print(f"  taking {taken:.2f} s CPU, one push {pushed:.2f} s CPU; nothing changed: {unchanged:.3f} s")
    print(f"  {part:.1f} % of a core, {of_hub:.1f} % for the hub")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--files", type=int, default=10_000)
    arguments.add_argument("--members", type=int, default=10)
    arguments.add_argument("--directory", help="where to work; /dev/shm keeps the disk out of it")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="headcount-bench-", dir=options.directory) as scratch:
        repo = make_repository(Path(scratch) / "repo", options.files)
        made = Workspaces(repo, f"{scratch}/worktrees")
        saved = []
        for n in range(5):
            workspace = made.create("bench", f"m{n}", 1)
            change(workspace, n)
            saved.append(salvage(repo, workspace, rules=RULES))
        print(f"a repository of {options.files} files; 5 changed and 3 new in each workspace")
        compare_sparse(repo, saved[0], f"{scratch}/hub.git")
        compare_together(repo, saved, f"{scratch}/hub.git")
        measure_checkpoints(repo, made, options.members, f"{scratch}/hub.git", f"{scratch}/home")


if __name__ == "__main__":
    main()
