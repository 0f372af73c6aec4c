"""Change one rule at a time and see who notices.

    python -m tests.support.mutate                    every table
    python -m tests.support.mutate --table member     one of them

Every row of every table is removed, led to every other end that there is, and loses or swaps one of its deeds
(`mutants.py`). A rule that can be changed without a test that fails is not a rule; the survivors are printed
and must be none. The committed page shows every row, so it notices everything: what it notices alone is
printed too, and must be nothing, because somebody may write the page anew without reading it.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path

from headcount.errors import NotAllowed
from headcount.protocol import authority
from tests.support import diagram
from tests.support.laws import broken_laws
from tests.support.mutants import TABLES, Mutant, in_force, mutants
from tests.support.transcript import Story, tell

PAGE = "committed page"
_STORIES = "tests/unit/protocol_task/stories"
_STORY_TELLER = "tests/unit/protocol_task/story.py"


@dataclass(frozen=True, slots=True)
class Checks:
    """Read before anything is changed; each says whether it notices."""

    root: Path
    transcripts: tuple[str, ...]
    stories: tuple[str, ...]
    page: str
    callers: str

    def noticed(self) -> set[str]:
        return {name for name, notices in _NOTICES.items() if notices(self)}

    def noticed_by(self, mutant: Mutant) -> set[str]:
        with in_force(mutant):
            return {name for name in _CHECKS[mutant.table] if _NOTICES[name](self)}

    def transcript_differs(self) -> bool:
        return any(_differs(tell, text) for text in self.transcripts)

    def story_differs(self) -> bool:
        return any(_differs(_story_teller(self.root), text) for text in self.stories)

    def another_move_is_seen(self) -> bool:
        """The team goes other ways in the transcripts than the page has."""
        return moves_in(self.transcripts) != {(before, after) for before, after, _ in diagram.TEAM_MOVES}

    def page_differs(self) -> bool:
        return _differs(diagram.fill, self.page)

    def caller_may_differ(self) -> bool:
        return tell_callers() != self.callers


_NOTICES: dict[str, Callable[[Checks], bool]] = {
    "laws": lambda checks: bool(broken_laws()),
    "transcripts": Checks.transcript_differs,
    "stories of tasks": Checks.story_differs,
    "moves of transcripts": Checks.another_move_is_seen,
    "what callers may": Checks.caller_may_differ,
    PAGE: Checks.page_differs,
}
_CHECKS = {
    "member": ("laws", "transcripts", PAGE),
    "team": ("moves of transcripts", PAGE),
    "closing": ("transcripts", PAGE),
    "decisions": ("transcripts",),
    "task": ("laws", "stories of tasks", PAGE),
    "phase": ("laws", "stories of tasks", PAGE),
    "authority": ("what callers may", PAGE),
    "board": ("stories of tasks",),
    "aims": ("stories of tasks",),
    "gates": ("stories of tasks",),
}


def _differs(tells: Callable[[str], str], text: str) -> bool:
    try:
        return tells(text) != text
    except Exception:  # a broken rule may raise anything
        return True


@cache
def _story_teller(root: Path) -> Callable[[str], str]:
    """Stories of tasks are told by a helper of their own tests."""
    spec = importlib.util.spec_from_file_location("story_of_tasks", root / _STORY_TELLER)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(root / _STORY_TELLER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    teller: Callable[[str], str] = module.tell
    return teller


@cache
def moves_in(transcripts: tuple[str, ...]) -> set[tuple[str, str]]:
    """Every way from one status of the team to another that a transcript goes, by the rules as they are.

    Kept: who asks changes what the page says about it, and no rule.
    """
    moves: set[tuple[str, str]] = set()
    for text in transcripts:
        story = Story()
        for line in _commands(text):
            before = str(story.team.status)
            for _ in story.do(line):
                now = str(story.team.status)
                moves |= {(before, now)} if now != before else set()
                before = now
    return moves


def _commands(text: str) -> list[str]:
    blocks = (block.split("\n----")[0] for block in text.strip().split("\n\n"))
    return [line for block in blocks for line in block.split("\n") if not line.startswith("#")]


def tell_callers() -> str:
    """What each kind of caller may do, and may not: asked of the rules, one action at a time."""
    lines = []
    for caller in authority.CALLERS:
        allowed = [action for action in sorted(authority.MAY) if _may(action, caller)]
        refused = [action for action in sorted(authority.MAY) if action not in allowed]
        lines += [f"{caller} may {', '.join(allowed)}", f"{caller} may not {', '.join(refused)}", ""]
    return "\n".join(lines)


def _may(action: str, caller: str) -> bool:
    try:
        authority.check(action, caller)
    except NotAllowed:
        return False
    return True


def read_checks(root: Path) -> Checks:
    return Checks(
        root,
        _texts(root / "tests/protocol/transcripts"),
        _texts(root / _STORIES),
        (root / "docs/explanation/protocol.md").read_text(encoding="utf-8"),
        (root / "tests/protocol/callers.txt").read_text(encoding="utf-8"),
    )


def _texts(folder: Path) -> tuple[str, ...]:
    return tuple(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.txt")))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.mutate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--root", type=Path, default=Path(), help="of the repository: tests/ and docs/ are read"
    )
    parser.add_argument("--table", choices=sorted(_CHECKS), action="append")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(argv)
    checks = read_checks(options.root)
    tables = [name for name in TABLES if not options.table or name in options.table]
    if wrong := sorted(checks.noticed()):
        print(f"nothing is changed yet, and this does not hold: {', '.join(wrong)}")
        return 1
    with get_context("spawn").Pool(options.jobs) as pool:
        unsafe = [_report(name, checks, pool.map) for name in tables]
    print(f"{sum(unsafe)} survivors, or noticed by the page alone")
    return 1 if any(unsafe) else 0


def _report(table: str, checks: Checks, map_: Callable[..., list[set[str]]]) -> int:
    every, began = list(mutants(table)), time.perf_counter()
    noticed = map_(checks.noticed_by, every, chunksize=8)
    counts = Counter(name for names in noticed for name in names)
    by = ", ".join(f"{count} by {name}" for name, count in sorted(counts.items()))
    survivors = [m for m, names in zip(every, noticed, strict=True) if not names]
    alone = [m for m, names in zip(every, noticed, strict=True) if names == {PAGE}]
    print(
        f"{table}: {len(TABLES[table]()):,} rows, {len(every):,} mutants in "
        f"{time.perf_counter() - began:.0f} s; noticed {by}; "
        f"{len(alone)} by the page alone, {len(survivors)} survivors",
        flush=True,
    )
    for mutant in (*alone, *survivors):
        print(f"  {mutant}", flush=True)
    return len(alone) + len(survivors)


if __name__ == "__main__":
    sys.exit(main())
