"""Everything there is about a team, as values for the archive."""

from __future__ import annotations

import time
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from headcount.domain import templates
from headcount.engine import receipt
from headcount.engine.delivery import deliver
from headcount.ports import Mail

if TYPE_CHECKING:
    from headcount.ports import Entry, Tx
    from headcount.protocol.team import Team

_FACTS = ("workspace", "findings", "proof", "salvage")


def compose_receipt(tx: Tx, team: Team) -> dict[str, Any]:
    facts = {name: tx.facts(team.id, name) for name in _FACTS}
    unread = tx.inbox(team.id, None, unread=True)
    return receipt.compose(team, tx.journal(team.id), facts, tx.tasks(team.id), unread)


def tell_complete(tx: Tx, team: Team) -> None:
    """The witness tells the lead, once, that everyone is gone; before the archive, so that it is in it."""
    subject, body = templates.swarm_complete(team.name, [(m.name, m.outcome) for m in team.members.values()])
    deliver(tx, Mail(f"{team.id}-complete", team.id, "witness", "lead", subject, body, sent_at=time.time()))


def export(tx: Tx, team: Team) -> dict[str, Any]:
    """File name to content: JSON, or a list of lines. Unread mail and open tasks are in it whole (C1)."""
    return {
        "receipt.json": compose_receipt(tx, team),
        "journal.jsonl": [_shallow(entry) for entry in tx.journal(team.id)],
        "mail.jsonl": [mail.as_dict() for mail in tx.inbox(team.id, None)],
        "tasks.json": [task.as_dict() for task in tx.tasks(team.id)],
    }


def _shallow(entry: Entry) -> dict[str, Any]:
    """`asdict` would copy every value in it; of a large team there are tens of thousands of lines."""
    return {field.name: getattr(entry, field.name) for field in fields(entry)}
