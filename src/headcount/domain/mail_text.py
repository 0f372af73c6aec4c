"""Messages and tasks as a member reads them: text without control characters."""

from __future__ import annotations

from headcount.domain.display import utc, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headcount.domain.records import Mail, Task

# Everything that a terminal may take for an order: C0 but newline and tab, DEL, C1.
_CONTROL = {
    **dict.fromkeys((*range(9), *range(11, 32), *range(127, 160)), "\N{REPLACEMENT CHARACTER}"),
}


def plain(text: str) -> str:
    return visible(text).replace("\r\n", "\n").translate(_CONTROL)


def one_line(text: str) -> str:
    return plain(text).replace("\n", " ")


def message_head(mail: Mail) -> str:
    marks = [mail.type] if mail.type != "message" else []
    marks += [f"request {mail.request_id}"] if mail.request_id else []
    marks += [f"priority {mail.priority}"] if mail.priority != "normal" else []
    marks += [f"meant for {mail.bounced_from}, which is gone"] if mail.bounced_from else []
    marks += ["read"] if mail.read_at is not None else []
    shown = f" ({', '.join(marks)})" if marks else ""
    return one_line(f"{mail.id} from {mail.sender} at {utc(mail.sent_at)}{shown}: {mail.subject}")


def message_text(mail: Mail) -> str:
    return message_head(mail) + "\n" + _indented(mail.body)


def task_line(task: Task) -> str:
    marks = [f"owner {task.owner}"] if task.owner else []
    marks += [f"after {', '.join(task.depends_on)}"] if task.depends_on else []
    marks += [task.reason] if task.reason else []
    return one_line(
        f"{task.id} {task.status}{' (' + '; '.join(marks) + ')' if marks else ''}: {task.subject}"
    )


def task_text(task: Task) -> str:
    return task_line(task) + "\n" + _indented(task.description)


def _indented(text: str) -> str:
    body = plain(text).rstrip("\n")
    return "".join(f"    {line}\n" for line in body.split("\n") if body)
