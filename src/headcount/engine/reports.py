"""What threads report to the engine, on its one queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headcount.engine.job import Outcome
from headcount.engine.writing import post_mail
from headcount.protocol.effects import Act

if TYPE_CHECKING:
    from headcount.ports import Tx
    from headcount.protocol.team import Team


class Result(NamedTuple):
    """An act, a look at an end, or a limit led to something; without `act`, nothing was pending for it."""

    team: str
    key: str
    outcome: Outcome
    act: Act | None = None


class End(NamedTuple):
    """An agent's own process ended, or its keeper."""

    team: str
    key: str
    agent: bool


class Again(NamedTuple):
    """An act changed nothing, and is to be tried again."""

    act: tuple[str, str]
    seconds: float


Report = Result | End | Again


def record(tx: Tx, team: Team, result: Result) -> None:
    """What is durable of it, beside what its events lead to."""
    for (about, name), value in result.outcome.facts.items():
        tx.put_fact(team.id, about, name, value)
    tx.note(team.id, result.outcome.notes)
    for mail in result.outcome.mail:
        post_mail(tx, team, mail)
    if result.act is not None:
        tx.end_act(team.id, result.act.id)
