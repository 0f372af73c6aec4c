"""Convert a run to JSON and back, for the store."""

# As in `codec.py`, a missing field takes its default and an unknown one is dropped. The run has its own
# row in the store, next to the team, because only teams with tasks have one.

from __future__ import annotations

from dataclasses import asdict, fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from headcount.domain.settings import Gates
from headcount.protocol.phase import Crew, GateResult, Phase, State
from headcount.protocol.task import Presence, Seat, Task
from headcount.protocol.task import State as TaskState

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")


def phase_as_json(phase: Phase) -> dict[str, Any]:
    return asdict(phase)


def phase_from_json(raw: Mapping[str, Any], roster: Mapping[str, Any] = {}) -> Phase:
    """Return the run. `roster` has the crew if an earlier version opened the run; then `raw` has none."""
    crew = raw.get("crew", roster)
    reviewers = tuple((role, name) for role, name in crew.get("reviewers", ()))
    return _build(
        Phase, raw, state=State(raw["state"]), gates=_build(Gates, raw["gates"]),
        crew=_build(Crew, crew, reviewers=reviewers),
        tasks={name: _task(task) for name, task in raw["tasks"].items()},
        results={gate: _build(GateResult, result) for gate, result in raw["results"].items()},
    )  # fmt: skip


def _task(raw: Mapping[str, Any]) -> Task:
    aim = raw.get("aim")
    seats = tuple(_build(Seat, seat, presence=Presence(seat["presence"])) for seat in raw["seats"])
    return _build(Task, raw, state=TaskState(raw["state"]), aim=TaskState(aim) if aim else None, seats=seats)


@cache
def _field_names(cls: type[Any]) -> frozenset[str]:
    return frozenset(field.name for field in fields(cls))


def _build(cls: type[T], raw: Mapping[str, Any], **read: Any) -> T:
    """Build a value. Lists become tuples, so that values are immutable and equal to what was written."""
    plain = {k: tuple(v) if isinstance(v, list) else v for k, v in raw.items() if k in _field_names(cls)}  # type: ignore[arg-type]
    return cls(**{**plain, **read})
