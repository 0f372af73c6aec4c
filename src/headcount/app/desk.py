"""Where members speak through the use cases. `store.saying` checks and keeps it, as on their own path."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from headcount.app import caller as callers
from headcount.errors import HeadcountError
from headcount.protocol import events as ev
from headcount.protocol.member import State
from headcount.store import rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headcount.app.app import App
    from headcount.ports import Tx
    from headcount.protocol.team import Team
    from headcount.store.saying import Speaker, Word


class TxDesk:
    """A desk (see `store.saying`) over any store."""

    def __init__(self, tx: Tx, team: Team, message_bytes: int) -> None:
        self._tx = tx
        self.team = team
        self.message_bytes = message_bytes

    def asked(self, key: str) -> tuple[str | None, str | None]:
        member = self.team.members[key]
        if member.state is not State.ASKED or member.ask is None:
            return None, None
        return member.ask, member.answer or self._tx.unheard_answer(self.team.id, key, member.ask)

    def task_status(self, task_id: str) -> str:
        tasks = {task.id: task.status for task in self._tx.tasks(self.team.id)}
        if task_id not in tasks:
            raise rules.unknown("task", task_id, tasks)
        return tasks[task_id]

    def hand_in(self, key: str, task_id: str | None) -> str | None:
        return self._tx.hand_in_task(self.team.id, key, task_id)

    def started_for(self, key: str) -> str | None:
        member = self.team.members.get(key)
        return member.task if member is not None else None

    def reviewing(self, key: str) -> str:
        given = self._tx.fact(self.team.id, key, "reviewing") or {}
        return str(given.get("commit", ""))

    def keep(self, kind: str, said: dict[str, Any]) -> None:
        self._tx.add_input(self.team.id, getattr(ev, kind)(**said))

    def post(self, speaker: Speaker, to: str, subject: str, body: str, **more: Any) -> tuple[str, str]:
        sent = self._tx.send(self.team.id, speaker.kind, speaker.sender, to, subject, body, **more)
        return sent.ids[0], sent.boxes[0]


def say(app: App, action: str, team: str | None, speak: Callable[[TxDesk], Word]) -> Word:
    """In one transaction, audited; whoever it concerns is woken after it."""
    name = app.pick_team(team)
    with audited(app, action, name), app.store.write() as tx:
        word = speak(TxDesk(tx, app.load(tx, name), app.limits.message_bytes))
    app.store.ring(word.channels)
    return word


@contextmanager
def audited(app: App, action: str, team: str) -> Iterator[None]:
    """Around a transaction: what was refused in it is rolled back, and noted in the journal all the same."""
    try:
        yield
    except HeadcountError as error:
        if rules.is_audited(error):
            with app.store.read() as tx:
                found = tx.load_team(team)
            callers.audit(app.store, app.caller, action, error, found.id if found else None)
        raise
