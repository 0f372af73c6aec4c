"""Closed teams, by id, and the salvages that receipts name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.domain.findings import Salvage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headcount.app.app import App
    from headcount.ports import Tx


def find_receipts(app: App, team: str | None = None) -> list[Salvage]:
    """Of the teams in the order in which they were made, closed ones too."""
    with app.store.read() as tx:
        facts = [fact for team_id in _team_ids(tx, team) for fact in tx.facts(team_id, "salvage").values()]
    return [Salvage.from_dict(fact) for fact in facts]


def closed_ids(tx: Tx) -> list[str]:
    """Every generation of every team that is closed."""
    ids = list(_team_ids(tx, None))
    return [team_id for team_id in ids if (card := tx.team_card(team_id)) is not None and card.closed]


def _team_ids(tx: Tx, team: str | None) -> Iterator[str]:
    for name in tx.team_names(closed=True):
        last = tx.load_team(name) if team in (None, name) else None
        for generation in range(1, last.generation + 1 if last is not None else 1):
            yield f"{name}#{generation}"
