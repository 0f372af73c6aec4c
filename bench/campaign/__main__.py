"""The command: `python -m bench.campaign --trials 500 --seed 7`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from . import strays, work
from .agent import ANSWERS
from .place import default_headcount
from .plan import Plan, draw
from .report import table
from .trial import Result, Trial

SLICE_SEED = 11
SLICE_TRIALS = 8
SLICE_S = 50.0  # no trial begins after that; one takes ten to thirty seconds


def main() -> int:
    wanted = _arguments()
    os.umask(0o022)
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    deadline = time.monotonic() + wanted.seconds if wanted.seconds else float("inf")
    plans = _plans(wanted)
    began = time.monotonic()
    results = play_all(plans, wanted.jobs, wanted.headcount, over, deadline)
    print(table(results, time.monotonic() - began), flush=True)
    return int(any(result.broken for result in results))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.campaign", description=(
        "Start, disturb and end teams of scripted agents; judge from outside what is left and what is lost."
    ))  # fmt: skip
    shapes = sorted({*work.SHAPES, *strays.STARTS, *ANSWERS})
    parser.add_argument("--trials", type=int, default=20, help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trial", type=int, action="append", help="only this one; may be repeated")
    parser.add_argument("--jobs", type=int, default=1, help="trials at the same time")
    parser.add_argument(
        "--only-shape", default="", choices=["", *shapes], metavar="SHAPE", help=", ".join(shapes)
    )
    parser.add_argument("--calm", action="store_true", help="no kills, and a user who does nothing else")
    parser.add_argument("--seconds", type=float, default=0.0, help="begin no trial after this time")
    parser.add_argument("--slice", action="store_true", help="the fixed slice for CI: at most two minutes")
    parser.add_argument("--show", action="store_true", help="print the plans and run nothing")
    parser.add_argument("--headcount", default=default_headcount(), help="the command under test")
    wanted = parser.parse_args()
    if wanted.slice:
        wanted.seed, wanted.trials, wanted.jobs, wanted.seconds = SLICE_SEED, SLICE_TRIALS, 2, SLICE_S
    if wanted.show:
        for plan in _plans(wanted):
            print(plan)
        sys.exit(0)
    return wanted


def _plans(wanted: argparse.Namespace) -> list[Plan]:
    numbers = wanted.trial or range(wanted.trials)
    return [draw(wanted.seed, number, wanted.only_shape, wanted.calm) for number in numbers]


def play(plan: Plan, headcount: str, over: threading.Event) -> Result:
    return Trial(plan, headcount, over.is_set).play()


def play_all(
    plans: list[Plan], jobs: int, headcount: str, over: threading.Event, deadline: float
) -> list[Result]:
    """Play the plans, some at a time, and print each result. After an interrupt it cleans up and returns."""
    results: list[Result] = []
    waiting: Iterator[Plan] = iter(plans)
    with ThreadPoolExecutor(jobs) as pool:
        running: set[Future[Result]] = set()
        while True:
            while len(running) < jobs and not over.is_set() and time.monotonic() < deadline:
                plan = next(waiting, None)
                if plan is None:
                    break
                running.add(pool.submit(play, plan, headcount, over))
            if not running:
                return results
            done, running = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
            for future in done:
                results.append(future.result())
                _progress(results, len(plans))


def _progress(results: list[Result], planned: int) -> None:
    last = results[-1]
    shapes = ",".join(sorted(last.plan.shapes()))
    print(
        f"{len(results)}/{planned} trial {last.plan.number}: {last.verdict} in {last.seconds:.1f} s, "
        f"{sum(last.kills.values())} kills [{shapes}]",
        flush=True,
    )
    for line in (*last.broken[:8], *last.admitted[:2]):
        print(f"    {line}")
    if last.unplayed:
        print(f"    not played: {last.unplayed}")
    if last.verdict in ("broken", "unplayed"):
        print(f"    replay: {last.plan.replay}\n    kept: {last.place}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
