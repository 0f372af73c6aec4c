"""What a member says about itself: an answer, a done signal, that it is idle, a review.

Each is checked at once, so that a mistake is told to whoever made it, and then stored for the engine: durable
before it is answered, heard by the next step. A member speaks only for itself: its token says who it is.

These work at any desk: at the one here, which opens nothing but the database, or at the one of the use cases,
over whatever store there is.
"""

from __future__ import annotations

from headcount.domain import templates
from headcount.domain.names import LEAD, WITNESS, check_size
from headcount.errors import Declined, UsageError
from headcount.protocol import authority
from headcount.store import journal, rules, taskboard
from headcount.store.database import one
from headcount.store.jsontext import dumps
from headcount.store.mailbox import Office
from headcount.store.teams import SQL as TEAMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    import apsw

    from headcount.store.teams import Card

    class Speaker(Protocol):
        """Who speaks: authority's word for it, the incarnation, and what its mail says."""

        @property
        def kind(self) -> str: ...
        @property
        def key(self) -> str: ...
        @property
        def sender(self) -> str: ...

    class Team(Protocol):
        @property
        def id(self) -> str: ...
        @property
        def name(self) -> str: ...

    class Desk(Protocol):
        """A team's, in one write transaction."""

        @property
        def team(self) -> Team: ...
        @property
        def message_bytes(self) -> int: ...
        def asked(self, key: str) -> tuple[str | None, str | None]:
            """The request that waits for its answer, and what it has answered already, heard or not yet."""

        def task_status(self, task_id: str) -> str: ...
        def hand_in(self, key: str, task_id: str | None) -> str | None: ...
        def started_for(self, key: str) -> str | None: ...
        def reviewing(self, key: str) -> str: ...
        def keep(self, kind: str, said: dict[str, Any]) -> None:
            """For the next step to hear: `kind` is an event, and `said` has its fields."""

        def post(self, speaker: Speaker, to: str, subject: str, body: str, **more: Any) -> tuple[str, str]:
            """The mail's id, and the mailbox that it went to."""


PASS = "pass"
CHANGES = "changes"


class Word:
    """What was said, and whom to wake for it."""

    __slots__ = ("about", "channels", "counts", "mail_id")

    def __init__(
        self, about: str | None, team: Team, mail: tuple[str, str] | None = None, *, counts: bool = True
    ) -> None:
        self.about = about
        self.mail_id = mail[0] if mail else None
        self.counts = counts  # False: it came second, and is only recorded
        self.channels = [journal.ENGINE, *([rules.channel(team.id, mail[1])] if mail else ())]


def answer(
    desk: Desk, speaker: Speaker, request_id: str | None, approve: bool, reason: str, to: str = LEAD
) -> Word:
    """Answer the open request; the first answer counts, and the same one again changes nothing (A10)."""
    authority.check("answer", speaker.kind, speaker.key)
    asked, answered = desk.asked(speaker.key)
    request_id = rules.check_answer(speaker.key, asked, request_id)
    _check_reason(reason, desk)
    said = "approved" if approve else "rejected"
    if answered == said:
        return Word(request_id, desk.team)
    event = {"key": speaker.key, "request_id": request_id, "approve": approve, "reason": reason}
    desk.keep("Answered", event)
    if answered is not None:
        return Word(request_id, desk.team, counts=False)
    mail = desk.post(speaker, to, f"Shutdown {said}", reason, type="shutdown_response", request_id=request_id)
    return Word(request_id, desk.team, mail)


def too_late(request_id: str | None, approve: bool) -> Declined:
    """What is told to whoever said something else before; both are in the journal."""
    return Declined(
        f"{'Approved' if approve else 'Rejected'} too late",
        f"you have answered {request_id} already, and the first answer counts",
        code="already-answered",
    )


