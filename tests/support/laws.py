"""The laws that hold for every row of the member's table, checked against the table itself; the last one
holds for those of tasks and phases too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.domain.policy import Policy
from headcount.protocol import member, phase, task
from headcount.protocol.member import TABLE, Member, State, Trigger, limit_s, overdue_trigger

if TYPE_CHECKING:
    from collections.abc import Iterator

_PAST = (State.SALVAGING, State.STOPPING, State.KILLING, State.GONE)
_DIRTY = (Trigger.DIRTY, Trigger.DIRTY_AGAIN, Trigger.DIRTY_FORCED)


def stopping_comes_after_safety() -> Iterator[str]:
    """A row into `stopping` comes from `spotless` or `saved`, one into `killing` from `stopping`."""
    for (state, cue), rule in TABLE.items():
        if (
            rule.to is State.STOPPING
            and state is not State.STOPPING
            and cue not in (Trigger.SPOTLESS, Trigger.SAVED)
        ):
            yield f"{state} is stopped on {cue}"
        if rule.to is State.KILLING and state not in (State.STOPPING, State.KILLING):
            yield f"{state} is killed on {cue}"


def a_death_is_looked_at() -> Iterator[str]:
    """From every state before `salvaging`, `exited` leads to `salvaging`."""
    for state in (s for s in State if s not in _PAST):
        rule = TABLE.get((state, Trigger.EXITED))
        if rule is None or rule.to is not State.SALVAGING:
            yield f"{state} does not salvage whoever exited"


def every_wait_has_an_end() -> Iterator[str]:
    """Every state that waits has a limit, and the cue of that limit has a row."""
    for state in State:
        for silences in range(3):
            for terminated in (False, True):
                waiting = Member("m", 1, state=state, silences=silences, terminated=terminated)
                if limit_s(waiting, Policy()) is None:
                    continue
                yield from (
                    f"{state} has no row for {c}" for c in _limit_cues(waiting) if (state, c) not in TABLE
                )


def _limit_cues(waiting: Member) -> tuple[Trigger, ...]:
    cue = overdue_trigger(waiting)
    return _DIRTY if cue is None else (cue,)


def gone_is_final() -> Iterator[str]:
    """Nobody comes back, and nobody is gone without proof, unless its start failed."""
    for (state, cue), rule in TABLE.items():
        if state is State.GONE and rule.to is not State.GONE:
            yield f"gone leads to {rule.to} on {cue}"
        if (
            rule.to is State.GONE
            and state is not State.GONE
            and cue not in (Trigger.TREE_EMPTY, Trigger.START_FAILED)
        ):
            yield f"{state} is gone on {cue}"


def deeds_stand_in_order() -> Iterator[str]:
    """A row has its actions in the order in which the `Action` of its table has them."""
    for rules in (member, task, phase):
        order = list(rules.Action)
        for (state, cue), rule in rules.TABLE.items():
            if list(rule.do) != sorted(rule.do, key=order.index):
                yield f"{state} on {cue} does {', '.join(rule.do)}"


LAWS = (
    stopping_comes_after_safety,
    a_death_is_looked_at,
    every_wait_has_an_end,
    gone_is_final,
    deeds_stand_in_order,
)


def broken_laws() -> list[str]:
    return [f"{law.__name__}: {problem}" for law in LAWS for problem in law()]
