"""One command under way: who calls, for which team, and how it answers."""

from __future__ import annotations

import os
import sys
import time

from headcount.errors import UsageError
from headcount.store import identity, teams
from headcount.store.database import Transaction
from headcount.store.jsontext import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    import apsw

    from headcount.cli.member.words import Words
    from headcount.errors import HeadcountError
    from headcount.store.teams import Card


class Call:
    def __init__(self, home: str, db: apsw.Connection, words: Words) -> None:
        self.home = home
        self.db = db
        self.words = words
        self.caller = identity.who_calls(db, os.environ, home)
        self._team_id = self.caller.team

    def team(self) -> Card:
        """Read inside each transaction: its status may have changed since the last one."""
        if not self._team_id:
            self._team_id = _pick_team(self.db, self.words.get("--team")).id
        return teams.card(self.db, self._team_id)

    def write(self) -> Transaction:
        return Transaction(self.db, write=True)

    def read(self) -> Transaction:
        return Transaction(self.db, write=False)

    @property
    def bells(self) -> str:
        return f"{self.home}/run"

    def ring(self, channels: Iterable[str]) -> None:
        from headcount.store import doorbell

        doorbell.ring(self.bells, channels)

    def answer(self, as_json: object, text: str) -> None:
        """The answer on standard output, out of our hands when this returns. What nobody took is not read."""
        if sys.stdout is None:
            raise OSError(9, "standard output is closed")
        sys.stdout.write(dumps(as_json) + "\n" if self.words.has("--json") else text.rstrip("\n") + "\n")
        sys.stdout.flush()

    def audit(self, action: str, error: HeadcountError) -> None:
        from headcount.store import journal

        with self.write() as db:
            journal.refused(db, self._team_id, time.time(), self.caller.key, action, error.code, error.why)


def _pick_team(db: apsw.Connection, name: str | None) -> Card:
    """For the operator: the named team, or the only one."""
    if name:
        card = teams.card_by_name(db, name)
        if card is None:
            from headcount.store import rules

            raise rules.unknown("team", name, [card.name for card in teams.open_cards(db)])
        return card
    cards = teams.open_cards(db)
    if len(cards) == 1:
        return cards[0]
    raise UsageError(
        "Which team?" if cards else "There is no open team",
        f"{', '.join(card.name for card in cards)} are open"
        if cards
        else "none was started here, or all are closed",
        ("Name it with --team TEAM",) if cards else ("Start one with `headcount up FILE`",),
        code="which-team" if cards else "no-team",
    )
