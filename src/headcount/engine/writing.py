"""Write the consequences of a step or a result as rows of one transaction."""

from __future__ import annotations

import time
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

from headcount.domain.policy import Limits
from headcount.domain.templates import WORKER_ESCALATION
from headcount.engine.delivery import deliver, release_tasks, seal_mailbox
from headcount.engine.open_asks import TOO_LATE, moot_asks
from headcount.errors import UsageError
from headcount.ports import Mail
from headcount.protocol.effects import Note, Post
from headcount.protocol.happened import MemberMoved
from headcount.protocol.member import State

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headcount.engine.job import Result
    from headcount.ports import Tx
    from headcount.protocol.effects import Ready
    from headcount.protocol.member import Member
    from headcount.protocol.team import Team


CAPTURED = "captured"  # a fact of an incarnation: its screen, the last time that it was captured
SIGNALLED = "signalled"  # a fact of an incarnation: when its last inspection was ordered
NOTIFY_FAILED = "notify_failed"  # an entry of the journal: a way to notify has failed
BROKEN = "broken"  # a fact of a team that a bug of ours holds up: `error`, or nothing


def utc_now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())


def write_result(tx: Tx, team: Team, result: Result) -> None:
    """All that is durable of a result, beside what its events lead to."""
    for (about, name), value in result.outcome.facts.items():
        tx.put_fact(team.id, about, name, value)
    tx.note(team.id, _unsaid(tx, team, result.outcome.notes))
    for mail in result.outcome.mail:
        post_mail(tx, team, mail)
    if result.act is not None:
        tx.end_act(team.id, result.act.id)


def _unsaid(tx: Tx, team: Team, notes: Iterable[Note]) -> list[Note]:
    """Leave out a way to notify that has failed before: its failure is in the journal once."""
    found = list(notes)
    if not any(note.kind == NOTIFY_FAILED for note in found):
        return found
    said = {entry.data["way"] for entry in tx.journal(team.id, kinds=(NOTIFY_FAILED,))}
    return [note for note in found if note.kind != NOTIFY_FAILED or note.data["way"] not in said]


def write_ready(tx: Tx, team: Team, ready: Ready) -> None:
    """The parts of `Ready` that belong to the transaction, in its order. Acts are stored as pending."""
    entries = list(ready.entries)
    for post in ready.mail:
        post_mail(tx, team, _with_screen(tx, team, post))
    for event in ready.happened:
        if isinstance(event, MemberMoved) and event.after is State.INSPECTING:
            tx.put_fact(team.id, event.key, SIGNALLED, {"at": utc_now()})
        if isinstance(event, MemberMoved) and event.after in TOO_LATE:
            entries.extend(moot_asks(tx, team.id, event.key))
    for key in ready.merged_only:
        tx.put_fact(team.id, key, "start", {**(tx.fact(team.id, key, "start") or {}), "require_merged": True})
    _list_tasks(tx, team, ready)
    for released in ready.released:
        given_back = release_tasks(tx, team.id, released.key, released.handed_in)
        entries.extend(Note("task_released", released.key, {"task": task}) for task in given_back)
    for key in ready.sealed:
        bounced = seal_mailbox(tx, team.id, key)
        if bounced:
            entries.append(Note("mail_bounced", key, {"count": bounced}))
    tx.add_acts(team.id, ready.acts)
    tx.note(team.id, entries)


def _list_tasks(tx: Tx, team: Team, ready: Ready) -> None:
    listed = {status.task: status for status in ready.listed}
    for task in tx.tasks(team.id) if listed else ():
        if (now := listed.get(task.id)) is not None:
            tx.save_task(task.changed(status=now.status, owner=now.owner, reason=now.reason))


def _with_screen(tx: Tx, team: Team, post: Post) -> Post:
    """An escalation with the member's last captured screen, if there is one."""
    if post.template != WORKER_ESCALATION or not post.about:
        return post
    captured = tx.fact(team.id, post.about, CAPTURED) or {}
    screen = str(captured.get("screen", "")).strip()
    if not screen:
        return post
    return replace(post, body=f"{post.body}\n## Screen\n{screen}\n")


def post_mail(tx: Tx, team: Team, post: Post) -> None:
    """Mail of the rules quotes what others have said, each within its limit. If it were refused, so would be
    the step, and every one after it: so what does not fit into one message is cut, and says so."""
    mail = new_mail(team, post)
    try:
        deliver(tx, mail)
    except UsageError as refusal:
        if refusal.code != "too-long":
            raise
        limits = Limits(**(tx.team_settings(team.id).get("limits") or {}))
        more = f"\n… cut here: all of it is in `headcount report {team.name} --json`\n"
        body = _cut(mail.body, limits.message_bytes, more)
        deliver(tx, mail.changed(subject=mail.subject[: limits.subject_characters], body=body))


def _cut(text: str, limit: int, more: str) -> str:
    data = text.encode()
    if len(data) <= limit:
        return text
    room = max(0, limit - len(more.encode()))
    return (data[:room].decode(errors="ignore") + more).encode()[:limit].decode(errors="ignore")


def new_mail(team: Team, post: Post) -> Mail:
    return Mail(
        id=uuid.uuid4().hex,
        team=team.id,
        sender=post.sender,
        to=post.to,
        subject=post.subject,
        body=post.body,
        type=post.type,
        template=post.template,
        request_id=post.request_id,
        priority=post.priority,
        sent_at=time.time(),
    )


def first_mail(member: Member, prompt: str) -> Post:
    """Durable before the process is: an agent that has no other way to its prompt reads its mail."""
    return Post(member.key, "Your task", prompt, sender="lead")
