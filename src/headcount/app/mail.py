"""Mail: sending, asking one member to stand down, answering such a request, reading."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from headcount.app.desk import audited, say
from headcount.app.standing_down import stand_down
from headcount.domain.answer_dialects import APPROVE, read_reply
from headcount.domain.display import utc
from headcount.domain.names import LEAD, OPERATOR, resolve_address
from headcount.errors import UsageError
from headcount.protocol.member import State
from headcount.store import rules, saying

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headcount.app.app import App
    from headcount.app.caller import Caller
    from headcount.ports import Delivery, Mail, Tx
    from headcount.protocol.team import Team

# Bodies in one answer. What does not fit is counted, never cut: a client cuts, or chokes.
_MOST_BYTES = 256_000


def boxes_of(caller: Caller, team: Team) -> tuple[str, ...]:
    """The operator owns the lead's mailbox while no lead is there to read it."""
    if caller.is_member:
        return (caller.who, caller.kind) if caller.kind in rules.OFFICES else (caller.who,)
    has_lead = any(m.role == LEAD for m in team.live())
    return (OPERATOR,) if has_lead else (OPERATOR, LEAD)


# --- sending ---------------------------------------------------------------------------------------------


def send(app: App, to: str, subject: str, body: str, team: str | None = None) -> dict[str, Any]:
    """Mail to one, or to everyone alive (`all`). Text is never an answer, and its sender is told so (A3)."""
    name = app.pick_team(team)
    with audited(app, "send", name), app.store.write() as tx:
        found = app.load(tx, name)
        sent = tx.send(found.id, app.caller.kind, app.caller.sender, to, subject, body)
        asked = _asked(found, app.caller)
    app.store.ring(sent.channels)
    answer = _sent(sent)
    if asked is not None:
        answer["note"] = (
            f"You are asked to stand down, and text is not an answer. Answer with type shutdown_response, "
            f"request_id {asked} and approve true or false"
        )
    return answer


def _sent(sent: Delivery) -> dict[str, Any]:
    answer: dict[str, Any] = {"messageId": sent.ids[0], "delivered": sent.delivered}
    if len(sent.ids) > 1:
        answer["messageIds"] = list(sent.ids)
    bounced = [meant for meant, box in zip(sent.meant_for, sent.boxes, strict=True) if meant != box]
    if bounced:
        closed = rules.DEAD_LETTERS in sent.boxes
        answer["note"] = "kept as a dead letter" if closed else rules.sealed_note(bounced[0])
    return answer


def request_stand_down(app: App, to: str, reason: str, team: str | None = None) -> dict[str, Any]:
    """Ask one member to stand down; its team stays (A13: only the lead, the witness or the operator may)."""
    name = app.pick_team(team)
    member = resolve_address(to, name).partition("#")[0]
    report = stand_down(app, name, [member], reason)
    with app.store.read() as tx:
        found = app.load(tx, name)
        asked = "alreadyGone" not in report
        mail = _find_request(tx, found, member, report["requestId"]) if asked else None
    return {
        "messageId": mail.id if mail else None,
        "delivered": mail is not None,
        "requestId": report["requestId"],
        "status": report["status"],
    }


def _find_request(tx: Tx, team: Team, member: str, request_id: str) -> Mail | None:
    """None for one that is not asked: it is idle, or past asking."""
    latest = team.latest(member)
    mails = tx.inbox(team.id, [latest.key]) if latest else []
    return next((m for m in mails if m.type == "shutdown_request" and m.request_id == request_id), None)


# --- answering -------------------------------------------------------------------------------------------


def find_answer(said: Mapping[str, Any]) -> dict[str, Any] | None:
    """A structured answer in whatever words, as `approve`, `request_id`, `reason`; None if it is none (A2).

    Some clients put the structure into the text, as JSON; text that is only text is not looked at (A3).
    """
    reply = read_reply(said)
    if reply is None and said.get("type") == "message":
        reply = read_reply(_json_object(said.get("content")))
    if reply is None:
        return None
    verdict, request_id, reason = reply
    return {"approve": verdict == APPROVE, "request_id": request_id, "reason": reason}


def _json_object(text: Any) -> Mapping[str, Any]:
    if not isinstance(text, str) or not text.lstrip().startswith("{"):
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def answer(
    app: App, to: str, request_id: str, approve: bool, reason: str = "", team: str | None = None
) -> dict[str, Any]:
    """Answer the open request. The first answer counts; the same one again changes nothing (A10)."""
    if not approve and not reason.strip():
        raise UsageError("A rejection needs a reason", "reason is missing", code="missing-reason")
    word = say(
        app, "answer", team,
        lambda desk: saying.answer(desk, app.caller, request_id, approve, reason, to),
    )  # fmt: skip
    if not word.counts:
        raise saying.too_late(word.about, approve)
    return {
        "messageId": word.mail_id,
        "delivered": True,
        "requestId": word.about,
        "answer": "approved" if approve else "rejected",
    }


def _asked(team: Team, caller: Caller) -> str | None:
    """The request that waits for this caller's answer."""
    member = team.members.get(caller.who) if caller.is_member else None
    waits = member is not None and member.state is State.ASKED and member.answer is None
    return member.ask if member and waits else None


# --- reading ---------------------------------------------------------------------------------------------


def inbox(
    app: App,
    team: str | None = None,
    *,
    unread: bool = False,
    mark_read: bool = False,
    sender: str | None = None,
) -> dict[str, Any]:
    """Whole messages in the order in which they came; what would be too much for one answer is counted."""
    app.check("read_mail")
    name = app.pick_team(team)
    with app.store.read() as tx:
        found = app.load(tx, name)
        mails = tx.inbox(found.id, boxes_of(app.caller, found), unread=unread)
    if sender is not None:
        mails = [mail for mail in mails if rules.is_from(mail.sender, sender)]
    shown = _fit(mails) if unread else _fit(mails[::-1])[::-1]
    if mark_read and shown:
        with app.store.write() as tx:
            tx.mark_read(found.id, [mail.id for mail in shown if mail.read_at is None])
    left = len(mails) - len(shown)
    answer: dict[str, Any] = {"messages": [as_json(mail) for mail in shown]}
    if left:
        answer["note"] = (
            f"{left} {'newer' if unread else 'older'} messages did not fit. "
            "Read on with unread and mark_read true"
        )
    return answer


def _fit(mails: list[Mail]) -> list[Mail]:
    room = _MOST_BYTES
    for position, mail in enumerate(mails):
        room -= len(mail.body)
        if room < 0 and position:
            return mails[:position]
    return mails


def count_unread(app: App) -> int:
    """Of a member's own mail."""
    with app.store.read() as tx:
        team = app.load(tx, app.pick_team(None))
        counts = tx.count_unread(team.id)
        return sum(counts.get(box, 0) for box in boxes_of(app.caller, team))


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
