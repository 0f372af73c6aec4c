"""Measure agents that speak ACP, with real adapters and stand-in models.

    python -m bench.acp [AGENT ...] [--turns 20] [--ends 50]

For each agent it prints how often headcount's tools were in the first request, the time from mail to the
model's next request, the time from the model's answer to the ask in the store and from a decision to the next
request, the memory of the host and of all processes while idle, and what is left after `--ends` stand-downs.
A member is stood down when it is idle, in mid-turn, after an ask, and after kill -9 of its adapter. It needs
the clients of `.ci/clients`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "integration" / "clients"))

from client_lab import POLICY, TEAM, Lab, laboratory
from test_acp import COMMIT, HERE, LEAVE, OUTSIDE, adapter, wait_ask

from conftest import loopback_only
from headcount.agents.acp.known_agents import AGENTS
from headcount.app.mail import send
from headcount.app.permissions import decide_ask

KINDS = ("idle", "turn", "ask", "killed")


def _wait(condition: Callable[[], bool], limit_s: float = 120) -> None:
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > limit_s:
            raise TimeoutError("not seen in time")
        time.sleep(0.005)


def _memory_mb(pid: int) -> float:
    try:
        with open(f"/proc/{pid}/status") as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS"))
    except (OSError, StopIteration):
        return 0.0


@contextlib.contextmanager
def _lab(script: list[dict[str, Any]], patch: pytest.MonkeyPatch) -> Iterator[Lab]:
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with (
        tempfile.TemporaryDirectory(prefix="acp-", dir=memory, ignore_cleanup_errors=True) as place,
        laboratory(Path(place), {"lanes": script}, patch, POLICY, {}) as lab,
    ):
        yield lab


def _lane(name: str, number: int, *more: dict[str, Any]) -> dict[str, Any]:
    ask = {"shell": COMMIT, "with": OUTSIDE if name == "codex" else {}}
    react = [LEAVE, {"if_last": "Run it.", "do": [ask]}, {"if_last": "Think.", "do": [{"sleep": 600}]}, *more]
    return {"when": f"You are m{number},", "react": react, "steps": [[HERE]]}


def measure(name: str, turns: int, ends: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        runs = max(turns, ends)
        with _lab([_lane(name, number) for number in range(runs)], patch) as lab:
            lab.permit("edit")
            mail, asked, decided, host, all_, left, ended = [], [], [], [], [], 0, 0
            for number in range(runs):
                kind = KINDS[number % len(KINDS)]
                key = lab.start(
                    f"m{number}", "acp", command=AGENTS[name].argv, prompt="Say that you are here."
                )
                lab.wait(key, lambda m: m.activity == "idle", 180)
                found = lab.processes(key)
                pids = {process.pid for process in found}
                host.append(max(_memory_mb(p.pid) for p in found if p.ppid not in pids))
                all_.append(sum(_memory_mb(pid) for pid in pids))
                _use(lab, key, kind, mail, asked, decided)
                if number < ends:
                    lab.finish(lab.stand_down(f"m{number}", force=kind != "idle"))
                    left += len(lab.processes(key))
                    ended += 1
                else:
                    lab.finish(lab.stand_down(f"m{number}", force=True))
            missing = len(lab.standin.missing)
    print(
        f"| {name} | {runs - missing} of {runs} | {_middle(mail)} | {_middle(asked)} | {_middle(decided)} "
        f"| {max(host):.1f} MB | {statistics.median(all_):.0f} MB | {left} of {ended} |",
        flush=True,
    )


def _use(lab: Lab, key: str, kind: str, mail: list[float], asked: list[float], decided: list[float]) -> None:
    """Bring the member into the state in which it is ended."""
    if kind == "idle":
        return
    seen, began = len(lab.standin.requests), time.monotonic()
    send(lab.app, key.partition("#")[0], "More", "Run it." if kind == "ask" else "Think.", TEAM)
    _wait(lambda: len(lab.standin.requests) > seen)
    mail.append(time.monotonic() - began)
    if kind == "ask":
        began = time.monotonic()
        ask = wait_ask(lab, 120)
        asked.append(time.monotonic() - began)
        seen, began = len(lab.standin.requests), time.monotonic()
        decide_ask(lab.app, ask["id"], "allow", team=TEAM)
        _wait(lambda: len(lab.standin.requests) > seen)
        decided.append(time.monotonic() - began)
        lab.wait(key, lambda m: m.activity == "idle")
    if kind == "killed":
        os.kill(adapter(lab, key), signal.SIGKILL)


def _middle(times: list[float]) -> str:
    return f"{statistics.median(times):.2f} s (most {max(times):.2f})" if times else "–"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("agents", nargs="*", metavar="AGENT", default=list(AGENTS))
    options.add_argument("--turns", type=int, default=20)
    options.add_argument("--ends", type=int, default=50)
    given = options.parse_args()
    print("| agent | tools in the first request | mail to request | request to ask | answer to request "
          "| host | all processes, idle | left |\n|---|---|---|---|---|---|---|---|")  # fmt: skip
    isolated = loopback_only.__wrapped__(pytest.MonkeyPatch())
    next(isolated)
    for name in given.agents:
        measure(name, given.turns, given.ends)
    next(isolated, None)


if __name__ == "__main__":
    main()
