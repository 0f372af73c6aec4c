"""How long starting and standing down a team takes; the latter as a ratio to the slowest member's own answer.

    python bench/stand_down.py [10 100 1000] [--cache DIR] [--alone]

Each member is a real process in a worktree of its own. It waits for the request, answers after 0 to 5 s, and
exits when it is told to. The engine is a process of its own, as after `headcount up`; what it used is read
from /proc. When the team is closed, every process of the machine is looked at for one that was started in it.

Beside it, supervisord stops as many processes that take as long to end; it neither asks nor looks, saves or
proves. It is installed when first used; `--alone` does without.
"""

from __future__ import annotations

import argparse
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from scene import open_empty
from torture.contenders import Supervisord

from headcount.app.app import App
from headcount.app.lock import is_driven
from headcount.app.member_start import Plan
from headcount.app.progress import follow
from headcount.app.resident import ensure_driven
from headcount.app.standing_down import stand_down
from headcount.app.team_start import wait_for
from headcount.app.teams import create_team, spawn
from headcount.domain.policy import Limits
from headcount.protocol.member import State

TEAM = "bench"
LONGEST_S = 5.0
_TICK = os.sysconf("SC_CLK_TCK")
MEMBER = """
trap 'exit 0' TERM
headcount inbox --wait 3600 >/dev/null
sleep $1
headcount approve >/dev/null
sleep 3600 & wait
"""


@dataclass(frozen=True)
class Measured:
    started_s: float
    total_s: float
    slowest_s: float
    engine_cpu_s: float
    engine_mb: float
    threads: int
    files: int
    proofs: Counter[str]
    alive: int


