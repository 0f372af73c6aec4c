"""What checkpoints cost: CPU of a team with and without them, at work and idle, in one run.

    python bench/checkpoints.py [--files 10000] [--members 10] [--seconds 60] [--interval 60] [--directory D]

Four teams, one after the other, in one repository: members that write a file each second, without and with
checkpoints; then members that do nothing, without and with. The engine is the resident one, in a process of
its own. Counted are the engine with every git that it ran, and the members. Each count begins after three
intervals: the first checkpoint reads all files, and an idle workspace is quiet after two more. Then the
processor time of a single checkpoint is measured, as a ratio to `git status` in the same workspace.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from findings import make_repository, told
from salvage import cpu_seconds

from headcount.app.adapters import make_runtimes
from headcount.app.app import App, open_app
from headcount.app.member_start import Plan
from headcount.app.progress import follow
from headcount.app.resident import ensure_driven
from headcount.app.standing_down import stand_down
from headcount.app.team_start import wait_for
from headcount.app.teams import create_team, spawn
from headcount.domain.findings import Workspace
from headcount.protocol.member import State
from headcount.workspace.checkpoints import Checkpoints
from headcount.workspace.repository import Repository

WRITES = "n=0; while :; do n=$((n+1)); echo $n $HEADCOUNT_MEMBER > d$((n % 100))/work-$n.txt; sleep 1; done"
IDLES = "sleep 3600"
_TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--files", type=int, default=10_000)
    arguments.add_argument("--members", type=int, default=10)
    arguments.add_argument("--seconds", type=float, default=60)
    arguments.add_argument("--interval", type=float, default=60)
    arguments.add_argument("--directory")
    options = arguments.parse_args()
    place = tempfile.mkdtemp(prefix="headcount-bench-", dir=options.directory)
    try:
        repo = make_repository(Path(place), options.files)
        app = open_app(place, {})
        what = f"{options.members} members, {options.files:,} files, {options.seconds:g} s"
        for name, script in (("write a file each second", WRITES), ("idle", IDLES)):
            without = measure(app, f"off-{name[0]}", script, options, 0)
            with_them = measure(app, f"on-{name[0]}", script, options, options.interval)
            print(f"{what}, {name}; CPU of the engine and its git, and of the members:")
            print(f"  without checkpoints:         {without[0]:6.2f} s + {without[1]:6.2f} s")
            label = f"with one each {options.interval:g} s:"
            print(f"  {label:28} {with_them[0]:6.2f} s + {with_them[1]:6.2f} s")
            more = sum(with_them) - sum(without)
            share = more / options.seconds / options.members
            ratio = f"{sum(with_them) / sum(without):.2f}" if sum(without) else "of nothing"
            print(f"  ratio {ratio}; {100 * share:.3f} % of a core for each member")
        app.close()
        time_one(repo, place)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def measure(
    app: App, team: str, script: str, options: argparse.Namespace, interval: float
) -> tuple[float, float]:
    """CPU seconds of the engine with its git, and of the members."""
    policy = replace(
        app.settings.policy, checkpoint_s=interval, max_members=options.members, answer_timeout_s=1
    )
    app.settings = replace(app.settings, policy=policy)
    create_team(app, team, environ=os.environ)
    ensure_driven(app)
    for number in range(options.members):
        spawn(app, team, Plan(f"m{number}", command=("bash", "-c", script)))
    wait_for(app, team, lambda t: all(m.state is State.RUNNING for m in t.members.values()), 600)
    try:
        return _count(app, team, options)
    finally:
        for _ in follow(app, team, stand_down(app, team, force=True)):
            pass


def _count(app: App, team: str, options: argparse.Namespace) -> tuple[float, float]:
    with app.store.read() as tx:
        loaded = tx.load_team(team)
        assert loaded is not None
        marks = [str(fact["mark"]) for fact in tx.facts(loaded.id, "start").values()]
    handles = [make_runtimes(app)["plain"].adopt(mark) for mark in marks]
    members = [handle.record.agent.pid for handle in handles if handle is not None]
    with open(f"{app.home}/engine.lock") as file:
        engine = [int(file.read())]
    time.sleep(3.5 * options.interval)
    before = sum(map(_cpu_s, engine)), sum(map(_cpu_s, members))
    time.sleep(options.seconds)
    after = sum(map(_cpu_s, engine)), sum(map(_cpu_s, members))
    return after[0] - before[0], after[1] - before[1]


def _cpu_s(pid: int) -> float:
    """Of a process and of its children that have ended."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS


def time_one(repo: Repository, place: str) -> None:
    """One that finds nothing, and one with three changed files: processor time, with that of git."""
    tree = f"{place}/one"
    subprocess.run(["git", "worktree", "add", "-q", "--detach", tree], cwd=place, check=True)
    git_dir = repo.find_git_dir(tree)
    workspace = Workspace("bench", "one", 1, tree, git_dir, None, repo.commit("HEAD"))
    store = Checkpoints(repo, workspace, f"{place}/.headcount/checkpoints")
    print("  " + f"first checkpoint of a workspace: {cpu_seconds(lambda: store.take('bench')):.3f} s")
    nothing, few, status = [], [], []
    for turn in range(9):
        for n in range(3):
            Path(tree, f"d{n}", f"f{n}.txt").write_text(f"{turn}\n")
        few.append(cpu_seconds(lambda: store.take("bench", max_mb=512)))
        nothing.append(cpu_seconds(lambda: store.take("bench", max_mb=512)))
        look = partial(subprocess.run, ["git", "status"], cwd=tree, stdout=subprocess.DEVNULL)
        status.append(cpu_seconds(look))
    print("  " + told("git status", status))
    print("  " + told("nothing changed", nothing))
    print("  " + told("three files changed", few))
    ratio = statistics.median(few) / statistics.median(status)
    print(f"  ratio of a checkpoint to git status: {ratio:.1f}")


if __name__ == "__main__":
    main()
