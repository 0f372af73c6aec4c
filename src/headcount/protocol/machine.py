"""The one interpreter of every table in this package.

A table says, for a state and a trigger, which state comes next and which actions go with the move. It has
no conditions: the rules around a table know the policy and the other members, and pick the trigger. So a
table can be read, drawn, mutated and checked row by row.

Four machines are described by tables, each in the file that names its states:

    member.py   one incarnation, from its start to the proof that it is gone
    task.py     one task of a run, from waiting to complete or blocked
    phase.py    a run: its tasks, two gates, the cleanup
    team.py     `CLOSE_STEPS`, the order in which a team is closed

Not in a table, because they have few moves: what a running member is doing (`Activity`), an escalation
(`EscalationState`), and a request (asking, stopping, over), which moves by what its members do
(`shutdown.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

S = TypeVar("S")
T = TypeVar("T")
A = TypeVar("A")


class Rule(NamedTuple, Generic[S, A]):
    """A row: the next state, and what goes with the move, in this order."""

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
    """Find the row, move, then carry out its actions in order.

    A trigger without a row came too late, twice, or makes no sense: `ignore` records it and nothing changes
    (I6).
    """
    rule = table.get((state, trigger))
    if rule is None:
        ignore()
        return
    move(rule)
    for action in rule.do:
        act(action)
