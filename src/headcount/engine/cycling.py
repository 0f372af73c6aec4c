"""Cycling: which member may be followed by its next generation, and the handover that it leaves.

The handover and the request to leave are one transaction. The rules order the successor (`protocol/run.py`).
A handover stays open until a successor acts on it: if one is killed before that, the next one gets it.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from headcount.engine.handoff_note import compose
from headcount.protocol import events as ev
from headcount.protocol.effects import Note
from headcount.protocol.member import Activity, State
from headcount.protocol.task import WORKER
from headcount.protocol.team import limited_by, why_not_stand_down

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headcount.ports import Tx
    from headcount.protocol.events import Event
    from headcount.protocol.member import Member
    from headcount.protocol.task import Task
    from headcount.protocol.team import Team

_KINDS = {"witness": "witness_cycle", "lead": "lead_cycle"}
HANDOVER = "handover"  # of a desk: the note, and whether a successor has acted on it
REASON = "Cycling: your handover is stored"


def why_not_cycle(tx: Tx, team: Team, key: str) -> tuple[str, str] | None:
    """Code and reason why this incarnation cannot be cycled now, or None."""
    member = team.members[key]
    if not member.live:
        return "gone", f"{key} is gone, and nobody is left to cycle"
    if team.draining:
        return "draining", f"{team.name} is being stood down ({team.status}): nobody would follow"
    task = _task_of(team, member)
    if task is not None and not task.staffed:
        return "task-ends", f"task {task.id} is {task.state}, and wants nobody to follow"
    if task is None and tx.fact(team.id, key, "plan") is None:
        return "no-plan", "how it was planned is not known"
    return why_not_stand_down(team, (member.name,), cycling=True)


def _task_of(team: Team, member: Member) -> Task | None:
    """The task of a run that has a seat for it."""
    task = team.run.tasks.get(member.task or "") if team.run is not None else None
    return task if task is not None and task.seat(member.key) is not None else None


def cycling(request_id: str, name: str, by: str) -> ev.StandDown:
    return ev.StandDown(request_id, (name,), REASON, by=by, cycling=True)


def grown_old(tx: Tx, team: Team, keys: Iterable[str]) -> dict[str, ev.StandDown]:
    """By incarnation, requests for those who are to be cycled by their age: at work, not about to leave.

    None whose account is at a usage limit: its next generation could not be started.
    """
    requests: dict[str, ev.StandDown] = {}
    for key in keys:
        member = team.members[key]
        at_work = member.state is State.RUNNING and member.request is None and member.activity not in _HELD
        if at_work and limited_by(team, member.account) is None and why_not_cycle(tx, team, key) is None:
            store_handover(tx, team, key)
            requests[key] = cycling(str(uuid.uuid4()), member.name, "witness")
    return requests


_HELD = (Activity.PAUSED, Activity.PARKED, Activity.LIMITED)  # by somebody, or by its client


# --- handovers ---------------------------------------------------------------------------------------------


def store_handover(tx: Tx, team: Team, key: str, remarks: str = "") -> str:
    """The note for its successor, composed from the journal."""
    member = team.members[key]
    _, note = compose(tx, team, remarks, (), kind_of(member), member)
    put_handover(tx, team, member, note)
    tx.note(team.id, [Note("handover", key, {"remarks": remarks})])
    return note


def kind_of(member: Member) -> str:
    """Return the kind of handover that the note names."""
    return _KINDS.get(member.role, "member_cycle")


def put_handover(tx: Tx, team: Team, member: Member, note: str) -> None:
    seated = member.task is not None and tx.fact(team.id, member.key, "plan") is None
    place = seat_desk(member.task or "", member.role, member.name) if seated else member.name
    tx.put_fact(team.id, place, HANDOVER, {"note": note, "open": True, "from": member.key})


def seat_desk(task: str, role: str, name: str) -> str:
    """Where a handover lies in a task of a run: its next worker may have another name, and its last one may
    be given another task. Elsewhere it lies under the member's name."""
    return f"{task}/{'' if role == WORKER else name}"


def take_workspace(tx: Tx, team: Team, key: str, successor: Member) -> None:
    """Branch, commits and what is not committed: all of it stays where it is."""
    workspace = tx.fact(team.id, key, "workspace")
    if workspace is not None:
        tx.put_fact(team.id, successor.key, "workspace", workspace)


def with_handover(prompt: str, note: str | None) -> str:
    return f"{prompt}\n\n# Handover from your predecessor\n\n{note}" if note else prompt


def open_handover(tx: Tx, team_id: str, desk: str) -> str | None:
    handover = tx.fact(team_id, desk, HANDOVER)
    return str(handover["note"]) if handover and handover["open"] else None


def note_handover_acted(tx: Tx, team: Team, inputs: Iterable[Event]) -> None:
    """A member that reports anything after a handover from another has acted on it (D15)."""
    for event in inputs:
        key = getattr(event, "key", None)
        if key is None:
            continue
        for desk in _desks(team, key):
            handover = tx.fact(team.id, desk, HANDOVER)
            if handover and handover["open"] and handover["from"] != key:
                tx.put_fact(team.id, desk, HANDOVER, {**handover, "open": False, "acted": key})
                tx.note(team.id, [Note("handover_acted", key, {"from": handover["from"]})])


def _desks(team: Team, key: str) -> tuple[str, ...]:
    name, member = key.partition("#")[0], team.members.get(key)
    if member is None or member.task is None:
        return (name,)
    return name, seat_desk(member.task, member.role, name)
