"""SIGKILL at every durable write of a stand-down, and at random moments; resume; look.

    python -m tests.crash.sweep [--random RUNS] [--jobs JOBS] [--speaking] [--every STEP]

One trial: a fresh repository, a worker that is killed, others until the story has ended, the verdict.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from .story import environment, make_repository
from .verdict import alive, problems

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_LIMIT_S = 120.0


class Trial(NamedTuple):
    """Killed right `before` or `after` durable write number `write`, or at `moments`, in seconds, one after
    the other; or not at all."""

    write: int = 0
    when: str = "after"
    moments: tuple[float, ...] = ()
    speaking: bool = False

    def __str__(self) -> str:
        how = f"{self.when} durable write {self.write}" if self.write else f"at {self.moments} s"
        return f"killed {how}{', speaking' if self.speaking else ''}"


class Result(NamedTuple):
    trial: Trial
    kills: int
    writes: int  # of the worker that came to the end
    problems: list[str]
    seconds: float
    place: str


def run_trial(trial: Trial, scratch: str | None = None) -> Result:
    place = os.path.realpath(tempfile.mkdtemp(prefix="headcount-crash-", dir=scratch))
    began = time.monotonic()
    make_repository(place, speaking=trial.speaking)
    kills = _kill_workers(trial, place)
    worker = _start(place)
    output, error = _finish(worker)
    if worker.returncode != 0:
        found = [f"the last worker ended with {worker.returncode}: {error[-2000:]}"]
    else:
        found = problems(place)
    _end_leftovers(place)
    seconds = time.monotonic() - began
    if not found:
        shutil.rmtree(place, ignore_errors=True)
    return Result(trial, kills, int(output or 0), found, seconds, place)


def _kill_workers(trial: Trial, place: str) -> int:
    """How many of them were really killed: a write that never comes kills nobody."""
    kills = 0
    if trial.write:
        worker = _start(place, trial.when, str(trial.write))
        _finish(worker)
        kills += worker.returncode == -signal.SIGKILL
    for seconds in trial.moments:
        worker = _start(place)
        try:
            worker.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.communicate()
            kills += 1
    return kills


def _start(place: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", f"{__package__}.worker", place, *words],
        cwd=ROOT,
        env=environment(place),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _finish(worker: subprocess.Popen[str]) -> tuple[str, str]:
    try:
        return worker.communicate(timeout=_LIMIT_S)
    except subprocess.TimeoutExpired:
        worker.kill()
        return worker.communicate()


def _end_leftovers(place: str) -> None:
    for line in alive(place):
        try:
            os.kill(int(line.split()[0]), signal.SIGKILL)
        except ProcessLookupError:
            continue


def trials(every: int, last: int, moments: int, speaking: bool) -> list[Trial]:
    planned = [
        Trial(number, when, speaking=speaking)
        for number in range(1, last + 1, every)
        for when in ("before", "after")
    ]
    return planned + [Trial(moments=_some_moments(), speaking=speaking) for _ in range(moments)]


def _some_moments() -> tuple[float, ...]:
    return tuple(round(random.uniform(0.3, 4.0), 2) for _ in range(random.randint(1, 3)))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--random", type=int, default=50, help="trials that are killed at random moments")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--every", type=int, default=1, help="only every so many-th write")
    parser.add_argument("--speaking", action="store_true", help="members that use the headcount command")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    wanted = parser.parse_args()
    random.seed(wanted.seed)
    whole = run_trial(Trial(speaking=wanted.speaking))
    print(
        f"seed {wanted.seed}; undisturbed: {whole.writes} durable writes in {whole.seconds:.1f} s", flush=True
    )
    if whole.problems:
        return _report(whole)
    failed = kills = done = 0
    planned = trials(wanted.every, whole.writes, wanted.random, wanted.speaking)
    with ThreadPoolExecutor(wanted.jobs) as pool:
        for result in pool.map(run_trial, planned):
            done, kills = done + 1, kills + result.kills
            failed += _report(result)
    print(f"{done} trials, {kills} kills with SIGKILL, {done - failed} kept both promises, {failed} did not")
    return int(failed > 0)


def _report(result: Result) -> int:
    if not result.problems:
        return 0
    print(f"{result.trial} ({result.place}):", *result.problems, sep="\n  ", flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
