"""Every reachable state of a small team, from the command line.

    python -m tests.support.explore                        every variant, whole
    python -m tests.support.explore --variant three        one of them
    python -m tests.support.explore --states 20000         a slice of each

Prints how many states there are, and how many they are when members are told apart by their names. A
violation is told with the shortest way to it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from functools import partial
from multiprocessing import get_context

from tests.support.explorer import Report, explore
from tests.support.variants import VARIANTS, Variant


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.explore",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--states", type=int, help="stop each variant after so many states")
    parser.add_argument("--variant", choices=[v.name for v in VARIANTS], action="append")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="variants at once")
    options = parser.parse_args(argv)
    chosen = [v for v in VARIANTS if not options.variant or v.name in options.variant]
    total = Report("in all", whole=True)
    for variant, report in _reports(chosen, options.states, options.jobs):
        total.states += report.states
        total.stands_for += report.stands_for
        total.events |= report.events
        total.moves |= report.moves
        print(f"{report}  ({variant.about})", flush=True)
    print(
        f"{total.states:,} states ({total.stands_for:,} with names), {len(total.events)} kinds of events, "
        f"{len(total.moves)} ways from one status of a team to another; no violation"
    )
    return 0


def _reports(variants: list[Variant], max_states: int | None, jobs: int) -> Iterator[tuple[Variant, Report]]:
    """As they come in; the largest are first in the list, so they begin first."""
    one = partial(_explore_one, max_states=max_states)
    if min(jobs, len(variants)) == 1:
        yield from map(one, variants)
        return
    with get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap_unordered(one, variants)


def _explore_one(variant: Variant, max_states: int | None) -> tuple[Variant, Report]:
    return variant, explore(variant, max_states, _tell)


def _tell(report: Report) -> None:
    print(
        f"{report.variant}: {report.states:,} states in {report.seconds:.0f} s", file=sys.stderr, flush=True
    )


if __name__ == "__main__":
    sys.exit(main())
