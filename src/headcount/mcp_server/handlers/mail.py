"""Mail, and the answers to a request to stand down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.app import mail
from headcount.domain.names import check_size
from headcount.errors import UsageError
from headcount.mcp_server.handlers import drive

if TYPE_CHECKING:
    from headcount.app.app import App

    Arguments = dict[str, Any]
    Answer = dict[str, Any]


def send_message(app: App, args: Arguments) -> Answer:
    kind, content, team = args["type"], args.get("content", ""), args.get("team_name")
    check_size("content", content, app.limits.message_bytes)
    check_size("summary", args.get("summary", ""), app.limits.subject_characters, "characters")
    answer = mail.find_answer(args)
    if answer is not None:
        request_id = answer["request_id"] or _missing(
            "request_id", "it is in the request that you were mailed"
        )
        return mail.answer(app, _recipient(args), request_id, answer["approve"], answer["reason"], team)
    if kind == "shutdown_request":
        to = _recipient(args)
        sent = mail.request_stand_down(app, to, args.get("reason") or content, team)
        drive(app)
        return sent
    if not content:
        _missing("content", "the text of the message")
    to = "all" if kind == "broadcast" else _recipient(args)
    return mail.send(app, to, args.get("summary") or _first_line(content), content, team)


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


def inbox(app: App, args: Arguments) -> Answer:
    return mail.inbox(
        app,
        args.get("team_name"),
        unread=args.get("unread", False),
        mark_read=args.get("mark_read", False),
        sender=args.get("from"),
    )
