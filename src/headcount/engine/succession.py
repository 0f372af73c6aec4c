"""Cycling: a member is stood down, and its next generation starts in the same workspace, with the handover.

No handover, no cycle: the wish to cycle is stored together with the note, before anyone is asked to leave.
The successor is ordered in the very transaction in which its predecessor is proved gone. A handover stays
open until a successor acts: one that is killed before it did anything leaves it to the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.engine.writing import first_mail
from headcount.protocol import events as ev
from headcount.protocol.effects import Note
from headcount.protocol.step import step

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headcount.domain.policy import Policy
    from headcount.engine.conduct import MakeStart
    from headcount.ports import Tx
    from headcount.protocol.effects import Effect
    from headcount.protocol.team import Team

CYCLE = "cycle"  # of an incarnation: the plan for its successor
HANDOVER = "handover"  # of a name: the note, and whether somebody has acted on it


def succeed(tx: Tx, team: Team, effects: list[Effect], policy: Policy, make_start: MakeStart) -> Team:
    """Order the successors of those who are gone as of now."""
    for note in [e for e in effects if isinstance(e, Note) and e.kind == "gone"]:
        wish = tx.fact(team.id, note.about, CYCLE)
        if wish is not None:
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
