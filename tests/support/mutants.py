"""Rules that are wrong by one row, of every table that the protocol has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from headcount.protocol import authority, member, phase, shutdown, task, task_turn
from headcount.protocol.team import DECISIONS, Status
from tests.support import diagram

# How to come by the rows of each table, as they are now.
TABLES: dict[str, Callable[[], Any]] = {
    "member": lambda: member.TABLE,
    "team": lambda: getattr(*_PLACES["team"]),
    "closing": lambda: getattr(*_PLACES["closing"]),
    "decisions": lambda: DECISIONS,
    "task": lambda: task.TABLE,
    "phase": lambda: phase.TABLE,
    "authority": lambda: authority.MAY,
    "board": lambda: task.BOARD,  # what the task list shows for each state
    "aims": lambda: task_turn._OVER,  # what a task becomes when all of its members have left
    "gates": lambda: phase._GATE_OF,  # what a run waits for
}
# Tables that are sequences are replaced where they are read; the others are changed in place.
_PLACES: dict[str, tuple[Any, str]] = {
    "team": (diagram, "TEAM_MOVES"),
    "closing": (shutdown, "CLOSE_STEPS"),
}


class Mutant(NamedTuple):
    """`rule` takes the place of a row; None: the row is not there. A sequence is replaced as a whole."""

    table: str
    row: Any
    rule: Any

    def __str__(self) -> str:
        if self.table in _PLACES:
            return f"{self.table}: {', '.join(map(str, self.rule))}"
        where = " on ".join(self.row) if isinstance(self.row, tuple) else str(self.row)
        if self.rule is None:
            return f"{self.table}: {where}: removed"
        return f"{self.table}: {where}: {_describe(self.rule, TABLES[self.table]()[self.row])}"


def _describe(rule: Any, was: Any) -> str:
    if isinstance(rule, frozenset):
        return f"only {', '.join(sorted(rule)) or 'nobody'}"
    if isinstance(rule, str):
        return f"leads to {rule}"
    return f"leads to {rule.to}" if rule.to is not was.to else f"does {', '.join(rule.do) or 'nothing'}"


def mutants(table: str) -> Iterator[Mutant]:
    rows = TABLES[table]()
    if table == "team":
        yield from _of_moves(rows)
    elif table == "closing":
        yield from (Mutant(table, None, changed) for changed in (*_shorter(rows), *_swapped(rows)))
    elif table in ("decisions", "board", "aims", "gates"):
        yield from _of_values(table, rows)
    elif table == "authority":
        yield from _of_callers(rows)
    else:
        yield from _of_rules(table, rows)


def _of_rules(table: str, rows: dict[Any, Any]) -> Iterator[Mutant]:
    for row, rule in rows.items():
        yield Mutant(table, row, None)
        yield from (Mutant(table, row, rule._replace(to=to)) for to in type(rule.to) if to is not rule.to)
        yield from (
            Mutant(table, row, rule._replace(do=do)) for do in (*_shorter(rule.do), *_swapped(rule.do))
        )


def _shorter(items: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    yield from ((*items[:index], *items[index + 1 :]) for index in range(len(items)))


def _swapped(items: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    for index in range(len(items) - 1):
        yield (*items[:index], items[index + 1], items[index], *items[index + 2 :])


def _of_moves(rows: Sequence[Any]) -> Iterator[Mutant]:
    """A status of a team is read from its members, so these rows say what is seen."""
    yield from (Mutant("team", None, fewer) for fewer in _shorter(rows))
    for index, (before, after, why) in enumerate(rows):
        others = (s for s in map(str, Status) if s not in (before, after))
        for other in others:
            yield Mutant("team", None, (*rows[:index], (before, other, why), *rows[index + 1 :]))


def _of_values(table: str, rows: dict[str, Any]) -> Iterator[Mutant]:
    for row, value in rows.items():
        yield Mutant(table, row, None)
        yield from (Mutant(table, row, other) for other in dict.fromkeys(rows.values()) if other != value)


def _of_callers(rows: dict[str, frozenset[str]]) -> Iterator[Mutant]:
    for action, who in rows.items():
        yield Mutant("authority", action, None)
        yield from (Mutant("authority", action, who ^ {caller}) for caller in authority.CALLERS)


@contextmanager
def in_force(mutant: Mutant) -> Iterator[None]:
    """The table as the mutant has it."""
    table = TABLES[mutant.table]()
    try:
        if mutant.table in _PLACES:
            setattr(*_PLACES[mutant.table], mutant.rule)
        elif mutant.rule is None:
            del table[mutant.row]
        else:
            table[mutant.row] = mutant.rule
        yield
    finally:
        _restore(mutant.table, table)


def _restore(name: str, table: Any) -> None:
    if name in _PLACES:
        setattr(*_PLACES[name], table)
        return
    table.clear()
    table.update(_ROWS[name])


_ROWS = {name: dict(rows()) for name, rows in TABLES.items() if name not in _PLACES}
