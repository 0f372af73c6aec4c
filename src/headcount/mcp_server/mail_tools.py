"""Mail, and the answers to a request to stand down."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from headcount.app import mail, signals
from headcount.domain.answer_names import APPROVE, read_reply
from headcount.domain.names import check_size
from headcount.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headcount.app.session import Session
    from headcount.ports import Mail

    Arguments = dict[str, Any]
    Answer = dict[str, Any]

# Bodies in one answer. What does not fit is counted, never cut: a client cuts, or chokes.
_MOST_BYTES = 256_000


def send_message(session: Session, args: Arguments) -> Answer:
    kind, content, team = args["type"], args.get("content", ""), args.get("team_name")
    reply = find_answer(args)
    if reply is not None:
        verdict, request_id, reason = reply
        request_id = request_id or _missing("request_id", "it is in the request that you were mailed")
        return _answer(session, _recipient(args), request_id, verdict == APPROVE, reason, team)
    if kind == "shutdown_request":
        return _request_stand_down(session, _recipient(args), args.get("reason") or content, team)
    if not content:
        _missing("content", "the text of the message")
    to = "all" if kind == "broadcast" else _recipient(args)
    _check_sizes(session, args, team)
    return _send(session, to, args.get("summary") or _first_line(content), content, team)


def find_answer(given: Mapping[str, Any]) -> tuple[str, str | None, str] | None:
    """A structured answer in whatever words: verdict, request and reason; None if it is none (A2).

    Some clients put the structure into the text, as JSON; plain text is not looked at (A3).
    """
    reply = read_reply(given)
    if reply is None and given.get("type") == "message":
        reply = read_reply(_json_object(given.get("content")))
    return reply


def _json_object(text: Any) -> Mapping[str, Any]:
    if not isinstance(text, str) or not text.lstrip().startswith("{"):
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _answer(
    session: Session, to: str, request_id: str | None, approve: bool, reason: str, team: str | None
) -> Answer:
    request, mail_id = signals.answer(session, request_id, approve, reason, team, to)
    return {
        "messageId": mail_id,
        "delivered": True,
        "requestId": request,
        "answer": "approved" if approve else "rejected",
    }


def _request_stand_down(app: Session, to: str, reason: str, team: str | None) -> Answer:
    from headcount.app.app import App
    from headcount.app.standing_down import request_stand_down
    from headcount.mcp_server.tool_calls import drive

    assert isinstance(app, App)
    sent = request_stand_down(app, to, reason, team)
    drive(app)
    return sent


def _send(session: Session, to: str, subject: str, body: str, team: str | None) -> Answer:
    sent = mail.send(session, to, subject, body, team)
    answer: Answer = {"messageId": sent.ids[0], "delivered": sent.delivered}
    if len(sent.ids) > 1:
        answer["messageIds"] = sent.ids
    if not sent.delivered:
        answer["note"] = sent.note
    asked = signals.open_request(session, team)
    if asked is not None:
        answer["note"] = (
            f"You are asked to stand down, and text is not an answer. Answer with type shutdown_response, "
            f"request_id {asked} and approve true or false"
        )
    return answer


def _check_sizes(session: Session, args: Arguments, team: str | None) -> None:
    """By the names of the parameters; the mail itself is checked when it is written."""
    name = session.pick_team(team)
    with session.store.read() as tx:
        card = session.find_team(tx, name)
    check_size("content", args["content"], card.message_bytes)
    check_size("summary", args.get("summary", ""), card.subject_characters, "characters")


def _recipient(args: Arguments) -> str:
    return str(
        args.get("recipient") or _missing("recipient", 'a member\'s name, "lead", "witness" or "operator"')
    )


def _missing(field: str, what: str) -> Any:
    raise UsageError(f"{field} is missing", f"a message of this type needs {field}: {what}",
                     (f"Send it again with {field}",), code=f"missing-{field.replace('_', '-')}")  # fmt: skip


def _first_line(text: str, longest: int = 80) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def inbox(session: Session, args: Arguments) -> Answer:
    """Whole messages in the order of arrival; those that are too much for one answer are counted."""
    unread, team = args.get("unread", False), args.get("team_name")
    mails = mail.inbox(session, team, unread=unread, sender=args.get("from"))
    shown = _fit(mails) if unread else _fit(mails[::-1])[::-1]
    if args.get("mark_read", False):
        mail.mark_read(session, shown, team)
    answer: Answer = {"messages": [mail.as_json(one) for one in shown]}
    if left := len(mails) - len(shown):
        answer["note"] = (
            f"{left} {'newer' if unread else 'older'} messages did not fit. "
            "Read on with unread and mark_read true"
        )
    return answer


def _fit(mails: list[Mail]) -> list[Mail]:
    room = _MOST_BYTES
    for position, one in enumerate(mails):
        room -= len(one.body)
        if room < 0 and position:
            return mails[:position]
    return mails
