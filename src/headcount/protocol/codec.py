"""Convert values of the protocol to JSON and back, for the store."""

# A later version must still read what this one wrote. A missing field takes its default, and an unknown
# field is dropped. A state directory therefore survives an upgrade and a downgrade of headcount.
#
# Enums are read explicitly. An unknown enum value is an error, because a rule could not interpret it.

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, TypeVar

from headcount.protocol.member import Activity, Answer, Member, State
from headcount.protocol.team import Escalation, EscalationState, Request, Status, Team

if TYPE_CHECKING:
    from headcount.protocol.effects import Act
    from headcount.protocol.events import Event
    from headcount.protocol.phase import Phase
    from headcount.protocol.task import Task

T = TypeVar("T")
Raw = Mapping[str, Any]  # as JSON has it

# Every step builds every member of a team again. Reading the field names took most of that time.
_FIELD_NAMES: dict[type, tuple[str, ...]] = {}


def dump_member(member: Member) -> str:
    return _dumps(member)


def load_member(text: str) -> Member:
    return _load_member(json.loads(text))


def dump_team(team: Team) -> str:
    """Return the team without its members and its run, which are separate rows."""
    return _dumps({**_fields_of(team), "members": {}, "run": None})


def load_team(text: str, members: Mapping[str, Member]) -> Team:
    raw = json.loads(text)
    raw["members"] = members
    raw["status"] = Status(raw["status"])
    raw["requests"] = {key: _load_request(value) for key, value in raw["requests"].items()}
    raw["last_request"] = _load_request(raw["last_request"]) if raw.get("last_request") else None
    raw["escalations"] = {key: _load_escalation(value) for key, value in raw["escalations"].items()}
    raw["run"] = None
    return build(Team, raw)


def dump_event(event: Event) -> tuple[str, str]:
    return type(event).__name__, _dumps(event)


def load_event(kind: str, text: str) -> Event:
    from headcount.protocol.events import BY_NAME

    return build(BY_NAME[kind], json.loads(text))


def dump_act(act: Act) -> str:
    return _dumps({"kind": str(act.kind), "about": act.about, "epoch": act.epoch, "data": act.data})


def load_act(text: str) -> Act:
    from headcount.protocol.effects import Act, ActKind

    raw = json.loads(text)
    return Act(ActKind(raw["kind"]), raw["about"], raw["epoch"], raw["data"])


def _load_member(raw: Raw) -> Member:
    answer = raw.get("answer")
    return build(
        Member, raw, state=State(raw["state"]), activity=Activity(raw.get("activity", Activity.WORKING)),
        answer=Answer(answer) if answer else None,
    )  # fmt: skip


def _load_escalation(raw: Raw) -> Escalation:
    return build(Escalation, raw, state=EscalationState(raw.get("state", EscalationState.OPEN)))


def _load_request(raw: Raw) -> Request:
    taken = tuple(_load_request(narrower) for narrower in raw.get("taken_over", ()))
    rejected = tuple((name, reason) for name, reason in raw.get("rejected_by", ()))
    return build(Request, raw, taken_over=taken, rejected_by=rejected)


# --- a run ---------------------------------------------------------------------------------------------
#
# It has its own row in the store, next to the team, because only teams with tasks have one.


def phase_as_json(phase: Phase) -> dict[str, object]:
    return asdict(phase)


def phase_from_json(raw: Raw, roster: Raw | None = None) -> Phase:
    """Return the run. `roster` has the crew if an earlier version opened the run; then `raw` has none."""
    # A team without a run pays nothing for these.
    from headcount.domain.settings import Gates
    from headcount.protocol.phase import Crew, GateResult, Phase
    from headcount.protocol.phase import State as PhaseState

    crew = raw.get("crew", roster or {})
    reviewers = tuple((role, name) for role, name in crew.get("reviewers", ()))
    accounts = tuple((name, account) for name, account in crew.get("accounts", ()))
    return build(
        Phase, raw, state=PhaseState(raw["state"]), gates=build(Gates, raw["gates"]),
        crew=build(Crew, crew, reviewers=reviewers, accounts=accounts),
        tasks={name: _load_task(task) for name, task in raw["tasks"].items()},
        results={gate: build(GateResult, result) for gate, result in raw["results"].items()},
    )  # fmt: skip


def _load_task(raw: Raw) -> Task:
    from headcount.protocol.task import Presence, Seat, Task
    from headcount.protocol.task import State as TaskState

    aim = raw.get("aim")
    seats = tuple(build(Seat, seat, presence=Presence(seat["presence"])) for seat in raw["seats"])
    return build(Task, raw, state=TaskState(raw["state"]), aim=TaskState(aim) if aim else None, seats=seats)


# --- every value -----------------------------------------------------------------------------------------


def build(cls: type[T], raw: Raw, **read: object) -> T:
    """Build a value. Lists become tuples, so that values are immutable and equal to what was written."""
    given = {name: raw[name] for name in _field_names(cls) if name in raw}
    return cls(**{**{name: _as_tuple(value) for name, value in given.items()}, **read})


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value


def _field_names(cls: type) -> tuple[str, ...]:
    names = _FIELD_NAMES.get(cls)
    if names is None:
        names = _FIELD_NAMES[cls] = tuple(field.name for field in fields(cls))
    return names


def _fields_of(value: object) -> dict[str, object]:
    return {name: getattr(value, name) for name in _field_names(type(value))}


_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_fields_of).encode
