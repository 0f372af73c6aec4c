"""Rows of the store as values: mail, tasks, and what a call must know of a team and its members.

On the path of every member command: plain classes with slots, because `dataclasses` costs more time to import
than the rest of the command takes.
"""

from __future__ import annotations

from headcount.domain.jsontext import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Self


class Record:
    """A value with named fields: equal to another with the same fields, and changed by copying."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._fields}

    def changed(self, **changes: Any) -> Self:
        return type(self)(**{**self.as_dict(), **changes})

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.as_dict() == self.as_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.as_dict().items())})"


class Mail(Record):
    """A message in a mailbox. `to` is an incarnation's key, `lead`, `witness` or `operator`."""

    __slots__ = _fields = (
        "id", "team", "sender", "to", "subject", "body", "type", "template", "request_id", "priority",
        "sent_at", "read_at", "bounced_from", "group",
    )  # fmt: skip

    def __init__(
        self,
        id: str,
        team: str,
        sender: str,
        to: str,
        subject: str,
        body: str,
        type: str = "message",
        template: str | None = None,
        request_id: str | None = None,
        priority: str = "normal",
        sent_at: float = 0.0,
        read_at: float | None = None,
        bounced_from: str | None = None,
        group: str | None = None,
    ) -> None:
        self.id = id
        self.team = team
        self.sender = sender
        self.to = to
        self.subject = subject
        self.body = body
        self.type = type
        self.template = template
        self.request_id = request_id
        self.priority = priority
        self.sent_at = sent_at
        self.read_at = read_at
        self.bounced_from = bounced_from  # the mailbox that it was sent to: sealed, or of a closed team
        self.group = group  # the same for every copy of a broadcast


class Task(Record):
    """A task on a team's list. `metadata` is parsed when it is first read."""

    _fields = (
        "id", "team", "subject", "description", "active_form", "status", "owner", "depends_on", "metadata",
        "reason",
    )  # fmt: skip
    __slots__ = (*(name for name in _fields if name != "metadata"), "_metadata", "metadata_json")

    def __init__(
        self,
        id: str,
        team: str,
        subject: str,
        description: str = "",
        active_form: str | None = None,
        status: str = "pending",
        owner: str | None = None,
        depends_on: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        reason: str = "",
        *,
        metadata_json: str = "",
    ) -> None:
        self.id = id
        self.team = team
        self.subject = subject
        self.description = description
        self.active_form = active_form
        self.status = status  # pending, in_progress, in_review, complete, blocked, withdrawn
        self.owner = owner  # an incarnation's key
        self.depends_on = tuple(depends_on)
        self.reason = reason  # why it is blocked or was withdrawn
        self._metadata = metadata
        self.metadata_json = metadata_json or dumps(dict(metadata or {}))

    @property
    def metadata(self) -> Mapping[str, Any]:
        if self._metadata is None:
            import json

            self._metadata = json.loads(self.metadata_json)
        return self._metadata


class Identity(Record):
    """The incarnation that a token belongs to."""

    __slots__ = _fields = ("team", "key", "role")

    def __init__(self, team: str, key: str, role: str) -> None:
        self.team = team
        self.key = key
        self.role = role


class TeamCard(Record):
    """A team at a glance: its status, and the limits that apply in it."""

    __slots__ = _fields = (
        "id", "name", "status", "peer_mail", "message_bytes", "description_bytes", "subject_characters",
        "max_tasks",
    )  # fmt: skip

    def __init__(
        self,
        id: str,
        name: str,
        status: str,
        peer_mail: bool,
        message_bytes: int,
        description_bytes: int,
        subject_characters: int,
        max_tasks: int,
    ) -> None:
        self.id = id
        self.name = name
        self.status = status
        self.peer_mail = bool(peer_mail)
        self.message_bytes = message_bytes
        self.description_bytes = description_bytes
        self.subject_characters = subject_characters
        self.max_tasks = max_tasks

    @property
    def closed(self) -> bool:
        return self.status == "shutdown"


class MemberCard(Record):
    """An incarnation at a glance."""

    __slots__ = _fields = ("key", "name", "role", "state", "ask", "answer", "task", "activity")

    def __init__(
        self,
        key: str,
        name: str,
        role: str,
        state: str,
        ask: str | None,
        answer: str | None,
        task: str | None,
        activity: str | None,
    ) -> None:
        self.key = key
        self.name = name
        self.role = role
        self.state = state
        self.ask = ask  # the request that it must answer, or answered
        self.answer = answer
        self.task = task  # the task that it was started for
        self.activity = activity

    @property
    def live(self) -> bool:
        return self.state != "gone"
