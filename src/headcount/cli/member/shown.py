"""Messages and tasks as a member reads them: text without what would move its terminal, or JSON."""

from __future__ import annotations

from headcount.domain.display import utc, visible
from headcount.store.jsontext import Raw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headcount.store import mailbox, taskboard

# Everything that a terminal may take for an order: C0 but newline and tab, DEL, C1.
_CONTROL = {
    **dict.fromkeys((*range(9), *range(11, 32), *range(127, 160)), "\N{REPLACEMENT CHARACTER}"),
}


def plain(text: str) -> str:
    return visible(text).replace("\r\n", "\n").translate(_CONTROL)


def one_line(text: str) -> str:
    return plain(text).replace("\n", " ")


def message_json(row: mailbox.Row) -> dict[str, object]:
    id, _, sender, to, subject, body, kind, template, request_id, priority, sent_at, read_at, meant_for, _ = (
        row
    )
    message: dict[str, object] = {
        "id": id,
        "type": kind,
        "template": template,
        "from": sender,
        "to": to,
        "subject": subject,
        "body": body,
        "requestId": request_id,
        "priority": priority,
        "sentAt": utc(sent_at),
        "read": read_at is not None,
    }
    if meant_for is not None:
        message["bouncedFrom"] = meant_for
    return message


def message_head(row: mailbox.Row) -> str:
    id, _, sender, _, subject, _, kind, _, request_id, priority, sent_at, read_at, meant_for, _ = row
    marks = [kind] if kind != "message" else []
    marks += [f"request {request_id}"] if request_id else []
    marks += [f"priority {priority}"] if priority != "normal" else []
    marks += [f"meant for {meant_for}, which is gone"] if meant_for else []
    marks += ["read"] if read_at is not None else []
    shown = f" ({', '.join(marks)})" if marks else ""
    return one_line(f"{id} from {sender} at {utc(sent_at)}{shown}: {subject}")


def message_text(row: mailbox.Row) -> str:
    body = plain(row[5]).rstrip("\n")
    return message_head(row) + "\n" + "".join(f"    {line}\n" for line in body.split("\n") if body)


def task_json(row: taskboard.Row) -> dict[str, object]:
    id, _, subject, description, active_form, status, owner, needs, metadata, reason = row
    return {
        "id": id,
        "subject": subject,
        "description": description,
        "activeForm": active_form,
        "status": status,
        "owner": owner,
        "dependsOn": Raw(needs),
        "metadata": Raw(metadata),
        "reason": reason,
    }


def task_line(row: taskboard.Row) -> str:
    id, _, subject, _, _, status, owner, needs, _, reason = row
    marks = [f"owner {owner}"] if owner else []
    marks += [f"after {needs[1:-1].replace(chr(34), '').replace(',', ', ')}"] if needs != "[]" else []
    marks += [reason] if reason else []
    return one_line(f"{id} {status}{' (' + '; '.join(marks) + ')' if marks else ''}: {subject}")


def task_text(row: taskboard.Row) -> str:
    body = plain(row[3]).rstrip("\n")
    return task_line(row) + "\n" + "".join(f"    {line}\n" for line in body.split("\n") if body)
