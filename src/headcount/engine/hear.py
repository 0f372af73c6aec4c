"""Read, step, commit: one transaction in which events become a new state and everything that follows from it.

Front ends and the engine share this. What members said since (the inputs) is heard first, in the order in
which it came, so nobody is judged by a state that an earlier word of theirs would have changed. Only what
somebody said before it was registered waits for that: an engine that dies between the two loses no word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headcount.engine.conduct import PHASE, Conductor
from headcount.engine.succession import acted, succeed
from headcount.engine.writing import write_effects
from headcount.protocol.effects import Post
from headcount.protocol.member import State
from headcount.protocol.step import step

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headcount.domain.policy import Policy
    from headcount.engine.conduct import MakeStart
    from headcount.ports import Tx
    from headcount.protocol.effects import Effect
    from headcount.protocol.events import Event
    from headcount.protocol.phase import Phase
    from headcount.protocol.phase_events import PhaseEvent
    from headcount.protocol.team import Team


class Heard(NamedTuple):
    """`phase` is that of a team that runs tasks."""

    team: Team
    effects: tuple[Effect, ...]
    phase: Phase | None = None

    @property
    def channels(self) -> set[str]:
        """Whom to wake once this is durable: who has new mail, the engine, and who watches the team."""
        boxes = {f"{self.team.id}/{e.to}" for e in self.effects if isinstance(e, Post)}
        return boxes | {"engine", f"team/{self.team.name}"}


def hear(
    tx: Tx,
    team: Team,
    events: Iterable[Event],
    policy: Policy,
    make_start: MakeStart | None = None,
    happened: Iterable[PhaseEvent] = (),
) -> Heard:
    """Step through all that was said, then `events`; write what follows into the caller's transaction.

    Where the team runs tasks, they hear of it in the same transaction; `make_start` is for whom they start.
    """
    before = team
    phase: Phase | None = None
    effects: list[Effect] = []
    said = tx.take_inputs(team.id)
    early = [event for event in said if _is_early(team, event)]
    acted(tx, team, said)
    for event in (*(e for e in said if e not in early), *events):
        team, more = step(team, event, policy)
        effects.extend(more)
    for event in early:
        if _is_early(team, event):
            tx.add_input(team.id, event)
            continue
        team, more = step(team, event, policy)
        effects.extend(more)
    if make_start is not None:
        team = succeed(tx, team, effects, policy, make_start)
    if make_start is not None and tx.fact(team.id, "", PHASE) is not None:
        conductor = Conductor(tx, team, effects, policy, make_start)
        conductor.conduct(happened)
        team, phase = conductor.team, conductor.phase
    tx.save_team(before, team)
    write_effects(tx, team, effects)
    return Heard(team, tuple(effects), phase)


def _is_early(team: Team, event: Event) -> bool:
    member = team.members.get(getattr(event, "key", None) or "")
    return member is not None and member.state is State.STARTING
