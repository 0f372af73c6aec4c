"""What a member reports about itself: an answer, a done signal, that it is idle, a review.

Each is checked at once, so that its author learns of a mistake, and stored as an input: durable before it is
answered, applied by the next step. A member reports only for itself: its token says who it is.

On the path of every member command: imports next to nothing.
"""

from __future__ import annotations

from headcount.app.mail import write_mail
from headcount.domain import templates
from headcount.domain.input_checks import check_choice, check_text, unknown
from headcount.domain.names import LEAD, WITNESS, check_size, show
from headcount.errors import Declined, UsageError
from headcount.protocol import authority
from headcount.protocol.mailboxes import ENGINE
from headcount.protocol.task_list import check_owner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headcount.app.session import Session
    from headcount.domain.records import Task, TeamCard
    from headcount.ports import Tx

PASS = "pass"
CHANGES = "changes"


# --- answering a request to stand down -------------------------------------------------------------------


def answer(
    session: Session,
    request_id: str | None,
    approve: bool,
    reason: str = "",
    team: str | None = None,
    to: str = LEAD,
) -> tuple[str, str | None]:
    """Answer the open request; its id, and that of the mail that says so.

    The first answer counts. The same one again changes nothing; another one is recorded and refused (A10).
    """
    if not approve and not reason.strip():
        raise UsageError("A rejection needs a reason", "reason is missing", code="missing-reason")
    verdict = "approved" if approve else "rejected"
    channels = [ENGINE]
    mail_id = None
    with session.write("answer", team) as (tx, card):
        key = session.caller.who
        asked, answered = _asked(tx, card, key)
        request_id = _check_request(key, asked, request_id)
        _check_reason(reason, card)
        if answered != verdict:
            fields = {"key": key, "request_id": request_id, "approve": approve, "reason": reason}
            tx.add_report(card.id, "Answered", fields)
        if answered is None:
            more = {"type": "shutdown_response", "request_id": request_id}
            sent = write_mail(tx, card, session, to, f"Shutdown {verdict}", reason, **more)
            mail_id = sent.ids[0]
            channels += sent.channels
    session.store.ring(channels)
    if answered not in (None, verdict):
        raise Declined(
            f"{'Approved' if approve else 'Rejected'} too late",
            f"you have answered {request_id} already, and the first answer counts",
            code="already-answered",
        )
    return request_id, mail_id


def open_request(session: Session, team: str | None = None) -> str | None:
    """The request that the caller was asked with and has not answered, if there is one."""
    if not session.caller.is_member:
        return None
    name = session.pick_team(team)
    with session.store.read() as tx:
        card = session.find_team(tx, name)
        asked, answered = _asked(tx, card, session.caller.who)
    return asked if answered is None else None


def _asked(tx: Tx, team: TeamCard, key: str) -> tuple[str | None, str | None]:
    """The request that a member was asked with, and its answer, whether or not a step has applied it."""
    member = tx.member_card(team.id, key)
    if member is None or member.state != "asked" or member.ask is None:
        return None, None
    return member.ask, member.answer or tx.unheard_answer(team.id, key, member.ask)


def _check_request(key: str, asked: str | None, request_id: str | None) -> str:
    """The request that an answer is for. A stale or unknown id is an error that names the field (A9, A11)."""
    if asked is None:
        raise Declined(
            "There is nothing to answer",
            f"{key} has not been asked to stand down" + (f" under {request_id}" if request_id else ""),
            ("Read your mail with `headcount inbox --unread`",),
            code="nothing-to-answer",
        )
    if request_id is not None and request_id != asked:
        raise UsageError(
            f"request_id {show(request_id)} is not the open request",
            f"the open request for {key} is {asked}",
            (f"Answer it with `headcount approve {asked}`",),
            code="unknown-request",
        )
    return asked


def _check_reason(reason: str, team: TeamCard) -> None:
    check_text("reason", reason)
    check_size("reason", reason, team.message_bytes)


# --- work ------------------------------------------------------------------------------------------------


def done(
    session: Session, task_id: str | None = None, verified: bool = False, team: str | None = None
) -> str | None:
    """Start an inspection: the witness gets the mail, the owner's task goes into review; the task's id."""
    with session.write("done", team) as (tx, card):
        key = session.caller.who
        if session.caller.kind == authority.WORKER:
            task_id = hand_in(tx, card, key, task_id)
        elif task_id is not None:
            find_task(tx, card, task_id)
        tx.add_report(card.id, "DoneSignalled", {"key": key, "task": task_id})
        member = tx.member_card(card.id, key)
        # A member that was started for a task may be done before the list says that it has it.
        named = task_id or (member.task if member is not None else None) or "no task"
        subject, body = templates.worker_done(card.name, named, verified)
        sent = write_mail(tx, card, session, WITNESS, subject, body, template=templates.WORKER_DONE)
    session.store.ring([ENGINE, *sent.channels])
    return task_id


def hand_in(tx: Tx, team: TeamCard, key: str, task_id: str | None = None) -> str | None:
    """Put the owner's task into review. Without an id the only one it works on, or None."""
    if task_id is None:
        owned = tx.tasks(team.id, status="in_progress", owner=key)
        if len(owned) != 1:
            return None
        task = owned[0]
    else:
        task = find_task(tx, team, task_id)
        check_owner(task, key)
    if task.status == "in_progress":
        tx.save_task(task.changed(status="in_review", reason=""))
        tx.add_entry(team.id, "task_handed_in", task.id, {"by": key})
    return task.id


def find_task(tx: Tx, team: TeamCard, task_id: str) -> Task:
    task = tx.find_task(team.id, task_id)
    if task is None:
        raise unknown("task", task_id, [other.id for other in tx.tasks(team.id)])
    return task


def idle(session: Session, team: str | None = None) -> None:
    """Report that the member has nothing to do; void once it claims a task."""
    with session.write("idle", team, appends=True) as (tx, card):
        key = session.caller.who
        tx.add_report(card.id, "IdleReported", {"key": key})
        sent = write_mail(tx, card, session, WITNESS, "Idle", f"{key} has nothing to do.", type="idle")
    session.store.ring([ENGINE, *sent.channels])


def review(session: Session, task_id: str, verdict: str, words: str, team: str | None = None) -> None:
    """A reviewer's verdict, bound to the commit that it was given."""
    with session.write("review", team, appends=True) as (tx, card):
        if session.caller.kind == authority.OPERATOR:
            raise Declined(
                "The operator's review would count for nothing",
                "a review is bound to a reviewer and to the commit that it was given",
                (f"Complete the task with `headcount task complete {task_id}`",),
                code="no-reviewer",
            )
        check_choice("verdict", verdict, (PASS, CHANGES))
        if verdict == CHANGES and not words.strip():
            raise UsageError("Changes need a reason", "reason is empty", code="missing-reason")
        if find_task(tx, card, task_id).status == "complete":
            raise Declined(f"{task_id} is complete", "its review has ended", code="review-ended")
        _check_reason(words, card)
        key = session.caller.who
        commit = str((tx.fact(card.id, key, "reviewing") or {}).get("commit", ""))
        fields = {"key": key, "task": task_id, "verdict": verdict, "words": words, "commit": commit}
        tx.add_report(card.id, "Reviewed", fields)
    session.store.ring([ENGINE])
