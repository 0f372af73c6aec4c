"""What a step wants written, as rows of the same transaction."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING

from headcount.engine.mirror import SIGNALLED
from headcount.ports import Mail
from headcount.protocol.effects import Act, GiveBackTasks, Note, Post, Seal
from headcount.protocol.member import State

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headcount.ports import Tx
    from headcount.protocol.effects import Effect
    from headcount.protocol.member import Member
    from headcount.protocol.team import Team


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
                tx.post(new_mail(team, effect))
            case GiveBackTasks(key):
                given_back = tx.give_back_tasks(team.id, key)
                notes.extend(Note("task_released", key, {"task": task}) for task in given_back)
            case Seal(key):
                bounced = tx.seal(team.id, key)
                if bounced:
                    notes.append(Note("mail_bounced", key, {"count": bounced}))
    tx.add_acts(team.id, acts)
    tx.note(team.id, notes)


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
