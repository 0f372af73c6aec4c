"""Interpret a transition table: the one interpreter for every table of this package."""

# A table lists, for a state and a trigger, the next state and the actions of that transition. It has no
# conditions. The code around a table knows the policy and the other members, and picks the trigger. A
# table can therefore be read, drawn, mutated and checked row by row.
#
# Four machines have tables, each in the file that names its states:
#
#     member.py   one incarnation, from its start to the proof that it is gone
#     task.py     one task of a run, from waiting to complete or blocked
#     phase.py    a run: its tasks, two gates, the cleanup
#     team.py     `CLOSE_STEPS`, the order in which a team is closed
#
# Not in a table, because they have few transitions:
#
#     Activity          what a running member is doing (member.py)
#     EscalationState   open, parked, decided or moot (team.py)
#     Request           asking, stopping, over; it follows its members (shutdown.py)
#     Status            a team's status; computed from its requests after every step (shutdown.py)

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

S = TypeVar("S")
T = TypeVar("T")
A = TypeVar("A")


class Rule(NamedTuple, Generic[S, A]):
    """A row: the next state, and the actions of the transition in order."""

    to: S
    do: tuple[A, ...] = ()


def interpret(
    table: Mapping[tuple[S, T], Rule[S, A]],
    state: S,
    trigger: T,
    *,
    ignore: Callable[[], None],
    move: Callable[[Rule[S, A]], None],
    act: Callable[[A], None],
) -> None:
    """Find the row, move to its state, then run its actions in order.

    `ignore` is called for a trigger without a row. Nothing else changes then (I6).
    """
    rule = table.get((state, trigger))
    # No row: the trigger is late, repeated, or does not apply in this state.
    if rule is None:
        ignore()
        return
    # The state changes first, so that actions see the new state and its epoch.
    move(rule)
    for action in rule.do:
        act(action)
