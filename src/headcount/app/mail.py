"""Mail: sending it, reading it, waiting for it.

On the path of every member command: imports next to nothing.
"""

from __future__ import annotations

import os
import time

from headcount.domain.display import utc
from headcount.domain.input_checks import unknown
from headcount.domain.names import IN_PROMPT, LEAD, OPERATOR
from headcount.domain.records import Mail
from headcount.engine.delivery import deliver, find_box
from headcount.errors import Declined
from headcount.protocol import authority, mailboxes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from headcount.app.session import Session
    from headcount.domain.records import TeamCard
    from headcount.ports import Tx

# How long a waiting command trusts its doorbell before it reads the mailbox itself.
_LOOK_AGAIN_S = 5.0


class Sent:
    """What became of a message: for each recipient the id of its copy, and the mailbox that took it."""

    __slots__ = ("boxes", "ids", "meant_for", "team")

    def __init__(self, team: TeamCard, meant_for: list[str]) -> None:
        self.team = team
        self.meant_for = meant_for
        self.ids: list[str] = []
        self.boxes: list[str] = []

    @property
    def delivered(self) -> bool:
        """False when a recipient is gone (the lead has it) or the team is closed (a dead letter)."""
        return self.boxes == self.meant_for

    @property
    def channels(self) -> list[str]:
        return [mailboxes.channel(self.team.id, box) for box in self.boxes]

    @property
    def note(self) -> str:
        """Why it was not delivered."""
        if self.delivered:
            return ""
        if self.team.closed:
            return f"{self.team.name} is shut down, so it is kept as a dead letter"
        gone = next(meant for meant, box in zip(self.meant_for, self.boxes, strict=True) if meant != box)
        return f"{gone} is gone, so the message went to the lead"


# --- sending ---------------------------------------------------------------------------------------------


def send(
    session: Session, to: str, subject: str, body: str, team: str | None = None, priority: str = "normal"
) -> Sent:
    """Mail to one, or to every live member (`all`). Plain text never counts as an answer (A3)."""
    action = "broadcast" if to == mailboxes.ALL else "send"
    with session.write(action, team, appends=True) as (tx, card):
        sent = write_mail(tx, card, session, to, subject, body, priority=priority)
        rung = [*sent.channels, f"team/{card.name}", *_notify_of_question(tx, card, session, sent)]
    session.store.ring(rung)
    return sent


def _notify_of_question(tx: Tx, team: TeamCard, session: Session, sent: Sent) -> list[str]:
    """Order a notification if this is mail of a member to a person. Return the channels to ring."""
    if not session.caller.is_member or not {OPERATOR, LEAD}.intersection(sent.boxes):
        return []
    if not tx.notifies_of(team.id, "question"):
        return []
    if OPERATOR not in sent.boxes and any(m.role == LEAD and m.live for m in tx.member_cards(team.id)):
        return []
    from headcount.protocol.effects import Act, ActKind

    asked: dict[str, object] = {"question": sent.ids[0], "tag": sent.ids[0]}
    tx.add_acts(team.id, [Act(ActKind.NOTIFY, session.caller.who, 0, asked)])
    return ["engine"]


def write_mail(
    tx: Tx, team: TeamCard, session: Session, to: str, subject: str, body: str, **more: Any
) -> Sent:
    """Send in the caller's transaction. Nothing is sent unless every recipient may have it.

    A broadcast has an id for each recipient and one group (A7).
    """
    caller = session.caller
    subject = subject if subject.strip() else mailboxes.subject_from(body)
    sent = Sent(team, _recipients(tx, team, caller.sender, to))
    for box in sent.meant_for:
        _check_recipient(tx, team, caller.kind, caller.sender, box)
    if to == mailboxes.ALL:
        more = {**more, "type": "broadcast", "group": os.urandom(8).hex()}
    for box in sent.meant_for:
        mail_id, landed = deliver(tx, Mail("", team.id, caller.sender, box, subject, body, **more))
        sent.ids.append(mail_id)
        sent.boxes.append(landed)
    return sent


def _recipients(tx: Tx, team: TeamCard, sender: str, to: str) -> list[str]:
    if to != mailboxes.ALL:
        return [find_box(tx, team, to)]
    members = tx.member_cards(team.id)
    latest = {member.name: member.key for member in members}
    everyone = [
        m.key for m in members if m.live and m.key == latest[m.name] and sender not in (m.key, m.role)
    ]
    if not everyone:
        raise Declined("No message was sent", f"{team.name} has no live member", code="nobody-there")
    return everyone