def measure(count: int) -> Measured:
    with _team_place(count) as app:
        began = time.monotonic()
        environ = {**os.environ, "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}
        create_team(app, TEAM, environ=environ)
        ensure_driven(app)
        for n in range(count):
            wait = f"{random.uniform(0, LONGEST_S):.2f}"
            spawn(app, TEAM, Plan(f"m{n}", command=("bash", "-c", MEMBER, "member", wait)))
        team = wait_for(
            app, TEAM, lambda t: all(m.state is not State.STARTING for m in t.members.values()), 3600
        )
        assert all(m.state is State.RUNNING for m in team.members.values()), "not all were started"
        started_s = time.monotonic() - began
        _wait_quiet(app.home, limit_s=10 + count / 5)
        engine = int(Path(f"{app.home}/engine.lock").read_text())
        files, cpu_before = len(os.listdir(f"/proc/{engine}/fd")), _cpu_s(engine)
        answer = stand_down(app, TEAM, reason="bench")
        for now in follow(app, TEAM, answer):
            answer = now
        assert answer["status"] == "shutdown" and answer["deleted"], answer
        alive = len(_of_team(app.home))
        status = dict(line.split(":", 1) for line in Path(f"/proc/{engine}/status").read_text().splitlines())
        with app.store.read() as tx:
            told = tx.journal(f"{TEAM}#1", kinds=("stand_down", "answered"))
            proofs = Counter(str(p["method"]) for p in tx.facts(f"{TEAM}#1", "proof").values() if p["empty"])
        asked = next(e.at for e in told if e.kind == "stand_down")
        return Measured(
            started_s,
            answer["seconds"],
            max(e.at - asked for e in told if e.kind == "answered"),
            _cpu_s(engine) - cpu_before,
            int(status["VmHWM"].split()[0]) / 1024,
            int(status["Threads"]),
            files,
            proofs,
            alive,
        )


@contextmanager
def _team_place(count: int) -> Iterator[App]:
    """A scratch repository; removed when its engine has gone by itself."""
    app = open_empty(max_members=count)
    app.settings = replace(app.settings, limits=Limits(members=max(count, 1000)))
    try:
        yield app
        while is_driven(app.home):
            time.sleep(0.2)
    finally:
        app.close()
        shutil.rmtree(app.root, ignore_errors=True)


def _of_team(home: str) -> list[int]:
    """Every process that was started with this state directory and a mark in its environment."""
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if f"HEADCOUNT_HOME={home}".encode() in environment and any(
            line.startswith(b"HEADCOUNT_MARK=") for line in environment
        ):
            found.append(int(pid))
    return found


def _cpu_s(pid: int) -> float:
    """Of the process and of all its children that have ended: git, for an engine."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / _TICK


def _wait_quiet(home: str, limit_s: float) -> None:
    """Until everyone is in front of its inbox: all of them together hardly run any more."""
    deadline = time.monotonic() + limit_s
    before = -1.0
    while time.monotonic() < deadline:
        now = sum(map(_cpu_s, _of_team(home)))
        if abs(now - before) < 0.05:
            return
        before = now
        time.sleep(1)


SUPERVISED = "trap 'sleep $1; exit 0' TERM; sleep 3600 & wait; wait"


def measure_supervisord(count: int, cache: str) -> tuple[float, float]:
    """Seconds of `stop all`, and of the slowest process in it."""
    Supervisord.install(cache)
    place = tempfile.mkdtemp(prefix="headcount-bench-")
    waits = [round(random.uniform(0, LONGEST_S), 2) for _ in range(count)]
    conf = (
        f"[supervisord]\nlogfile={place}/log\npidfile={place}/pid\nnodaemon=true\nminfds={count * 4 + 1024}\n"
        f"[unix_http_server]\nfile={place}/s\n[supervisorctl]\nserverurl=unix://{place}/s\n"
        "[rpcinterface:supervisor]\n"
        "supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface\n"
    )
    for number, wait in enumerate(waits):
        command = shlex.join(["bash", "-c", SUPERVISED, "member", str(wait)])
        conf += f"[program:m{number}]\ncommand={command}\nstopwaitsecs=20\n"
    Path(f"{place}/conf").write_text(conf)
    tool = f"{cache}/{Supervisord.package}/bin"
    daemon = subprocess.Popen(
        [f"{tool}/supervisord", "-c", f"{place}/conf"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    control = [f"{tool}/supervisorctl", "-c", f"{place}/conf"]
    try:
        _wait_running(control, count)
        began = time.monotonic()
        subprocess.run([*control, "stop", "all"], check=True, stdout=subprocess.DEVNULL)
        return time.monotonic() - began, max(waits)
    finally:
        subprocess.run([*control, "shutdown"], check=False, stdout=subprocess.DEVNULL)
        daemon.wait(60)
        shutil.rmtree(place, ignore_errors=True)


def _wait_running(control: list[str], count: int) -> None:
    deadline = time.monotonic() + 30 + count
    while time.monotonic() < deadline:
        status = subprocess.run([*control, "status"], capture_output=True, text=True, check=False).stdout
        if status.count("RUNNING") == count:
            return
        time.sleep(0.5)
    raise TimeoutError("supervisord did not start them all")


def main() -> None:
    parser = argparse.ArgumentParser(
        description="A stand-down's time, as a ratio to the slowest answer in it."
    )
    parser.add_argument("counts", nargs="*", type=int, default=[10, 100])
    parser.add_argument("--cache", default=os.path.expanduser("~/.cache/headcount-torture"))
    parser.add_argument("--alone", action="store_true", help="without supervisord beside it")
    wanted = parser.parse_args()
    for count in wanted.counts:
        load = os.getloadavg()[0]
        _show_all(count, measure(count), load)
        if not wanted.alone:
            _show("supervisord", count, *measure_supervisord(count, wanted.cache))


def _show_all(count: int, seen: Measured, load: float) -> None:
    _show("headcount", count, seen.total_s, seen.slowest_s)
    proved = ", ".join(f"{number} by {how}" for how, number in seen.proofs.items())
    print(
        f"      started in {seen.started_s:.1f} s; proved gone: {proved}; alive: {seen.alive};\n"
        f"      the engine: {seen.engine_cpu_s:.1f} CPU s for the stand-down with its git, at most "
        f"{seen.engine_mb:.0f} MB, {seen.threads} threads, {seen.files} open files; load before: {load:.1f}",
        flush=True,
    )


def _show(who: str, count: int, total: float, slowest: float) -> None:
    ratio = total / slowest
    print(f"{count:5d} members, {who}: {total:.2f} s, slowest {slowest:.2f} s, ratio {ratio:.2f}", flush=True)


if __name__ == "__main__":
    main()
