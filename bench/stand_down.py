"""How long a stand-down takes, as a ratio to the slowest member's own answer.

    python bench/stand_down.py [10 100 1000]

Each member is a real process in a worktree of its own. It waits for the request, answers after 0 to 5 s, and exits
when it is told to. Beside it, supervisord stops as many processes of the same kind, if it is installed.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace

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
    app.settings = replace(app.settings, policy=replace(app.settings.policy, max_members=count))
    app.limits = Limits(members=max(count, 1000))
    try:
        with driving(app):
            create_team(app, TEAM, environ=os.environ)
            for n in range(count):
                wait = f"{random.uniform(0, LONGEST_S):.2f}"
                spawn(app, TEAM, Plan(f"m{n}", command=("bash", "-c", MEMBER, "member", wait)))
            wait_for(app, TEAM, lambda t: all(m.state is State.RUNNING for m in t.members.values()), 600)
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


def main() -> None:
    for count in [int(word) for word in sys.argv[1:]] or [10, 100]:
        total, slowest = measure(count)
        print(
            f"{count:5d} members: {total:.2f} s, slowest answer {slowest:.2f} s, ratio {total / slowest:.2f}"
        )


if __name__ == "__main__":
    main()
