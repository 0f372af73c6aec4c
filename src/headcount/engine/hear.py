"""Read, step, commit: one transaction in which events become a new state and everything that follows from it.

Front ends and the engine share this. What members said since (the inputs) is heard first, in the order in
which it came, so nobody is judged by a state that an earlier word of theirs would have changed.
"""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, NamedTuple

from headcount.ports import Mail
from headcount.protocol.effects import Act, GiveBackTasks, Note, Post, Seal
from headcount.protocol.step import step

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headcount.domain.policy import Policy
    from headcount.ports import Tx
    from headcount.protocol.effects import Effect
    from headcount.protocol.events import Event
    from headcount.protocol.team import Team


class Heard(NamedTuple):
    team: Team
    effects: tuple[Effect, ...]

    @property
    def channels(self) -> set[str]:
        """Whom to wake once this is durable: who has new mail, the engine, and who watches the team."""
        boxes = {f"{self.team.id}/{e.to}" for e in self.effects if isinstance(e, Post)}
        return boxes | {"engine", f"team/{self.team.name}"}


def hear(tx: Tx, team: Team, events: Iterable[Event], policy: Policy) -> Heard:
    """Step through all that was said, then `events`; write what follows into the caller's transaction."""
    before = team
    effects: list[Effect] = []
    for event in (*tx.take_inputs(team.id), *events):
        team, more = step(team, event, policy)
        effects.extend(more)
    tx.save_team(before, team)
    write_effects(tx, team, effects)
    return Heard(team, tuple(effects))


def write_effects(tx: Tx, team: Team, effects: Iterable[Effect]) -> None:
    """Each kind is one kind of row. Mail goes out before a mailbox is sealed, in the order of the effects."""
    notes: list[Note] = []
    acts: list[Act] = []
    for effect in effects:
        match effect:
            case Note():
                notes.append(effect)
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
