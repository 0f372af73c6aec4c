"""What `headcount down TEAM --member M` costs on the caller's side: crossings, read transactions, reports.

    python bench/down_caller.py [--at COMMIT]

A real engine in the background stands down one member that approves. The command runs in this process, under
a profiler that counts

- crossings: pairs of a function in one package of headcount and a function that it calls in another one
  (`cli`, `app`, `engine`, `store`, `protocol`, `domain` and so on). Calls while a module is imported do not
  count, nor do calls of the threads of a command.
- read transactions on the store, and
- how often the report of the stand-down was composed.

`--at` measures another commit, too, in a temporary worktree.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
HEADCOUNT = [sys.executable, "-m", "headcount"]
TEAM = """
from headcount import Command, Team, Teammate, Workflow, define_team, define_worker
ada = define_worker("ada", command=["./agent.sh"])
crew = define_team("crew", [ada])
doc = Command(name="c", description="c")[
    Workflow(name="w", team=crew)[Team(team=crew, description="d")[
        Teammate(worker=ada, description="d", prompt="p")]]]
"""
AGENT = f"""#!/bin/sh
while ! {sys.executable} -m headcount approve >/dev/null 2>&1
do {sys.executable} -m headcount inbox --wait 60 --unread >/dev/null
done
sleep 1000
"""


class Counter:
    """A profile function: sees every call of this thread."""

    def __init__(self, package: str) -> None:
        self._package = f"{package}/"
        self.crossings: set[tuple[str, str]] = set()
        self.reads = self.reports = 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if not file.startswith(self._package) or name.startswith("<"):
            return
        self.reads += name == "read" and file.endswith("store/sqlite.py")
        self.reports += name == "report" and file.endswith("app/stand_down_answer.py")
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(self._package):
            caller = caller.f_back  # a standard library's function in between, such as `contextmanager`
        if caller is None or caller.f_code.co_name == "<module>":
            return
        here, there = self._where(file), self._where(caller.f_code.co_filename)
        if here != there:
            self.crossings.add((f"{there}.{caller.f_code.co_name}", f"{here}.{name}"))

    def _where(self, file: str) -> str:
        return file[len(self._package) :].partition("/")[0].removesuffix(".py")


def measure_here() -> dict[str, int]:
    """In a process of its own, whose `headcount` is the one to measure."""
    import headcount
    from headcount.cli import main

    # A first call imports everything and changes nothing.
    main(["down", "crew", "--member", "nobody", "--json"])
    counter = Counter(os.path.dirname(headcount.__file__))
    sys.setprofile(counter)
    try:
        main(["down", "crew", "--member", "ada", "--json"])
    finally:
        sys.setprofile(None)
    if os.environ.get("SHOW"):
        print(*sorted(f"{a} -> {b}" for a, b in counter.crossings), sep="\n", file=sys.stderr)
    return {
        "package crossings": len(counter.crossings), "read transactions": counter.reads,
        "reports composed": counter.reports,
    }  # fmt: skip


def measure(source: Path) -> dict[str, int]:
    with tempfile.TemporaryDirectory() as place:
        env = {key: value for key, value in os.environ.items() if not key.startswith("HEADCOUNT_")}
        env |= {"PYTHONPATH": f"{source}/src", "GIT_CONFIG_GLOBAL": "/dev/null"}
        run: Any = {"cwd": place, "env": env, "check": True, "stdout": subprocess.DEVNULL}
        subprocess.run(["git", "init", "-q", "."], **run)
        author = ["-c", "user.name=b", "-c", "user.email=b@b"]
        subprocess.run(["git", *author, "commit", "-q", "--allow-empty", "-m", "first"], **run)
        Path(place, "team.py").write_text(TEAM)
        Path(place, "agent.sh").write_text(AGENT)
        os.chmod(f"{place}/agent.sh", 0o755)
        subprocess.run([*HEADCOUNT, "up", "team.py"], **run)
        try:
            measured = subprocess.run(
                [sys.executable, __file__, "--here"], cwd=place, env=env, stdout=subprocess.PIPE, check=True
            )
        finally:
            subprocess.run([*HEADCOUNT, "down", "crew", "--force"], **{**run, "check": False})
    counted: dict[str, int] = json.loads(measured.stdout.splitlines()[-1])
    return counted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--at", metavar="COMMIT", help="also measure this commit")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.here:
        print(json.dumps(measure_here()))
        return
    columns = {"now": measure(ROOT)}
    if args.at:
        with tempfile.TemporaryDirectory() as place:
            git = ["git", "-C", str(ROOT), "worktree"]
            subprocess.run([*git, "add", "-q", "--detach", f"{place}/tree", args.at], check=True)
            try:
                columns = {args.at: measure(Path(place, "tree")), **columns}
            finally:
                subprocess.run([*git, "remove", "--force", f"{place}/tree"], check=True)
    print(f"{'':20}" + "".join(f"{name:>12}" for name in columns))
    for row in columns["now"]:
        print(f"{row:20}" + "".join(f"{column[row]:>12}" for column in columns.values()))


if __name__ == "__main__":
    main()
