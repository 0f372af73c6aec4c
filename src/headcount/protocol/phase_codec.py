"""Convert a run to JSON and back, for the store."""

# As in `codec.py`, a missing field takes its default and an unknown one is dropped. The run has its own
# row in the store, next to the team, because only teams with tasks have one.

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from headcount.domain.settings import Gates
from headcount.protocol.codec import build
from headcount.protocol.phase import Crew, GateResult, Phase, State
from headcount.protocol.task import Presence, Seat, Task
from headcount.protocol.task import State as TaskState

if TYPE_CHECKING:
    from headcount.protocol.codec import Raw


def phase_as_json(phase: Phase) -> dict[str, object]:
    return asdict(phase)


def phase_from_json(raw: Raw, roster: Raw | None = None) -> Phase:
    """Return the run. `roster` has the crew if an earlier version opened the run; then `raw` has none."""
    crew = raw.get("crew", roster or {})
    reviewers = tuple((role, name) for role, name in crew.get("reviewers", ()))
    return build(
        Phase, raw, state=State(raw["state"]), gates=build(Gates, raw["gates"]),
        crew=build(Crew, crew, reviewers=reviewers),
        tasks={name: _task(task) for name, task in raw["tasks"].items()},
        results={gate: build(GateResult, result) for gate, result in raw["results"].items()},
    )  # fmt: skip


def _task(raw: Raw) -> Task:
    aim = raw.get("aim")
    seats = tuple(build(Seat, seat, presence=Presence(seat["presence"])) for seat in raw["seats"])
    return build(Task, raw, state=TaskState(raw["state"]), aim=TaskState(aim) if aim else None, seats=seats)
