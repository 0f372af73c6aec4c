"""What was saved of members that worked where there is no git: tar files, as the store knows of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.domain.findings import Archive, Salvage
from headcount.workspace.port import ARCHIVED, read_archive

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headcount.app.app import App
    from headcount.ports import Tx


def find_archives(app: App, team: str | None = None) -> list[tuple[Salvage, Archive]]:
    """Of the teams in the order in which they were made, closed ones too."""
    with app.store.read() as tx:
        facts = [fact for team_id in _team_ids(tx, team) for fact in tx.facts(team_id, "salvage").values()]
    saved = [Salvage.from_dict(fact) for fact in facts if fact["ref"].startswith(ARCHIVED)]
    return [(one, read_archive(one)) for one in saved]


def _team_ids(tx: Tx, team: str | None) -> Iterator[str]:
    for name in tx.team_names(closed=True):
        last = tx.load_team(name) if team in (None, name) else None
        for generation in range(1, last.generation + 1 if last is not None else 1):
            yield f"{name}#{generation}"
