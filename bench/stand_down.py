"""How long a stand-down takes, as a ratio to the slowest member's own answer.

    python bench/stand_down.py [10 100 1000] [--cache DIR]

Each member is a real process in a worktree of its own. It waits for the request, answers after 0 to 5 s, and
exits when it is told to. Beside it, supervisord stops as many processes that take as long to end; it neither
asks nor looks, saves or proves. It is installed when first used.
"""

from __future__ import annotations

import argparse
import os
import random
import shlex
import shutil
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from torture.contenders import Supervisord

from headcount.app.app import open_app
from headcount.app.progress import follow
from headcount.app.resident import driving
from headcount.app.standing_down import stand_down
from headcount.app.starting import Plan
from headcount.app.teams import create_team, spawn
from headcount.app.up import wait_for
from headcount.domain.policy import Limits
from headcount.protocol.member import State

TEAM = "bench"
LONGEST_S = 5.0
MEMBER = """
trap 'exit 0' TERM
headcount inbox --wait 3600 >/dev/null
sleep $1
headcount approve >/dev/null
sleep 3600 & wait
"""


def measure(count: int) -> tuple[float, float]:
    """Seconds of the stand-down, and of the slowest answer in it."""
    place = tempfile.mkdtemp(prefix="headcount-bench-")
    git = ["git", "-C", place, "-c", "user.name=b", "-c", "user.email=b@localhost"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "start"], check=True)
    app = open_app(place, {})
    # The starts are not what is measured: git makes one worktree after the other, slower and slower.
    policy = replace(app.settings.policy, max_members=count, start_timeout_s=3600)
    app.settings = replace(app.settings, policy=policy)
    app.limits = Limits(members=max(count, 1000))
    try:
        with driving(app):
            create_team(app, TEAM, environ=os.environ)
            for n in range(count):
                wait = f"{random.uniform(0, LONGEST_S):.2f}"
                spawn(app, TEAM, Plan(f"m{n}", command=("bash", "-c", MEMBER, "member", wait)))
            wait_for(app, TEAM, lambda t: all(m.state is State.RUNNING for m in t.members.values()), 3600)
            time.sleep(2 + count / 50)  # everyone is in front of its inbox
            answer = stand_down(app, TEAM, reason="bench")
            for now in follow(app, TEAM, answer):
                answer = now
            with app.store.read() as tx:
                told = tx.journal(f"{TEAM}#1", kinds=("stand_down", "answered"))
        assert answer["status"] == "shutdown", answer
        began = next(e.at for e in told if e.kind == "stand_down")
        return answer["seconds"], max(e.at - began for e in told if e.kind == "answered")
    finally:
        app.close()
        shutil.rmtree(place, ignore_errors=True)


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
    wanted = parser.parse_args()
    for count in wanted.counts:
        _show("headcount", count, *measure(count))
        _show("supervisord", count, *measure_supervisord(count, wanted.cache))


def _show(who: str, count: int, total: float, slowest: float) -> None:
    ratio = total / slowest
    print(f"{count:5d} members, {who}: {total:.2f} s, slowest {slowest:.2f} s, ratio {ratio:.2f}", flush=True)


if __name__ == "__main__":
    main()
