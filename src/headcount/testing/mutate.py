"""Change one rule at a time and see who notices.

    python -m headcount.testing.mutate                   laws, transcripts and the committed table
    python -m headcount.testing.mutate --invariants      also which ones the invariants notice by themselves

Every row of the member's table is removed, led to every other state, and loses or swaps one of its deeds. A
rule that can be changed without a test that fails is not a rule; the survivors are printed and must be none.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from headcount.protocol.member import TABLE, Cue, Rule, State
from headcount.testing import diagram
from headcount.testing.explore import explore
from headcount.testing.laws import broken_laws
from headcount.testing.simulator import simulate
from headcount.testing.transcript import tell
from headcount.testing.variants import VARIANTS

_SEEDS = range(60)
_STATES = 60


class Mutant(NamedTuple):
    state: State
    cue: Cue
    rule: Rule | None  # None: the row is not there

    def __str__(self) -> str:
        was = TABLE[self.state, self.cue]
        where = f"{self.state} on {self.cue}"
        if self.rule is None:
            return f"{where}: removed"
        if self.rule.to is not was.to:
            return f"{where}: leads to {self.rule.to}"
        return f"{where}: does {', '.join(self.rule.do) or 'nothing'}"


def mutants() -> Iterator[Mutant]:
    for (state, cue), rule in TABLE.items():
        yield Mutant(state, cue, None)
        yield from (Mutant(state, cue, rule._replace(to=to)) for to in State if to is not rule.to)
        for index in range(len(rule.do)):
            yield Mutant(state, cue, rule._replace(do=rule.do[:index] + rule.do[index + 1 :]))
        for index in range(len(rule.do) - 1):
            swapped = (*rule.do[:index], rule.do[index + 1], rule.do[index], *rule.do[index + 2 :])
            yield Mutant(state, cue, rule._replace(do=swapped))


@contextmanager
def in_force(mutant: Mutant) -> Iterator[None]:
    """The table as the mutant has it."""
    key, rows = (mutant.state, mutant.cue), dict(TABLE)
    try:
        if mutant.rule is None:
            del TABLE[key]
        else:
            TABLE[key] = mutant.rule
        yield
    finally:
        TABLE.clear()
        TABLE.update(rows)


@dataclass(frozen=True, slots=True)
class Checks:
    transcripts: dict[str, str]
    page: str
    invariants: bool = False

    def noticed_by(self, mutant: Mutant) -> set[str]:
        with in_force(mutant):
            return {name for name, notices in self._all().items() if notices()}

    def _all(self) -> dict[str, partial[bool]]:
        checks = {
            "laws": partial(lambda: bool(broken_laws())),
            "transcripts": partial(_a_story_differs, self.transcripts),
            "committed table": partial(_the_page_differs, self.page),
        }
        if self.invariants:
            checks["invariants"] = partial(_an_invariant_breaks)
        return checks


def _a_story_differs(transcripts: dict[str, str]) -> bool:
    return any(_differs(text) for text in transcripts.values())


def _differs(text: str) -> bool:
    try:
        return tell(text) != text
    except Exception:  # a broken rule may raise anything
        return True


def _the_page_differs(page: str) -> bool:
    return diagram.fill(page) != page


def _an_invariant_breaks() -> bool:
    """Whatever is raised counts: a step that cannot be taken has failed as well."""
    try:
        for variant in VARIANTS:
            explore(variant, _STATES)
        for seed in _SEEDS:
            simulate(seed)
    except Exception:
        return True
    return False


def read_checks(root: Path, invariants: bool = False) -> Checks:
    stories = sorted((root / "tests/protocol/transcripts").glob("*.txt"))
    transcripts = {path.stem: path.read_text(encoding="utf-8") for path in stories}
    page = (root / "docs/explanation/protocol.md").read_text(encoding="utf-8")
    return Checks(transcripts, page, invariants)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m headcount.testing.mutate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--root", type=Path, default=Path(), help="of the repository: tests/ and docs/ are read"
    )
    parser.add_argument("--invariants", action="store_true", help="minutes instead of seconds")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(argv)
    checks, began = read_checks(options.root, options.invariants), time.perf_counter()
    every = list(mutants())
    with get_context("spawn").Pool(options.jobs) as pool:
        noticed = pool.map(checks.noticed_by, every, chunksize=8)
    return _report(every, noticed, time.perf_counter() - began)


def _report(every: list[Mutant], noticed: list[set[str]], seconds: float) -> int:
    counts = Counter(name for names in noticed for name in names)
    alone = [m for m, names in zip(every, noticed, strict=True) if names == {"committed table"}]
    survivors = [m for m, names in zip(every, noticed, strict=True) if not names]
    by = ", ".join(f"{count} by {name}" for name, count in sorted(counts.items()))
    print(f"{len(every)} mutants in {seconds:.0f} s; noticed: {by}")
    print(f"{len(every) - len(alone) - len(survivors)} by something that runs the rules; only in the table:")
    print("\n".join(f"  {mutant}" for mutant in alone) or "  none")
    print(f"{len(survivors)} survivors")
    print("\n".join(f"  {mutant}" for mutant in survivors), end="")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
