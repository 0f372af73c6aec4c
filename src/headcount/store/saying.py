"""What a member says about itself: an answer, a done signal, that it is idle, a review.

Each is checked at once, so that a mistake is told to whoever made it, and then stored for the engine: durable
before it is answered, heard by the next step. A member speaks only for itself: its token says who it is.
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
    import apsw

    from headcount.store.identity import Caller
    from headcount.store.teams import Card

PASS = "pass"
CHANGES = "changes"


class Word:
    """What was said, and whom to wake for it."""

    __slots__ = ("about", "channels", "counts")

    def __init__(self, about: str | None, team: Card, *boxes: str, counts: bool = True) -> None:
        self.about = about
        self.counts = counts  # False: it came second, and is only recorded
        self.channels = [journal.ENGINE, *(rules.channel(team.id, box) for box in boxes)]


def answer(
    db: apsw.Connection,
    team: Card,
    now: float,
    caller: Caller,
    request_id: str | None,
    approve: bool,
    reason: str,
) -> Word:
    """Answer the open request; the first answer counts, and the same one again changes nothing (A10)."""
    authority.check("answer", caller.kind, caller.key)
    asked, answered = _ask_of(db, team.id, caller.key)
    request_id = rules.check_answer(caller.key, asked, request_id)
    _check_reason(reason, team)
    said = "approved" if approve else "rejected"
    if answered == said:
        return Word(request_id, team)
    event = {"key": caller.key, "request_id": request_id, "approve": approve, "reason": reason}
    journal.add_input(db, team.id, "Answered", dumps(event))
    if answered is not None:
        return Word(request_id, team, counts=False)
    Office(db, team, now).post(
        caller.sender, LEAD, f"Shutdown {said}", reason, type="shutdown_response", request_id=request_id
    )
    return Word(request_id, team, LEAD)


def done(
    db: apsw.Connection, team: Card, now: float, caller: Caller, task_id: str | None, verified: bool
) -> Word:
    """Start an inspection; the witness gets the mail, the task goes into review."""
    authority.check("done", caller.kind, caller.key)
    if caller.kind == authority.WORKER:
        task_id = taskboard.hand_in(db, team, now, caller.key, task_id)
    elif task_id is not None:
        taskboard.get(db, team.id, task_id)
    journal.add_input(db, team.id, "DoneSignalled", dumps({"key": caller.key, "task": task_id}))
    subject, body = templates.worker_done(team.name, task_id or "no task", verified)
    Office(db, team, now).post(caller.sender, WITNESS, subject, body, template=templates.WORKER_DONE)
    return Word(task_id, team, WITNESS)


def idle(db: apsw.Connection, team: Card, now: float, caller: Caller) -> Word:
    authority.check("idle", caller.kind, caller.key)
    journal.add_input(db, team.id, "IdleReported", dumps({"key": caller.key}))
    Office(db, team, now).post(
        caller.sender, WITNESS, "Idle", f"{caller.key} has nothing to do.", type="idle"
    )
    return Word(None, team, WITNESS)


def review(
    db: apsw.Connection, team: Card, now: float, caller: Caller, task_id: str, verdict: str, words: str
) -> Word:
    """A reviewer's verdict, bound to the commit that it has been given."""
    authority.check("review", caller.kind, caller.key)
    rules.check_choice("verdict", verdict, (PASS, CHANGES))
    task = taskboard.get(db, team.id, task_id)
    if verdict == CHANGES and not words.strip():
        raise UsageError("Changes need a reason", "reason is empty", code="missing-reason")
    if task[5] == "complete":
        raise Declined(f"{task_id} is complete", "its review has ended", code="review-ended")
    _check_reason(words, team)
    given = one(db, TEAMS["reviewing"], team.id, caller.key)
    commit = given[0] if given else ""
    said = {"key": caller.key, "task": task_id, "verdict": verdict, "words": words, "commit": commit}
    journal.add_input(db, team.id, "Reviewed", dumps(said))
    return Word(task_id, team)


def open_request(db: apsw.Connection, team_id: str, key: str) -> str | None:
    """The request that this member was asked with and has not answered, if there is one."""
    asked, answered = _ask_of(db, team_id, key)
    return asked if answered is None else None


def _ask_of(db: apsw.Connection, team_id: str, key: str) -> tuple[str | None, str | None]:
    """The request that waits for this member's answer, and what it answered already, heard or not yet."""
    row = one(db, TEAMS["member_card"], team_id, key)
    if row is None or row[3] != "asked":
        return None, None
    asked, answered = row[4], row[5]
    if answered is None:
        unheard = one(db, journal.SQL["unheard_answer"], team_id, key, asked)
        if unheard is not None:
            answered = "approved" if unheard[0] else "rejected"
    return asked, answered


def _check_reason(reason: str, team: Card) -> None:
    rules.check_text("reason", reason)
    check_size("reason", reason, team.message_bytes)
