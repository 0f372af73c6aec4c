"""What closed teams leave in the store, and for how long."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headcount.app.app import App

KEEP_READ_MAIL_S = 30 * 86_400.0


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
