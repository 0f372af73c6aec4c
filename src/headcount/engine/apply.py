"""Read, step, commit: one transaction in which events become a new state and everything that follows from it.

Front ends and the engine share this. It first applies the inputs, which members reported since the last
step, in the order of their arrival. So no rule sees a state that an earlier report would have changed. Only
reports of a member that is not registered yet wait for its registration. If the engine dies between the two,
nothing is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headcount.engine.cycling import note_handover_acted
from headcount.engine.open_asks import answers_channel
from headcount.engine.ordered_starts import prepare_start
from headcount.engine.writing import utc_now, write_ready
from headcount.protocol.effects import Ready
from headcount.protocol.happened import (
    MemberEscalated,
    MemberGone,
    MemberMoved,
    MemberStuck,
    Refused,
    RequestRejected,
)
from headcount.protocol.member import State
from headcount.protocol.step import step
from headcount.protocol.team import Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headcount.domain.policy import Policy
    from headcount.engine.ordered_starts import MakeStart
    from headcount.ports import Tx
    from headcount.protocol.events import Event
    from headcount.protocol.phase_events import PhaseEvent
    from headcount.protocol.team import Team

# A stand-down may have come to its end with one of these: a command that follows it reads at once.
_ENDS = (MemberEscalated, MemberGone, MemberStuck, RequestRejected)


class Applied(NamedTuple):
    team: Team
    ready: Ready
    refused: Refused | None = None
    """Why the last of the caller's own events was not allowed, decided in the same transaction."""

    @property
    def channels(self) -> set[str]:
        """What to wake once this is durable: mailboxes with new mail, the engine, watchers of the team."""
        boxes = {f"{self.team.id}/{post.to}" for post in self.ready.mail}
        boxes |= {f"{self.team.id}/{start.key}" for start in self.ready.starts}
        ended = self.team.status is Status.SHUTDOWN or any(
            isinstance(event, _ENDS) for event in self.ready.happened
        )
        moved = {event.key for event in self.ready.happened if isinstance(event, MemberMoved)}
        boxes |= {answers_channel(self.team.id, key) for key in moved}
        return boxes | {"engine", f"team/{self.team.name}"} | ({f"ends/{self.team.name}"} if ended else set())


def apply(
    tx: Tx,
    team: Team,
    events: Iterable[Event | PhaseEvent],
    policy: Policy,
    make_start: MakeStart | None = None,
) -> Applied:
    """Step through all inputs, then `events`; write what follows into the caller's transaction.

    `make_start` says how to start the members that the rules order by themselves.
    """
    before, now = team, utc_now()
    ready = Ready()
    inputs = tx.take_inputs(team.id)
    early = [event for event in inputs if _is_early(team, event)]
    note_handover_acted(tx, team, inputs)
    for event in inputs:
        if event not in early:
            team, more = step(team, event, policy, now)
            ready += more
    refused: Refused | None = None
    for own in events:
        team, more = step(team, own, policy, now)
        ready += more
        refused = next((e for e in more.happened if isinstance(e, Refused)), None)
    for event in early:
        if _is_early(team, event):
            tx.add_input(team.id, event)
            continue
        team, more = step(team, event, policy, now)
        ready += more
    tx.save_team(before, team)
    for start in ready.starts:
        assert make_start is not None
        prepare_start(tx, team, start, make_start)
    write_ready(tx, team, ready)
    return Applied(team, ready, refused)


def _is_early(team: Team, event: Event) -> bool:
    member = team.members.get(getattr(event, "key", None) or "")
    return member is not None and member.state is State.STARTING
