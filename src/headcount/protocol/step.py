"""The one law: `step(team, event, policy, now) -> (team, Ready)`.

A team's state holds its members, its requests, its escalations and, where it runs tasks, its run. One event
may move all of them, so this is where the rules are put together:

    event ──→ step_team ──what happened──→ the run's tasks ──orders──→ step_team ──→ …

It goes round until nothing follows any more. Then state and `Ready` are committed in one transaction: a
crash sees all of it or none, and nothing is ever ordered twice. Total and pure: time comes with the call,
and an event that makes no sense any more is recorded and changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.protocol.phase_events import PhaseEvent
from headcount.protocol.run import Composition

if TYPE_CHECKING:
    from headcount.domain.policy import Policy
    from headcount.protocol.effects import Ready
    from headcount.protocol.events import Event
    from headcount.protocol.team import Team


def step(team: Team, event: Event | PhaseEvent, policy: Policy, now: str = "") -> tuple[Team, Ready]:
    """`now` (ISO 8601) is when a run that ends by this event has ended."""
    composition = Composition(team, policy, event.at if isinstance(event, PhaseEvent) else now)
    if isinstance(event, PhaseEvent):
        composition.apply_to_run(event)
    else:
        composition.apply_to_team(event)
    return composition.settle()
