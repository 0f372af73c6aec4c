"""A window in the commit path: every step that the engine takes in a transaction, as an onlooker sees it.

One event may lead to others inside the same transaction (a task that starts its next worker), so it is not
enough to look at the team before and after it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from headcount.protocol import run
from headcount.protocol.team_step import step_team
from tests.support.onlooker import Step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headcount.domain.policy import Policy
    from headcount.protocol.effects import Ready
    from headcount.protocol.events import Event
    from headcount.protocol.team import Team


@contextmanager
def watched(steps: list[Step]) -> Iterator[None]:
    """Append the steps of teams taken inside, in order. Not for threads: the window is the module's own."""

    def seen(team: Team, event: Event, policy: Policy) -> tuple[Team, Ready]:
        after, ready = step_team(team, event, policy)
        steps.append(Step(team, event, after, ready))
        return after, ready

    setattr(run, "step_team", seen)  # noqa: B010 - mypy knows the name as imported, not as the module's
    try:
        yield
    finally:
        setattr(run, "step_team", step_team)  # noqa: B010
