"""What is written down for people when a team cannot go on as it should."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.protocol.effects import Note

if TYPE_CHECKING:
    from headcount.ports import Tx
    from headcount.protocol.team import Team

BROKEN = "broken"  # a fact about a team with which a bug of ours does not let us go on: `error`, or nothing


def say_broken(tx: Tx, name: str, error: Exception) -> None:
    """For `status`: nobody reads a log who does not know that there is something in it."""
    team = tx.load_team(name)
    if team is not None and tx.fact(team.id, "", BROKEN) != {"error": repr(error)}:
        tx.put_fact(team.id, "", BROKEN, {"error": repr(error)})


def say_mended(tx: Tx, team: Team) -> None:
    if tx.fact(team.id, "", BROKEN):
        tx.put_fact(team.id, "", BROKEN, {})


def note_put_back(tx: Tx, name: str) -> None:
    """In the journal of a team whose state had been removed."""
    team = tx.load_team(name)
    if team is not None:
        tx.note(team.id, [Note("state_put_back", "", {})])
