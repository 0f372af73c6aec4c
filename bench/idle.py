"""What an engine costs while nothing happens: its CPU seconds in a minute, and its memory.

    python bench/idle.py [MEMBERS] [SECONDS]

The engine is the resident one that `headcount up` starts, in a process of its own; the members are real
processes that sleep. Its forkserver is counted with it, and the keepers, one for each member, apart.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time

from scene import open_empty

from headcount.app.app import App
from headcount.app.member_start import Plan
from headcount.app.progress import follow
from headcount.app.resident import ensure_driven
from headcount.app.standing_down import stand_down
from headcount.app.team_start import wait_for
from headcount.app.teams import create_team, spawn
from headcount.protocol.member import State

TEAM = "idle"
_TICKS = os.sysconf("SC_CLK_TCK")


def main(members: int = 100, seconds: float = 60) -> None:
    app = open_empty(max_members=members, answer_timeout_s=1)
    try:
        _start(app, members)
        engine = _processes_of(app)
        keepers = _keepers(app)
        time.sleep(5)  # whatever follows from the start
        before = sum(map(cpu_s, engine))
        time.sleep(seconds)
        spent = sum(map(cpu_s, engine)) - before
        print(f"{members} idle members, {seconds:g} s: engine {spent:.2f} s of CPU, {_mb(engine):.1f} MB")
        print(f"  and {len(keepers)} keepers with {_mb(keepers):.1f} MB together (proportional)")
    finally:
        for _ in follow(app, TEAM, stand_down(app, TEAM, force=True)):
            pass
        app.close()
        shutil.rmtree(app.root, ignore_errors=True)


def _start(app: App, members: int) -> None:
    create_team(app, TEAM, environ=os.environ)
    ensure_driven(app)
    for number in range(members):
        spawn(app, TEAM, Plan(f"m{number}", command=("sleep", "3600")))
    wait_for(app, TEAM, lambda t: all(m.state is State.RUNNING for m in t.members.values()), 600)


def _processes_of(app: App) -> list[int]:
    """The engine, which its lock names, and what it has started itself."""
    with open(f"{app.home}/engine.lock") as file:
        engine = int(file.read())
    with open(f"/proc/{engine}/task/{engine}/children") as file:
        return [engine, *map(int, file.read().split())]


def _keepers(app: App) -> list[int]:
    found = []
    for name in os.listdir(f"{app.home}/run"):
        try:
            with open(f"{app.home}/run/{name}/process.json") as file:
                found.append(int(json.load(file)["keeper"]))
        except (FileNotFoundError, NotADirectoryError):
            continue
    return found


def cpu_s(pid: int) -> float:
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _mb(pids: list[int]) -> float:
    """Shared pages count for each process by its share."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            total += next(int(line.split()[1]) for line in file if line.startswith("Pss:"))
    return total / 1024


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
