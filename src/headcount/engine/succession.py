"""Cycling: a member is stood down, and its next generation starts in the same workspace, with the handover.

No handover, no cycle: the note, the wish for a successor and the request to leave are one transaction. The
wish belongs to that request: whoever refuses, and is stood down for good later, has no successor.

The successor is ordered in the very transaction in which its predecessor is proved gone. A handover stays
open until a successor acts: one that is killed before it did anything leaves it to the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.engine.handoff import compose
from headcount.engine.writing import first_mail
from headcount.errors import Declined
from headcount.protocol import events as ev
from headcount.protocol.effects import Note
from headcount.protocol.member import State
from headcount.protocol.step import step
from headcount.protocol.team import why_not_stand_down

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headcount.domain.policy import Policy
    from headcount.engine.conduct import MakeStart
    from headcount.ports import Tx
    from headcount.protocol.effects import Effect
    from headcount.protocol.team import Team

REASON = "Cycling: your handover is stored"
CYCLE = "cycle"  # of an incarnation: the plan for its successor, and the request under which it leaves
HANDOVER = "handover"  # of a name: the note, and whether somebody has acted on it


def store_handover(tx: Tx, team: Team, key: str, remarks: str = "") -> str:
    """The note for its successor, composed from the journal. Raises when nobody could be started with it."""
    member = team.members[key]
    if tx.fact(team.id, key, "plan") is None:
        raise Declined(f"{key} cannot be cycled", "how it was planned is not known", code="no-plan")
    kind = "witness_cycle" if member.role == "witness" else "member_cycle"
    _, note = compose(tx, team, remarks, (), kind)
    tx.put_fact(team.id, member.name, HANDOVER, {"note": note, "open": True, "from": key})
    tx.note(team.id, [Note("handover", key, {"remarks": remarks})])
    return note


def wish_successor(tx: Tx, team: Team, key: str, by: str) -> None:
    """In the transaction of the request, after it was heard: it may have joined another."""
    plan, request = tx.fact(team.id, key, "plan"), team.members[key].request
    tx.put_fact(team.id, key, CYCLE, {"plan": plan, "by": by, "request": request})


def grown_old(tx: Tx, team: Team, keys: Iterable[str]) -> list[ev.StandDown]:
    """Requests for those who are to be cycled by their age: at work, in no task, and not about to leave."""
    requests = []
    for key in keys:
        member = team.members[key]
        free = member.state is State.RUNNING and member.request is None and member.task is None
        if free and why_not_stand_down(team, (member.name,)) is None and tx.fact(team.id, key, "plan"):
            store_handover(tx, team, key)
            requests.append(ev.StandDown(f"{key}-age", (member.name,), REASON, by="witness"))
    return requests


def succeed(tx: Tx, team: Team, effects: list[Effect], policy: Policy, make_start: MakeStart) -> Team:
    """Order the successors of those who are gone as of now."""
    for note in [e for e in effects if isinstance(e, Note) and e.kind == "gone"]:
        wish = tx.fact(team.id, note.about, CYCLE)
        if wish is not None and wish["request"] == team.members[note.about].request:
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
    workspace = tx.fact(team.id, key, "workspace")
    if workspace is not None:
        tx.put_fact(team.id, successor.key, "workspace", workspace)
    effects.append(first_mail(successor, plan["prompt"]))
    return team


def with_handover(prompt: str, note: str | None) -> str:
    return f"{prompt}\n\n# Handover from your predecessor\n\n{note}" if note else prompt


def open_handover(tx: Tx, team_id: str, name: str) -> str | None:
    handover = tx.fact(team_id, name, HANDOVER)
    return str(handover["note"]) if handover and handover["open"] else None


def acted(tx: Tx, team: Team, said: Iterable[ev.Event]) -> None:
    """Whoever says anything after a handover that was not its own has acted on it (D15)."""
    for event in said:
        key = getattr(event, "key", None)
        if key is None:
            continue
        name = key.partition("#")[0]
        handover = tx.fact(team.id, name, HANDOVER)
        if handover and handover["open"] and handover["from"] != key:
            tx.put_fact(team.id, name, HANDOVER, {**handover, "open": False, "acted": key})
            tx.note(team.id, [Note("handover_acted", key, {"from": handover["from"]})])