def done(desk: Desk, speaker: Speaker, task_id: str | None, verified: bool) -> Word:
    """Start an inspection; the witness gets the mail, the task goes into review."""
    authority.check("done", speaker.kind, speaker.key)
    if speaker.kind == authority.WORKER:
        task_id = desk.hand_in(speaker.key, task_id)
    elif task_id is not None:
        desk.task_status(task_id)
    desk.keep("DoneSignalled", {"key": speaker.key, "task": task_id})
    # One who was started for a task may be done before the board says that it has it.
    named = task_id or desk.started_for(speaker.key) or "no task"
    subject, body = templates.worker_done(desk.team.name, named, verified)
    mail = desk.post(speaker, WITNESS, subject, body, template=templates.WORKER_DONE)
    return Word(task_id, desk.team, mail)


def idle(desk: Desk, speaker: Speaker) -> Word:
    authority.check("idle", speaker.kind, speaker.key)
    desk.keep("IdleReported", {"key": speaker.key})
    mail = desk.post(speaker, WITNESS, "Idle", f"{speaker.key} has nothing to do.", type="idle")
    return Word(None, desk.team, mail)


def review(desk: Desk, speaker: Speaker, task_id: str, verdict: str, words: str) -> Word:
    """A reviewer's verdict, bound to the commit that it has been given."""
    authority.check("review", speaker.kind, speaker.key)
    if speaker.kind == authority.OPERATOR:
        raise Declined(
            "The operator's review would count for nothing",
            "a review is bound to a reviewer and to the commit that it was given",
            (f"Complete the task with `headcount task complete {task_id}`",),
            code="no-reviewer",
        )
    rules.check_choice("verdict", verdict, (PASS, CHANGES))
    if verdict == CHANGES and not words.strip():
        raise UsageError("Changes need a reason", "reason is empty", code="missing-reason")
    if desk.task_status(task_id) == "complete":
        raise Declined(f"{task_id} is complete", "its review has ended", code="review-ended")
    _check_reason(words, desk)
    commit = desk.reviewing(speaker.key)
    said = {"key": speaker.key, "task": task_id, "verdict": verdict, "words": words, "commit": commit}
    desk.keep("Reviewed", said)
    return Word(task_id, desk.team)


def _check_reason(reason: str, desk: Desk) -> None:
    rules.check_text("reason", reason)
    check_size("reason", reason, desk.message_bytes)


class SqlDesk:
    """On the members' own path: a connection in a write transaction, and nothing else."""

    __slots__ = ("_db", "_now", "team")

    def __init__(self, db: apsw.Connection, team: Card, now: float) -> None:
        self._db = db
        self._now = now
        self.team = team

    @property
    def message_bytes(self) -> int:
        return self.team.message_bytes

    def asked(self, key: str) -> tuple[str | None, str | None]:
        return _asked(self._db, self.team.id, key)

    def task_status(self, task_id: str) -> str:
        return taskboard.get(self._db, self.team.id, task_id)[5]

    def hand_in(self, key: str, task_id: str | None) -> str | None:
        return taskboard.hand_in(self._db, self.team, self._now, key, task_id)

    def started_for(self, key: str) -> str | None:
        found = one(self._db, TEAMS["member_task"], self.team.id, key)
        return found[0] if found else None

    def reviewing(self, key: str) -> str:
        given = one(self._db, TEAMS["reviewing"], self.team.id, key)
        return given[0] if given else ""

    def keep(self, kind: str, said: dict[str, Any]) -> None:
        journal.add_input(self._db, self.team.id, kind, dumps(said))

    def post(self, speaker: Speaker, to: str, subject: str, body: str, **more: Any) -> tuple[str, str]:
        return Office(self._db, self.team, self._now).post(speaker.sender, to, subject, body, **more)


def open_request(db: apsw.Connection, team_id: str, key: str) -> str | None:
    """The request that this member was asked with and has not answered, if there is one."""
    asked, answered = _asked(db, team_id, key)
    return asked if answered is None else None


def _asked(db: apsw.Connection, team_id: str, key: str) -> tuple[str | None, str | None]:
    row = one(db, TEAMS["member_card"], team_id, key)
    if row is None or row[3] != "asked":
        return None, None
    return row[4], row[5] or journal.unheard_answer(db, team_id, key, row[4])
