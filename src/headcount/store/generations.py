"""What both adapters hold to: how generations count, and what a lost lease means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.errors import FencedOut
from headcount.protocol.team import Team

if TYPE_CHECKING:
    from headcount.ports import Fence


def next_generation(name: str, last: Team | None) -> Team:
    """Generations count on for ever, for the team's name and for its members' names."""
    if last is None:
        return Team(name)
    return Team(name, last.generation + 1, generations=dict(last.generations))


def fenced_out(fence: Fence) -> FencedOut:
    return FencedOut(
        f"The lease {fence.name} was lost", "another engine drives this team now", code="fenced-out"
    )
