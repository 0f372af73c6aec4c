"""Putting mail where it belongs, and taking back what a gone member had: for the engine and the use cases.

On the path of every member command: imports next to nothing.
"""

from __future__ import annotations

from headcount.domain.names import LEAD
from headcount.errors import UsageError
from headcount.protocol import mailboxes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headcount.domain.records import Mail, TeamCard
    from headcount.ports import Tx


def deliver(tx: Tx, mail: Mail) -> tuple[str, str]:
    """Accept a message for an address; its id, and the mailbox that took it.

    Mail for a gone incarnation goes to the lead, mail for a closed team to the box "dead-letters";
    `bounced_from` names the mailbox that it was sent to. The same id again changes nothing.
    """
    team = _team(tx, mail.team)
    mailboxes.check_mail(mail, team)
    if mail.id and (known := tx.find_mail(mail.team, mail.id)) is not None:
        return mail.id, known.to
    meant_for = find_box(tx, team, mail.to)
    sealed = meant_for not in mailboxes.OFFICES and tx.is_sealed(team.id, meant_for)
    box, bounced_from = mailboxes.route(meant_for, closed=team.closed, sealed=sealed)
    return tx.post(mail.changed(to=box, bounced_from=bounced_from)), box


def find_box(tx: Tx, team: TeamCard, to: str) -> str:
    """The mailbox behind an address; an unknown one is an error."""
    exact = tx.member_card(team.id, to) if "#" in to else None
    if exact is not None:
        return exact.key
    if to in mailboxes.OFFICES:
        return to
    keys = [member.key for member in tx.member_cards(team.id)]
    return mailboxes.find_box(to, team.name, keys, effect="nothing was sent")


def seal_mailbox(tx: Tx, team_id: str, key: str) -> int:
    """Close a gone incarnation's mailbox. Return how many unread messages went to the lead instead (C4)."""
    tx.seal(team_id, key)
    return tx.redirect_mail(team_id, key, LEAD, mailboxes.KEPT_WHEN_SEALED)


def release_tasks(tx: Tx, team_id: str, key: str, handed_in: bool = False) -> list[str]:
    """Make the tasks of a gone owner available again (D8); those in review only if `handed_in`. Their ids."""
    released = []
    for task in tx.tasks(team_id, owner=key):
        if task.status == "in_progress" or (handed_in and task.status == "in_review"):
            tx.save_task(task.changed(status="pending", owner=None))
            released.append(task.id)
    return released


def _team(tx: Tx, team_id: str) -> TeamCard:
    team = tx.team_card(team_id)
    if team is None:
        raise UsageError(f"There is no team {team_id}", code="unknown-team")
    return team