def _check_recipient(tx: Tx, team: TeamCard, kind: str, sender: str, box: str) -> None:
    recipient = None if box in mailboxes.OFFICES else tx.member_card(team.id, box)
    if recipient is None:
        return
    mine = tx.member_card(team.id, sender) if "#" in sender else None
    # A member that was started for no task works with the members of every task.
    same_task = mine is None or None in (mine.task, recipient.task) or mine.task == recipient.task
    to = authority.CALLER_OF_ROLE.get(recipient.role, authority.WORKER)
    authority.check_recipient(kind, to, team.peer_mail, same_task, sender)


# --- reading ---------------------------------------------------------------------------------------------


def boxes_of(tx: Tx, session: Session, team: TeamCard) -> tuple[str, ...]:
    """The caller's mailboxes. The operator owns the lead's while no lead is there to read it."""
    if session.caller.is_member:
        return session.caller.boxes
    has_lead = any(m.role == LEAD and m.live for m in tx.member_cards(team.id))
    return (OPERATOR,) if has_lead else (OPERATOR, LEAD)


def inbox(
    session: Session, team: str | None = None, *, unread: bool = False, sender: str | None = None
) -> list[Mail]:
    """The caller's messages in the order in which they arrived; `sender` selects those of one."""
    name = session.pick_team(team)
    session.check("read_mail", name)
    with session.store.read() as tx:
        card = session.find_team(tx, name)
        found = tx.inbox(card.id, boxes_of(tx, session, card), unread=unread)
    return found if sender is None else [mail for mail in found if mailboxes.is_from(mail.sender, sender)]


def read(session: Session, mail_id: str, team: str | None = None) -> tuple[Mail, bool]:
    """One message, and whether it is in the caller's own mailbox. The operator reads every message."""
    name = session.pick_team(team)
    session.check("read_mail", name)
    with session.store.read() as tx:
        card = session.find_team(tx, name)
        boxes = boxes_of(tx, session, card)
        mail = tx.find_mail(card.id, mail_id)
        if mail is not None and (mail.to in boxes or not session.caller.is_member):
            return mail, mail.to in boxes
        known = [other.id for other in tx.inbox(card.id, boxes)]
    raise unknown("message", mail_id, known, "it is not in your inbox")


def mark_read(session: Session, mails: Iterable[Mail], team: str | None = None) -> None:
    """A mark for each message: what arrived in between stays unread (B6)."""
    ids = [mail.id for mail in mails if mail.read_at is None]
    if ids:
        with session.write("read_mail", team) as (tx, card):
            tx.mark_read(card.id, ids)


def count_unread(session: Session, team: str | None = None) -> int:
    """Return how many messages are unread and not in the prompt of the caller's turn."""
    name = session.pick_team(team)
    with session.store.read() as tx:
        card = session.find_team(tx, name)
        counts = tx.count_unread(card.id)
        boxes = [box for box in boxes_of(tx, session, card) if counts.get(box)]
        if not boxes:
            return 0
        shown = (tx.fact(card.id, session.caller.who, IN_PROMPT) or {}).get("ids", ())
        return sum(one.id not in shown for one in tx.inbox(card.id, boxes, unread=True))


def wait_for_mail(session: Session, seconds: float, team: str | None = None) -> None:
    """Return when something is unread, or after `seconds`.

    Listens first, then reads, then sleeps: a message that arrives in between has rung the bell already.
    """
    end = time.monotonic() + seconds
    name = session.pick_team(team)
    with session.store.read() as tx:
        card = session.find_team(tx, name)
        boxes = boxes_of(tx, session, card)
    channels = [mailboxes.channel(card.id, box) for box in boxes]
    for channel in channels:
        session.store.listen(channel)
    while True:
        with session.store.read() as tx:
            if tx.has_unread(card.id, boxes):
                return
        left = end - time.monotonic()
        if left <= 0:
            return
        session.store.wait_any(channels, min(left, _LOOK_AGAIN_S))


def as_json(mail: Mail) -> dict[str, Any]:
    """The one shape of a message, here and in `headcount inbox --json`."""
    message: dict[str, Any] = {
        "id": mail.id,
        "type": mail.type,
        "template": mail.template,
        "from": mail.sender,
        "to": mail.to,
        "subject": mail.subject,
        "body": mail.body,
        "requestId": mail.request_id,
        "priority": mail.priority,
        "sentAt": utc(mail.sent_at),
        "read": mail.read_at is not None,
    }
    if mail.bounced_from is not None:
        message["bouncedFrom"] = mail.bounced_from
    return message
