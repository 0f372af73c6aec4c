"""Many simulated runs, from the command line.

    python -m tests.support.simulate --runs 20000
    python -m tests.support.simulate --runs 1000000 --jobs 8
    python -m tests.support.simulate --seed 1234 --runs 1 --story     what happened in one run
    python -m tests.support.simulate --seed 1234 --runs 1 --shrink    the smallest run that still fails

A failure prints its seed and its story, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import get_context

from tests.support.plan import Plan
from tests.support.simulator import Failure, play, simulate

_CHUNK = 50


@dataclass(slots=True)
class Tally:
    runs: int = 0
    steps: int = 0
    commits: int = 0
    cpu_s: float = 0.0
    failed: tuple[int, str] | None = None  # seed, and what did not hold

    def add(self, other: Tally) -> None:
        self.runs += other.runs
        self.steps += other.steps
        self.commits += other.commits
        self.cpu_s += other.cpu_s
        self.failed = self.failed or other.failed


def run_seeds(seeds: range) -> Tally:
    """Every seed in order, up to the first failure."""
    tally, began = Tally(), time.process_time()
    for seed in seeds:
        try:
            run = simulate(seed)
        except Failure as failure:
            tally.failed = (seed, str(failure))
            break
        tally.runs += 1
        tally.steps += run.steps
        tally.commits += run.commits
    tally.cpu_s = time.process_time() - began
    return tally


def run_many(seeds: range, jobs: int) -> Tally:
    total = Tally()
    for tally in _tallies(seeds, jobs):
        total.add(tally)
        if total.failed:
            break
    return total


def _tallies(seeds: range, jobs: int) -> Iterator[Tally]:
    chunks = [seeds[start : start + _CHUNK] for start in range(0, len(seeds), _CHUNK)]
    if jobs == 1 or len(chunks) == 1:
        yield from map(run_seeds, chunks)
        return
    # Spawned, not forked: a run depends on its seed alone, not on what this process had done before.
    with get_context("spawn").Pool(jobs, _silence) as pool:
        yield from pool.imap(run_seeds, chunks)


def _silence() -> None:
    """A store that is busy is a part of the game: the engine's warnings about it say nothing here."""
    logging.disable(logging.WARNING)


def shrink(failure: Failure) -> Failure:
    """Leave parts out, one at a time, as long as the same thing still does not hold."""
    while (smaller := next(_still_failing(failure), None)) is not None:
        failure = smaller
    return failure


def _still_failing(failure: Failure) -> Iterator[Failure]:
    for plan in failure.run.plan.smaller():
        found = _failure_of(plan)
        if found is not None and found.what == failure.what:
            yield found


def _failure_of(plan: Plan) -> Failure | None:
    try:
        play(plan)
    except Failure as failure:
        return failure
    return None


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.simulate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--shrink", action="store_true", help="make a failing run as small as it goes")
    parser.add_argument("--story", action="store_true", help="tell what happened, also when all is well")
    options = parser.parse_args(argv)
    seeds = range(options.seed, options.seed + options.runs)
    if options.story:
        return _tell(options.seed, options.shrink)
    began = time.perf_counter()
    total = run_many(seeds, options.jobs)
    wall = time.perf_counter() - began
    print(
        f"{total.runs:,} runs, {total.steps:,} steps, {total.commits:,} commits in {wall:.1f} s: "
        f"{total.runs / wall:,.0f} runs a second on {options.jobs} cores, "
        f"{total.runs / (total.cpu_s or 1):,.0f} a second of one core's time"
    )
    if total.failed is None:
        print("no violation")
        return 0
    return _tell(total.failed[0], options.shrink)


def _tell(seed: int, shrinks: bool) -> int:
    try:
        run = simulate(seed)
    except Failure as failure:
        print((shrink(failure) if shrinks else failure).tell())
        return 1
    print(f"seed {seed}\n{run.plan}\n\n" + "\n".join(map(str, run.story)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
