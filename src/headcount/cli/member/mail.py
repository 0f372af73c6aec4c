"""`inbox`, `read`, `send`."""

from __future__ import annotations

import sys
import time

from headcount.cli.member.shown import message_head, message_json, message_text
from headcount.errors import UsageError
from headcount.protocol import authority
from headcount.store import mailbox, rules, teams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headcount.cli.member.call import Call
    from headcount.store.teams import Card

# How long a waiting command trusts its doorbell before it looks for itself.
_LOOK_AGAIN_S = 5.0


def _boxes(call: Call, team: Card) -> tuple[str, ...]:
    """The operator owns the lead's mailbox while no lead is there to read it."""
    if call.caller.kind != authority.OPERATOR:
        return call.caller.boxes
    has_lead = any(
        role == authority.LEAD and state != "gone"
        for _, _, role, state in teams.latest_members(call.db, team.id)
    )
    return (authority.OPERATOR,) if has_lead else (authority.OPERATOR, authority.LEAD)


def inbox(call: Call) -> int:
    seconds = call.words.get("--wait")
    with call.read():
        team = call.team()
        boxes = _boxes(call, team)
    if seconds is not None:
        _wait_for_mail(call, team.id, boxes, _seconds(seconds))
    with call.read():
        rows = mailbox.inbox(call.db, team.id, boxes, call.words.has("--unread"))
    sender = call.words.get("--from")
    if sender is not None:
        rows = [row for row in rows if rules.is_from(row[2], sender)]
    unread = [row[0] for row in rows if row[11] is None]
    text = "".join(message_text(row) if row[11] is None else message_head(row) + "\n" for row in rows)
    of_all = "" if call.words.has("--unread") else f" of {len(rows)}"
    plural = "s" * ((len(unread) if call.words.has("--unread") else len(rows)) != 1)
    call.answer([message_json(row) for row in rows], f"{text}{len(unread)} unread{of_all} message{plural}.")
    if unread and not call.words.has("--peek"):
        with call.write():
            mailbox.mark_read(call.db, team.id, unread, time.time())
    return 0


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not 0 <= seconds <= 86_400:
        raise UsageError(f"--wait {text} is no time", "it must be seconds, from 0 to 86400", code="usage")
    return seconds


def _wait_for_mail(call: Call, team_id: str, boxes: tuple[str, ...], seconds: float) -> None:
    """Listen, look, sleep: a message that comes in between has rung the bell already."""
    from headcount.store import doorbell

    end = time.monotonic() + seconds
    bells = [doorbell.Bell(call.bells, rules.channel(team_id, box)) for box in boxes]
    try:
        while not mailbox.has_unread(call.db, team_id, boxes):
            left = end - time.monotonic()
            if left <= 0:
                return
            doorbell.wait_any(bells, min(left, _LOOK_AGAIN_S))
    finally:
        for bell in bells:
            bell.close()


def read(call: Call) -> int:
    mail_id = call.words.plain[0]
    with call.read():
        team = call.team()
        row = mailbox.find(call.db, team.id, mail_id)
        boxes = _boxes(call, team)
        mine = row is not None and (row[3] in boxes or call.caller.kind == authority.OPERATOR)
        if row is None or not mine:
            known = [other[0] for other in mailbox.inbox(call.db, team.id, boxes)]
            raise rules.unknown("message", mail_id, known, "it is not in your inbox")
    call.answer(message_json(row), message_text(row))
    if row[11] is None and row[3] in boxes:
        with call.write():
            mailbox.mark_read(call.db, team.id, [mail_id], time.time())
    return 0


def send_mail(call: Call) -> int:
    from headcount.store.sending import send

    to, subject, body = call.words.plain[0], call.words.get("--subject"), call.words.get("--message")
    if subject is None or body is None:
        missing = "-s SUBJECT" if subject is None else "-m BODY"
        raise UsageError(f"{missing} is missing", "usage: headcount send TO -s SUBJECT -m BODY", code="usage")
    if body == "-":
        body = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    caller, priority = call.caller, call.words.get("--priority") or "normal"
    with call.write() as db:
        team = call.team()
        office = mailbox.Office(db, team, time.time())
        sent = send(office, caller.kind, caller.sender, to, subject, body, priority=priority)
    call.ring(sent.channels)
    answer = {"messageId": sent.ids[0], "messageIds": sent.ids, "delivered": sent.delivered, "to": sent.boxes}
    if sent.delivered:
        call.answer(answer, f"Sent {', '.join(sent.ids)} to {', '.join(sent.boxes)}.")
        return 0
    why = f"{team.name} is shut down, so it is kept as a dead letter" if team.closed else ""
    gone = next((meant for meant, box in zip(sent.meant_for, sent.boxes, strict=True) if meant != box), "")
    call.answer(answer, f"Not delivered: {why or rules.sealed_note(gone)} ({', '.join(sent.ids)}).")
    return 1
