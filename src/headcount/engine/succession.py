"""Handovers: what a cycled member leaves to its next generation, beside the workspace.

No handover, no cycle: the note and the request to leave are one transaction. The rules order the successor
(`protocol/run.py`). A handover stays open until a successor acts: one that is killed before it did anything
leaves it to the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.engine.handoff import compose
from headcount.protocol.effects import Note
from headcount.protocol.task import WORKER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headcount.ports import Tx
    from headcount.protocol.events import Event
    from headcount.protocol.member import Member
    from headcount.protocol.team import Team

HANDOVER = "handover"  # of a desk: the note, and whether a successor has acted on it
_KINDS = {"witness": "witness_cycle", "lead": "lead_cycle"}


def store_handover(tx: Tx, team: Team, key: str, remarks: str = "") -> str:
    """The note for its successor, composed from the journal."""
    member = team.members[key]
    _, note = compose(tx, team, remarks, (), kind_of(member), member)
    put_handover(tx, team, member, note)
    tx.note(team.id, [Note("handover", key, {"remarks": remarks})])
    return note


def kind_of(member: Member) -> str:
    """What the note says that it is."""
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
