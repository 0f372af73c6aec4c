"""Combine the rules: `step(team, event, policy, now) -> (team, Ready)`, the one law."""

# A team's state holds its members, its requests, its escalations and, if it runs tasks, its run. One
# event may change all of them, so this is where the rules meet:
#
#     event --> step_team --what happened--> the run's tasks --orders--> step_team --> ...
#
# This repeats until nothing follows. Then the engine commits the state and `Ready` in one transaction. A
# crash sees all of it or nothing, so nothing is ordered twice.
#
# The function is total and pure. Time comes with the call. An event that no longer applies is recorded
# and changes nothing. There is no table here: the tables are in `member.py`, `task.py` and `phase.py`.

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
    """Apply one event. `now` (ISO 8601) becomes the end of a run that this event ends."""
    # Events of a run carry their own time; events of the team do not.
    composition = Composition(team, policy, event.at if isinstance(event, PhaseEvent) else now)
    if isinstance(event, PhaseEvent):
        composition.apply_to_run(event)
    else:
        composition.apply_to_team(event)
    return composition.settle()
