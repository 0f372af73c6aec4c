"""What a simulated run consists of, drawn from a seed: who is in it, what people do, what goes wrong.

A plan is plain data, so a failing run shrinks by leaving parts of it out. What is left to chance inside the
run (how long things take) comes from the seed as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from headcount.domain.policy import Policy
from headcount.protocol.effects import ActKind
from tests.support.agents import TEMPERS

if TYPE_CHECKING:
    from collections.abc import Iterator

FAULTS_UNTIL_S = 900.0
_NAMES = ("web", "web-2", "api", "docs", "perf")  # one a prefix of another, on purpose
_FAILING = (
    ActKind.START, ActKind.INSPECT, ActKind.SALVAGE, ActKind.KILL, ActKind.LAST_READ, ActKind.CLOSE_STEP,
    ActKind.NUDGE, ActKind.MERGE, ActKind.RUN_GATE,
)  # fmt: skip


class Cast(NamedTuple):
    """One member of the team."""

    name: str
    role: str
    temper: str
    reviewed: bool = False


class Deed(NamedTuple):
    """Something that a person does."""

    at: float
    what: str  # down, force, down_member, force_member, spawn, cycle, pause, resume, release, changes, set
    who: str = ""


class Fault(NamedTuple):
    """`nth` counts commits, acts of a kind, or words, as `what` says."""

    what: str  # see `_FAULTS`
    nth: int = 0
    kind: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Plan:
    seed: int
    cast: tuple[Cast, ...]
    deeds: tuple[Deed, ...]
    faults: tuple[Fault, ...]
    policy: Policy = field(default_factory=Policy)
    tasks: int = 0  # more than none: it is a run, which starts its workers and reviewers itself
    reviewed: bool = False

    def smaller(self) -> Iterator[Plan]:
        """Every plan that lacks one part of this."""
        for name in ("faults", "deeds", "cast"):
            parts = getattr(self, name)
            for index in range(len(parts)):
                yield replace(self, **{name: parts[:index] + parts[index + 1 :]})

    def __str__(self) -> str:
        cast = ", ".join(f"{c.name} ({c.temper} {c.role}{', reviewed' * c.reviewed})" for c in self.cast)
        deeds = ", ".join(f"{d.what} {d.who}".strip() + f" at {d.at:.0f} s" for d in self.deeds) or "nothing"
        faults = ", ".join(_describe(f) for f in self.faults) or "nothing"
        tasks = f"\ntasks: {self.tasks}{', reviewed' * self.reviewed}" if self.tasks else ""
        return f"members: {cast}{tasks}\npeople: {deeds}\nfaults: {faults}"


def _describe(fault: Fault) -> str:
    if fault.at:
        return f"{fault.what} at {fault.at:.0f} s"
    return f"{fault.what} {fault.kind} number {fault.nth}".replace("  ", " ")


def draw_plan(seed: int, rng: Random) -> Plan:
    cast = tuple(_draw_cast(rng))
    names = [member.name for member in cast]
    drawn, faults = list(_draw_deeds(rng, names)), tuple(_draw_faults(rng))
    # By a source of its own: what the others draw from a seed stays as it is.
    changing = Random(f"set {seed}")
    drawn += [Deed(changing.uniform(1, FAULTS_UNTIL_S), "set") for _ in range(changing.choice((0, 0, 1, 2)))]
    deeds = tuple(sorted(drawn))
    plan = Plan(seed, cast, deeds, faults, _draw_policy(rng))
    if rng.random() < 0.2:
        # People decide here: a task gives up its slot when it orders a refusal to be escalated, and a policy
        # that decides in that very moment would have its member still being stopped in it (I4).
        asking = replace(plan.policy, on_escalation="ask")
        return replace(plan, policy=asking, tasks=rng.randint(1, 3), reviewed=rng.random() < 0.6)
    return plan


def _draw_cast(rng: Random) -> Iterator[Cast]:
    tempers = sorted(TEMPERS)
    for name in _NAMES[: rng.randint(1, 4)]:
        yield Cast(name, "worker", rng.choice(tempers), rng.random() < 0.25)
    if rng.random() < 0.2:
        yield Cast("boss", "lead", rng.choice(tempers))
    if rng.random() < 0.2:
        yield Cast("eye", "witness", rng.choice(tempers))


def _draw_deeds(rng: Random, names: list[str]) -> Iterator[Deed]:
    yield Deed(rng.uniform(5, 400), "down")
    people = (
        "down",
        "force",
        "down_member",
        "down_member",
        "force_member",
        "spawn",
        "spawn",
        "cycle",
        "pause",
        "resume",
    )
    for _ in range(rng.randint(0, 6)):
        yield Deed(rng.uniform(1, FAULTS_UNTIL_S), rng.choice(people), rng.choice(names))
    for name in names:
        if rng.random() < 0.3:
            yield Deed(rng.uniform(20, 500), rng.choice(("release", "changes")), name)


def _draw_faults(rng: Random) -> Iterator[Fault]:
    for _ in range(rng.choice((0, 0, 1, 2, 4, 8))):
        what = rng.choice(_FAULTS)
        if what in ("crash", "clock", "take_over"):
            yield Fault(what, at=rng.uniform(1, FAULTS_UNTIL_S))
        elif what in ("fail", "delay", "double"):
            yield Fault(what, rng.randint(0, 3), str(rng.choice(_FAILING)))
        else:
            yield Fault(what, rng.randint(0, 40 if what != "crash_call" else 80))


_FAULTS = (
    "crash", "crash_before", "crash_commit", "crash_call", "crash_call", "take_over", "busy", "lose_ring",
    "fail", "fail", "fail", "delay", "double", "lose_word", "double_word", "late_word", "clock",
)  # fmt: skip


def _draw_policy(rng: Random) -> Policy:
    return Policy(
        max_attempts=rng.randint(1, 3),
        max_waits=rng.randint(0, 2),
        on_escalation=rng.choice(("ask", "ask", "ask", "force-kill")),
        judge=rng.choice(("rules", "rules", "witness")),
        tasks_at_once=rng.randint(1, 2),
        budget_tokens=rng.choice((0, 50, 100)),
    )
