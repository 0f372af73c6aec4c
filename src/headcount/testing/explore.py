"""Every reachable state of a small team, every event in each of them, every invariant on every step.

States that differ only in names, or in what decides no rule, are one (`normal.py`), so there are finitely
many. What that drops (which outcome an end has) the simulator checks over whole histories.

    python -m headcount.testing.explore            every variant, whole
    python -m headcount.testing.explore --states 20000    a slice of each
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from headcount.domain.policy import Policy
from headcount.protocol.member import Member, State, limit_s
from headcount.protocol.step import step
from headcount.protocol.team import Team
from headcount.testing.invariants import check
from headcount.testing.liveness import check_it_ends
from headcount.testing.normal import NormalForm
from headcount.testing.onlooker import Seen, Step, Violation, remember
from headcount.testing.possible import Choices, possible, strange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from headcount.protocol.events import Event

# Two attempts and one wait show everything that three and more do, only sooner.
POLICY = Policy(max_attempts=2, max_waits=1)


@dataclass(frozen=True, slots=True)
class Variant:
    name: str
    about: str
    choices: Choices
    roles: tuple[str, ...] = ("worker", "worker")
    policy: Policy = POLICY


_PLAIN = Choices(named=False, force=False, idle=False)
_TWO = replace(_PLAIN, size=2)

VARIANTS = (
    Variant("three", "three members, one of them started at any time", _PLAIN),
    Variant("force", "force from the start, or added", replace(_PLAIN, force=True)),
    Variant("policy", "decided by policy", _PLAIN, policy=replace(POLICY, on_escalation="force-kill")),
    Variant("lead", "lead and witness go last", replace(_PLAIN, force=True), ("worker", "lead", "witness")),
    Variant("named", "single members, then the team takes over", replace(_TWO, named=True, force=True)),
    Variant("reviews", "done, verified, changes, released", replace(_TWO, reviews=True, idle=True)),
    Variant("pause", "idle, at work again, paused, continued", replace(_TWO, pause=True, idle=True)),
    Variant("judge", "the witness judges", replace(_TWO, witness_judges=True)),
)


@dataclass(slots=True)
class Report:
    variant: str
    states: int = 0
    steps: int = 0
    strange: int = 0
    whole: bool = False
    seconds: float = 0.0
    ends: dict[str, int] = field(default_factory=dict)
    moves: set[tuple[str, str]] = field(default_factory=set)  # of the team's status

    def __str__(self) -> str:
        ends = ", ".join(f"{count:,} {name}" for name, count in sorted(self.ends.items()))
        extent = "all" if self.whole else "the first"
        return (
            f"{self.variant:8} {extent} {self.states:,} states, {self.steps:,} steps, "
            f"{self.strange:,} strange events, in {self.seconds:.1f} s; at rest: {ends}"
        )


class _Node:
    __slots__ = ("event", "parent", "seen", "team")

    def __init__(
        self, team: Team, seen: Mapping[str, Seen], parent: _Node | None, event: Event | None
    ) -> None:
        self.team = team
        self.seen = seen
        self.parent = parent
        self.event = event

    def path(self) -> list[str]:
        events: list[str] = []
        node: _Node | None = self
        while node is not None and node.event is not None:
            events.append(str(node.event))
            node = node.parent
        return events[::-1]


def explore(
    variant: Variant, max_states: int | None = None, tell: Callable[[Report], None] | None = None
) -> Report:
    """Breadth first, so that the way to a violation is a shortest one."""
    report, began = Report(variant.name), time.perf_counter()
    form = NormalForm(_first_team(variant), {})
    known = {form.digest}
    frontier = deque([_Node(*form.build(), None, None)])
    while frontier and (max_states is None or report.states < max_states):
        node = frontier.popleft()
        report.states += 1
        if tell is not None and report.states % 10_000 == 0:
            report.seconds = time.perf_counter() - began
            tell(report)
        for form, event in _successors(node, variant, report):
            if form.digest not in known:
                known.add(form.digest)
                frontier.append(_Node(*form.build(), node, event))
        _check_rest(node, variant, report)
    report.whole = not frontier
    report.seconds = time.perf_counter() - began
    return report


def _first_team(variant: Variant) -> Team:
    members = [
        Member(name, 1, role=role, state=State.RUNNING, epoch=1, awaits_review=variant.choices.reviews)
        for name, role in zip("abc", variant.roles, strict=False)
    ]
    return Team("t", members={m.key: m for m in members}, generations={m.name: 1 for m in members})


def _successors(node: _Node, variant: Variant, report: Report) -> Iterator[tuple[NormalForm, Event]]:
    for event in possible(node.team, variant.policy, variant.choices):
        report.steps += 1
        team, seen = _checked(node, event, variant.policy)
        if team.status is not node.team.status:
            report.moves.add((node.team.status, team.status))
        yield NormalForm(team, seen), event


def _checked(node: _Node, event: Event, policy: Policy) -> tuple[Team, dict[str, Seen]]:
    try:
        after, effects = step(node.team, event, policy)
        taken = Step(node.team, event, after, effects)
        seen = remember(node.seen, taken)
        check(taken, seen)
    except Exception as problem:
        story = "\n  ".join([*node.path(), str(event)])
        raise Violation(f"{problem}\nafter:\n  {story}") from problem
    return after, seen


def _check_rest(node: _Node, variant: Variant, report: Report) -> None:
    """Strange events change nothing here, and from here everything ends."""
    for event in strange(node.team):
        report.strange += 1
        after, _ = step(node.team, event, variant.policy)
        if after != node.team:
            raise Violation(
                f"{event} is strange, and changed something\nafter:\n  " + "\n  ".join(node.path())
            )
    try:
        check_it_ends(node.team, variant.policy)
    except Violation as problem:
        raise Violation(f"{problem}\nafter:\n  " + "\n  ".join(node.path())) from problem
    if at_rest(node.team, variant.policy):
        report.ends[node.team.status] = report.ends.get(node.team.status, 0) + 1


def at_rest(team: Team, policy: Policy) -> bool:
    """Nothing is waited for but people."""
    return team.close_step is None and all(limit_s(m, policy) is None for m in team.members.values())


# --- command ----------------------------------------------------------------------------------------------


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m headcount.testing.explore", description=__doc__)
    parser.add_argument("--states", type=int, help="stop each variant after so many states")
    parser.add_argument("--variant", choices=[v.name for v in VARIANTS], action="append")
    options = parser.parse_args(argv)
    total = 0
    for variant in VARIANTS:
        if options.variant and variant.name not in options.variant:
            continue
        report = explore(variant, options.states, lambda report: print(report, file=sys.stderr, flush=True))
        total += report.states
        print(f"{report}  ({variant.about})", flush=True)
    print(f"{total:,} states, no violation")
    return 0


if __name__ == "__main__":
    sys.exit(main())
