"""What closed teams leave: the salvages that their receipts name, and their mail, for a while."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from headcount.domain.findings import Salvage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headcount.app.app import App
    from headcount.ports import Tx

KEEP_READ_MAIL_S = 30 * 86_400.0


def find_receipts(app: App, team: str | None = None) -> list[Salvage]:
    """Of the teams in the order in which they were made, closed ones too."""
    with app.store.read() as tx:
        facts = [fact for team_id in _team_ids(tx, team) for fact in tx.facts(team_id, "salvage").values()]
    return [Salvage.from_dict(fact) for fact in facts]


def _team_ids(tx: Tx, team: str | None) -> Iterator[str]:
    for name in tx.team_names(closed=True):
        last = tx.load_team(name) if team in (None, name) else None
        for generation in range(1, last.generation + 1 if last is not None else 1):
            yield f"{name}#{generation}"


def forget_old_mail(app: App) -> int:
    """Delete mail of closed teams that was read long ago and is in the archive of its team; how many."""
    with app.store.read() as tx:
        closed = [name for name in tx.team_names(closed=True) if name not in tx.team_names()]
        archived = []
        for name in closed:
            card = tx.team_card(name)
            place = (tx.fact(card.id, "", "archive") or {}).get("path", "") if card is not None else ""
            if card is not None and os.path.isfile(f"{place}/mail.jsonl"):
                archived.append(card)
    count = 0
    for card in archived:
        with app.store.write(team=card.name) as tx:
            count += tx.forget_mail(card.id, time.time() - KEEP_READ_MAIL_S)
    return count
