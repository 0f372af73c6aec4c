"""Who may write to whom, and where each message goes."""

from __future__ import annotations

import os

from headcount.errors import Declined
from headcount.protocol import authority
from headcount.store import rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from headcount.store.mailbox import Office


class Delivery:
    """Whom a message was meant for, the id of each copy, and the mailbox that each went to."""

    __slots__ = ("boxes", "ids", "meant_for", "team")

    def __init__(self, team: str, meant_for: list[str]) -> None:
        self.team = team
        self.meant_for = meant_for
        self.ids: list[str] = []
        self.boxes: list[str] = []

    @property
    def delivered(self) -> bool:
        return self.boxes == self.meant_for

    @property
    def channels(self) -> list[str]:
        return [rules.channel(self.team, box) for box in self.boxes]


def send(office: Office, caller: str, sender: str, to: str, subject: str, body: str, **more: Any) -> Delivery:
    """Send as `sender`, who acts as `caller` (authority's word); `all` is everyone who is alive, but itself.

    A broadcast has an id for each recipient and one group (A7). Nothing is sent unless all of it may be.
    """
    authority.check("broadcast" if to == rules.ALL else "send", caller, sender)
    subject = subject if subject.strip() else rules.subject_from(body)
    meant_for = _recipients(office, sender, to)
    for box in meant_for:
        kind = _kind(office, box)
        same_task = kind not in authority.MEMBERS or _is_task_shared(office, sender, box)
        authority.check_recipient(caller, kind, office.team.peer_mail, same_task, sender)
    if to == rules.ALL:
        more = {**more, "type": "broadcast", "group": os.urandom(8).hex()}
    delivery = Delivery(office.team.id, meant_for)
    for box in meant_for:
        mail_id, landed = office.post(sender, box, subject, body, **more)
        delivery.ids.append(mail_id)
        delivery.boxes.append(landed)
    return delivery


def _recipients(office: Office, sender: str, to: str) -> list[str]:
    if to != rules.ALL:
        return [office.find_box(to)]
    everyone = [key for key, role in office.live() if sender not in (key, role)]
    if not everyone:
        raise Declined("Nobody was told", f"{office.team.name} has no member alive", code="nobody-there")
    return everyone


def _kind(office: Office, box: str) -> str:
    return box if box in rules.OFFICES else authority.CALLER_OF_ROLE.get(office.role(box), authority.WORKER)


def _is_task_shared(office: Office, sender: str, box: str) -> bool:
    """Also when one of them was started for no task: then it is everybody's."""
    if "#" not in sender:
        return True  # not a member
    mine, theirs = office.task(sender), office.task(box)
    return mine is None or theirs is None or mine == theirs
