"""End the open asks of a member that is stood down: the client gets a no, and nobody has to answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.domain.asks import MOOT, OPEN
from headcount.protocol.effects import Note
from headcount.protocol.member import State

if TYPE_CHECKING:
    from headcount.ports import Tx

STANDING_DOWN = "it is being stood down: answer that request first, and leave the rest"
# A client that waits for an answer could not answer the request to stand down, and after that state what it
# would do comes too late.
TOO_LATE = frozenset((State.ASKED, State.SALVAGING, State.STOPPING, State.KILLING, State.GONE))


def moot_asks(tx: Tx, team_id: str, key: str, reason: str = STANDING_DOWN) -> list[Note]:
    """Return the journal entries of the asks that end with this."""
    return [
        Note("ask_moot", key, {"ask": ask.id, "title": ask.title, "reason": reason})
        for ask in tx.asks(team_id, state=OPEN)
        if ask.key == key and tx.answer_ask(team_id, ask.id, MOOT, "headcount", reason)
    ]


def answers_channel(team_id: str, key: str) -> str:
    """Return the channel that wakes the processes of a member that wait for an answer."""
    return f"{team_id}/{key}/asks"
