"""The receipt and the rest of the archive, composed from the journal and the facts, never from memory.

The receipt says what stood in each workspace, where it is now, how each process ended and who answered what.
"""

from __future__ import annotations

import time
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from headcount.domain import templates
from headcount.engine.delivery import deliver
from headcount.engine.hub_copies import FACT as HUB_FACT
from headcount.ports import Mail

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headcount.ports import Entry, Task, Tx
    from headcount.protocol.member import Member
    from headcount.protocol.team import Team

Facts = dict[str, "Mapping[str, Any]"]

_BY_MARK_ONLY = "by mark only"  # `runtime.proof`
_OLD_DOUBT = "its keeper was killed, and what it started without its environment may be alive"
_SAID = (
    "answered",
    "decided",
    "found_dirty",
    "verified_clean",
    "escalated",
    "exited",
    "failed",
    "gone",
    "salvaged",
    "late",
)


def compose(
    team: Team,
    journal: Iterable[Entry],
    facts: Mapping[str, Facts],
    tasks: Iterable[Task],
    unread: Iterable[Mail],
) -> dict[str, Any]:
    """`facts` by name, then by incarnation (`workspace`, `findings`, `proof`) or by ref (`salvage`)."""
    # While it is being archived the request is still open; later it is the last one.
    request = team.team_request() or team.last_request
    said: dict[str, list[dict[str, Any]]] = {}
    for entry in journal:
        if entry.kind in _SAID and entry.about:
            said.setdefault(entry.about, []).append({"at": entry.at, "what": entry.kind, **entry.data})
    return {
        "team": team.name,
        "generation": team.generation,
        "request": request.id if request else None,
        "members": [_member(m, said.get(m.key, []), facts) for m in team.members.values()],
        "tasks": [{"id": t.id, "subject": t.subject, "status": t.status, "owner": t.owner} for t in tasks],
        "unread_mail": [{"id": m.id, "to": m.to, "from": m.sender, "subject": m.subject} for m in unread],
        "warnings": [
            *team.warnings,
            *unproved(team.members.values(), facts.get("proof", {})).values(),
            *saved_here(team.members.values(), facts.get(HUB_FACT, {})),
        ],
    }


def saved_here(members: Iterable[Member], copies: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A sentence for each member whose work the hub of its team does not have."""
    hosts = ((m.name, copies.get(m.key, {}).get("only_on")) for m in members)
    return [f"{name}: saved on {host} only; the hub does not have it" for name, host in hosts if host]


def unproved(members: Iterable[Member], proofs: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The members that are gone without a full proof, by key, each with a sentence about it."""
    doubts = {m.key: (m, doubt_of(proofs[m.key])) for m in members if m.key in proofs}
    return {
        key: f"{member.name} was proved gone {proofs[key]['method']}: {doubt}"
        for key, (member, doubt) in doubts.items()
        if doubt and proofs[key].get("empty", True)
    }


def doubt_of(proof: Mapping[str, Any]) -> str:
    """Why this is not a full proof; "" when it is one. An earlier version wrote the method alone."""
    return str(proof.get("doubt", _OLD_DOUBT if proof.get("method") == _BY_MARK_ONLY else ""))


def _member(member: Member, said: list[dict[str, Any]], facts: Mapping[str, Facts]) -> dict[str, Any]:
    def fact(name: str) -> Mapping[str, Any] | None:
        return facts.get(name, {}).get(member.key)

    saved = facts.get("salvage", {})
    return {
        "name": member.name,
        "generation": member.generation,
        "outcome": member.outcome,
        "cause": member.cause or None,
        "answer": member.answer,
        "reason": member.answer_reason,
        "attempts": member.attempts,
        "workspace": fact("workspace"),
        "findings": fact("findings"),
        "salvage": [saved[ref] for ref in member.refs if ref in saved],
        "hub": fact(HUB_FACT),
        "processes": fact("proof"),
        "history": said,
    }


# --- the archive ------------------------------------------------------------------------------------------

_FACTS_OF_A_RECEIPT = ("workspace", "findings", "proof", "salvage", HUB_FACT)


def _compose_receipt(tx: Tx, team: Team, journal: Iterable[Entry]) -> dict[str, Any]:
    facts = {name: tx.facts(team.id, name) for name in _FACTS_OF_A_RECEIPT}
    unread = tx.inbox(team.id, None, unread=True)
    return compose(team, journal, facts, tx.tasks(team.id), unread)


def tell_complete(tx: Tx, team: Team) -> None:
    """Send the lead, once, the witness's mail that all members are gone. The archive then has it."""
    subject, body = templates.swarm_complete(team.name, [(m.name, m.outcome) for m in team.members.values()])
    deliver(tx, Mail(f"{team.id}-complete", team.id, "witness", "lead", subject, body, sent_at=time.time()))


def export(tx: Tx, team: Team) -> dict[str, Any]:
    """Return each file of the archive: JSON, or a list of lines; unread mail and open tasks too (C1)."""
    journal = tx.journal(team.id)
    return {
        "receipt.json": _compose_receipt(tx, team, journal),
        "journal.jsonl": [_shallow(entry) for entry in journal],
        "mail.jsonl": [mail.as_dict() for mail in tx.inbox(team.id, None)],
        "tasks.json": [task.as_dict() for task in tx.tasks(team.id)],
    }


def _shallow(entry: Entry) -> dict[str, Any]:
    """Return its fields. `asdict` would copy every value, and a large team has tens of thousands of lines."""
    return {field.name: getattr(entry, field.name) for field in fields(entry)}
