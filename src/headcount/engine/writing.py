"""What a step wants written, as rows of the same transaction."""

from __future__ import annotations

import time
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

from headcount.domain.policy import Limits
from headcount.domain.templates import WORKER_ESCALATION
from headcount.engine.mirror import SIGNALLED
from headcount.errors import UsageError
from headcount.ports import Mail
from headcount.protocol.effects import Act, GiveBackTasks, Note, Post, Seal
from headcount.protocol.member import State

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headcount.ports import Tx
    from headcount.protocol.effects import Effect
    from headcount.protocol.member import Member
    from headcount.protocol.team import Team


CAPTURED = "captured"  # a fact of an incarnation: its screen, the last time that it was captured


def utc_now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())


def write_effects(tx: Tx, team: Team, effects: Iterable[Effect]) -> None:
    """Each kind is one kind of row. Mail goes out before a mailbox is sealed, in the order of the effects."""
    notes: list[Note] = []
    acts: list[Act] = []
    for effect in effects:
        match effect:
            case Note():
                notes.append(effect)
                if effect.data.get("to") == State.INSPECTING:
                    tx.put_fact(team.id, effect.about, SIGNALLED, {"at": utc_now()})
            case Act():
                acts.append(effect)
            case Post():
                post_mail(tx, team, _with_screen(tx, team, effect))
            case GiveBackTasks(key, handed_in):
                given_back = tx.give_back_tasks(team.id, key, handed_in)
                notes.extend(Note("task_released", key, {"task": task}) for task in given_back)
            case Seal(key):
                bounced = tx.seal(team.id, key)
                if bounced:
                    notes.append(Note("mail_bounced", key, {"count": bounced}))
    tx.add_acts(team.id, acts)
    tx.note(team.id, notes)


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
        tx.post(mail)
    except UsageError as refusal:
        if refusal.code != "too-long":
            raise
        limits = Limits(**(tx.team_settings(team.id).get("limits") or {}))
        more = f"\n… cut here: all of it is in `headcount report {team.name} --json`\n"
        body = _cut(mail.body, limits.message_bytes, more)
        tx.post(replace(mail, subject=mail.subject[: limits.subject_characters], body=body))


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
