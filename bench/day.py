"""What a day of teams leaves: branches and bytes after ten `up` and `down` of five members.

    python bench/day.py [--at COMMIT] [--rounds N]

In each round one member commits, one leaves a file, and three change nothing; each prints 100 kB.
The user merges the branch with the commit. Measured are the branches and salvages in the repository and the
bytes in `.headcount` and `.git`, after the last `down` and then after `headcount prune` with `keep_mb = 1`.

`--at` measures another commit, too, in a temporary worktree.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
HEADCOUNT = [sys.executable, "-m", "headcount"]
NAMES = ("ada", "ben", "cy", "dee", "eve")
TEAM = f"""
from headcount import Command, Team, Teammate, Workflow, define_team, define_worker
workers = [define_worker(name, command=["./agent.sh", name]) for name in {NAMES}]
crew = define_team("crew", workers)
doc = Command(name="c", description="c")[
    Workflow(name="w", team=crew)[Team(team=crew, description="d")[
        [Teammate(worker=worker, description="d", prompt="p") for worker in workers]]]]
"""
AGENT = """#!/bin/sh
head -c 100000 /dev/zero | tr '\\0' x; echo
case $1 in
ada) date +%N > "work-$(date +%N)"; git add .; git commit -qm work ;;
ben) echo unsaved > notes ;;
esac
exec sleep 1000
"""


def measure(source: Path, rounds: int) -> dict[str, dict[str, int]]:
    with tempfile.TemporaryDirectory() as place:
        env = {key: value for key, value in os.environ.items() if not key.startswith("HEADCOUNT_")}
        who = {f"GIT_{role}_{what}": "b@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        env |= {"PYTHONPATH": f"{source}/src", "GIT_CONFIG_GLOBAL": "/dev/null", **who}
        env["HEADCOUNT_POLICY_ANSWER_TIMEOUT_S"] = "1"  # nobody answers here
        run: Any = {"cwd": place, "env": env, "check": True, "stdout": subprocess.DEVNULL}
        subprocess.run(["git", "init", "-q", "-b", "main", "."], **run)
        Path(place, "team.py").write_text(TEAM)
        Path(place, "agent.sh").write_text(AGENT)
        os.chmod(f"{place}/agent.sh", 0o755)
        subprocess.run(["git", "add", "."], **run)
        subprocess.run(["git", "commit", "-q", "-m", "first"], **run)
        for _ in range(rounds):
            subprocess.run([*HEADCOUNT, "up", "team.py", "--json"], **run)
            try:
                _wait_for_work(place)
            finally:
                subprocess.run([*HEADCOUNT, "down", "crew", "--force", "--json"], **run)
            for branch in _refs(place, "refs/heads/headcount"):
                subprocess.run(["git", "merge", "-q", "--no-edit", branch], **run)
        found = {"left": _count(place)}
        env["HEADCOUNT_POLICY_KEEP_MB"] = "1"
        if subprocess.run([*HEADCOUNT, "prune"], **{**run, "check": False}).returncode == 0:
            found["after prune"] = _count(place)
        _wait_for_engine(place)
        return found


def _wait_for_engine(place: str) -> None:
    """Until the engine has ended by itself, which writes to the state directory until then."""
    while Path(place, ".headcount/engine.lock").read_text():
        subprocess.run(["sleep", "0.2"], check=True)


def _wait_for_work(place: str) -> None:
    """Until the commit and the file of this round are there."""
    ben = Path(place, ".headcount/worktrees/crew/ben/notes")
    while not (ben.exists() and _commits_ahead(place)):
        subprocess.run(["sleep", "0.05"], check=True)


def _commits_ahead(place: str) -> bool:
    ada = f"{place}/.headcount/worktrees/crew/ada"
    count = subprocess.run(
        ["git", "-C", ada, "rev-list", "--count", "main..HEAD"], capture_output=True, text=True, check=False
    )
    return count.stdout.strip() not in ("", "0")


def _refs(place: str, below: str) -> list[str]:
    words = ["git", "for-each-ref", "--format=%(refname)", below]
    return subprocess.run(words, cwd=place, capture_output=True, text=True, check=True).stdout.split()


def _count(place: str) -> dict[str, int]:
    return {
        "branches": len(_refs(place, "refs/heads/headcount")),
        "salvages": len(_refs(place, "refs/headcount/salvage")),
        "kB in .headcount": _bytes(f"{place}/.headcount") // 1000,
        "kB in .git": _bytes(f"{place}/.git") // 1000,
    }


def _bytes(path: str) -> int:
    return sum(os.lstat(f"{where}/{name}").st_size for where, _, names in os.walk(path) for name in names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--at", metavar="COMMIT", help="also measure this commit")
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    columns = {f"now, {when}": counts for when, counts in measure(ROOT, args.rounds).items()}
    if args.at:
        with tempfile.TemporaryDirectory() as place:
            git = ["git", "-C", str(ROOT), "worktree"]
            subprocess.run([*git, "add", "-q", "--detach", f"{place}/tree", args.at], check=True)
            try:
                columns = {args.at: measure(Path(place, "tree"), args.rounds)["left"], **columns}
            finally:
                subprocess.run([*git, "remove", "--force", f"{place}/tree"], check=True)
    print(f"{'':18}" + "".join(f"{name:>18}" for name in columns))
    for row in next(iter(columns.values())):
        print(f"{row:18}" + "".join(f"{column[row]:>18,}" for column in columns.values()))


if __name__ == "__main__":
    main()
