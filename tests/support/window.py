"""A window in the commit path: every step that the engine takes in a transaction, as an onlooker sees it.

One event may lead to others inside the same transaction (a task that starts its next worker), so it is not
enough to look at the team before and after it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from headcount.engine import conduct, hear, succession
from headcount.protocol.step import step
from tests.support.onlooker import Step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headcount.domain.policy import Policy
    from headcount.protocol.effects import Effect
    from headcount.protocol.events import Event
    from headcount.protocol.team import Team

_STEPPERS = (hear, conduct, succession)


@contextmanager
def watched() -> Iterator[list[Step]]:
    """The steps taken inside, in order. Not for threads: the window is the modules' own."""
    steps: list[Step] = []

    def seen(team: Team, event: Event, policy: Policy) -> tuple[Team, tuple[Effect, ...]]:
        after, effects = step(team, event, policy)
        steps.append(Step(team, event, after, effects))
        return after, effects

    for module in _STEPPERS:
        setattr(module, "step", seen)  # noqa: B010 - mypy knows the name as imported, not as the module's
    try:
        yield steps
    finally:
        for module in _STEPPERS:
            setattr(module, "step", step)  # noqa: B010
