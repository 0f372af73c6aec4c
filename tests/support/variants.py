"""The small teams that are explored whole, and what people and members do in each.

One team in which everything may happen at once has too many states to visit: who is idle has nothing to do
with who is being judged, and their numbers multiply. So each variant adds one thing to the plain stand-down.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from headcount.domain.policy import Policy
from headcount.protocol.member import Member, State
from headcount.protocol.team import Team
from tests.support.possible import Choices

# Two attempts and one wait show everything that three and more do, only sooner.
POLICY = Policy(max_attempts=2, max_waits=1)


@dataclass(frozen=True, slots=True)
class Variant:
    name: str
    about: str
    choices: Choices
    roles: tuple[str, ...] = ("worker", "worker")  # of those that run from the first
    policy: Policy = POLICY


_PLAIN = Choices(named=False, force=False, idle=False)
_TWO = replace(_PLAIN, size=2)

VARIANTS = (
    Variant("force", "three members; force from the start, or added", replace(_PLAIN, force=True)),
    Variant("three", "three members, one of them started at any time", _PLAIN),
    Variant(
        "lead", "three members; lead and witness go last", replace(_PLAIN, force=True),
        ("worker", "lead", "witness"),
    ),
    Variant(
        "policy", "three members; decided by policy", _PLAIN,
        policy=replace(POLICY, on_escalation="force-kill"),
    ),
    Variant("reviews", "done, verified, changes, released", replace(_TWO, reviews=True, idle=True)),
    Variant("named", "single members, then the team takes over", replace(_TWO, named=True, force=True)),
    Variant(
        "limits", "usage limits and budgets, one started at any time", replace(_TWO, limits=True, idle=True),
        ("worker",), replace(POLICY, budget_tokens=1),
    ),
    Variant("pause", "idle, at work again, paused, continued", replace(_TWO, pause=True, idle=True)),
    Variant(
        "cycle", "a lead is cycled, then the team takes over", replace(_TWO, cycle=True, force=True),
        ("worker", "lead"),
    ),
    Variant("hub", "a salvage that the hub does not have", replace(_TWO, hub=True, force=True)),
    Variant("set", "the policy decides what is escalated, from any moment on", replace(_TWO, sets=True)),
    Variant("judge", "the witness judges", replace(_TWO, witness_judges=True)),
)  # fmt: skip


def first_team(variant: Variant) -> Team:
    members = [
        Member(name, 1, role=role, state=State.RUNNING, epoch=1, awaits_review=variant.choices.reviews)
        for name, role in zip("abc", variant.roles, strict=False)
    ]
    return Team("t", members={m.key: m for m in members}, generations={m.name: 1 for m in members})
