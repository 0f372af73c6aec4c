"""Cycling: a member is stood down, and its next generation starts in the same workspace, with the handover.

No handover, no cycle: the note, the wish for a successor and the request to leave are one transaction. The
wish belongs to that request: whoever refuses, and is stood down for good later, has no successor.

The successor is ordered in the very transaction in which its predecessor is proved gone: here, or, where a
task of a run has a seat for it, by the rules of that task, which may not want anybody there any more. A
handover stays open until a successor acts: one that is killed before it did anything leaves it to the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.engine.handoff import compose
from headcount.engine.writing import first_mail
from headcount.protocol import events as ev
from headcount.protocol.effects import Note
from headcount.protocol.step import step
from headcount.protocol.task import WORKER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headcount.domain.policy import Policy
    from headcount.engine.conduct import MakeStart
    from headcount.ports import Tx
    from headcount.protocol.effects import Effect
    from headcount.protocol.member import Member
    from headcount.protocol.team import Team

CYCLE = "cycle"  # of an incarnation: the plan for its successor, and the request under which it leaves
HANDOVER = "handover"  # of a desk: the note, and whether somebody has acted on it
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


def wish_successor(tx: Tx, team: Team, key: str, by: str) -> None:
    """In the transaction of the request, after it was heard: it may have joined another.

    Whoever sits in a task of a run has no plan of its own: its successor is planned with the task.
    """
    plan, request = tx.fact(team.id, key, "plan"), team.members[key].request
    tx.put_fact(team.id, key, CYCLE, {"plan": plan, "by": by, "request": request})


def is_cycled(tx: Tx, team: Team, member: Member) -> bool:
    """Whether it leaves, or has left, in order to be followed."""
    wish = tx.fact(team.id, member.key, CYCLE)
    return wish is not None and wish["request"] is not None and wish["request"] == member.request


def succeed(tx: Tx, team: Team, effects: list[Effect], policy: Policy, make_start: MakeStart) -> Team:
    """Order the successors of those who are gone as of now."""
    for note in [e for e in effects if isinstance(e, Note) and e.kind == "gone"]:
        wish = tx.fact(team.id, note.about, CYCLE)
        if wish and wish["plan"] and is_cycled(tx, team, team.members[note.about]):
            team = _order(tx, team, note.about, wish, effects, policy, make_start)
    return team


def _order(
    tx: Tx,
    team: Team,
    key: str,
    wish: Mapping[str, Any],
    effects: list[Effect],
    policy: Policy,
    make_start: MakeStart,
) -> Team:
    last = team.members[key]
    team, more = step(team, ev.Spawn(last.name, last.role, last.task, by=str(wish["by"])), policy)
    effects.extend(more)
    successor = team.latest(last.name)
    if successor is None or successor.key == key:
        return team  # refused: the team is being stood down; the note in the journal says so
    plan = {
        **wish["plan"],
        "prompt": with_handover(str(wish["plan"]["prompt"]), open_handover(tx, team.id, last.name)),
    }
    tx.put_fact(team.id, successor.key, "plan", wish["plan"])
    tx.put_fact(team.id, successor.key, "start", make_start(team, successor, plan))
    take_workspace(tx, team, key, successor)
    effects.append(first_mail(successor, plan["prompt"]))
    return team


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


def acted(tx: Tx, team: Team, said: Iterable[ev.Event]) -> None:
    """Whoever says anything after a handover that was not its own has acted on it (D15)."""
    for event in said:
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
