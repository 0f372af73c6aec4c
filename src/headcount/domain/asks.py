"""Define an ask: the permission that a client requests for one thing, and what became of the request."""

from __future__ import annotations

from headcount.domain.records import Record

KINDS = ("command", "edit", "tool", "other")
OPEN, ALLOWED, DENIED, MOOT = "open", "allowed", "denied", "moot"
POLICY = "policy"  # who has answered, where a rule of the settings or a time limit did
DECISIONS = {"allow": ALLOWED, "deny": DENIED}
# Largest texts that are stored. What a client sends may be a whole file.
TITLE_LIMIT, DETAIL_LIMIT, COMMAND_LIMIT = 300, 16_000, 16_000


class Ask(Record):
    """`key` is the incarnation that asks. `until` is when the ask counts as denied."""

    __slots__ = _fields = (
        "id", "team", "key", "kind", "title", "detail", "command", "directory", "asked_at", "until", "state",
        "by", "reason", "answered_at", "taken_at",
    )  # fmt: skip

    def __init__(
        self,
        id: str,
        team: str,
        key: str,
        kind: str,
        title: str,
        detail: str,
        command: str,
        directory: str,
        asked_at: float,
        until: float,
        state: str = OPEN,
        by: str | None = None,
        reason: str = "",
        answered_at: float | None = None,
        taken_at: float | None = None,
    ) -> None:
        self.id = id
        self.team = team
        self.key = key
        self.kind = kind
        self.title = title
        self.detail = detail
        self.command = command
        self.directory = directory
        self.asked_at = asked_at
        self.until = until
        self.state = state
        self.by = by
        self.reason = reason
        self.answered_at = answered_at
        self.taken_at = taken_at  # when the process that waited for the answer had read it

    @property
    def question(self) -> tuple[str, ...]:
        """Return what is the same if the same thing is asked again."""
        return self.team, self.key, self.kind, self.title, self.detail, self.command, self.directory
