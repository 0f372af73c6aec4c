"""The first words to a client in a terminal: its task, and the mail that came before it could run.

Mail is read only when it was shown. The task is in the mailbox too, and counts as read once those words were
answered. What else is there is told to a client that has no hooks; with hooks, they show it, and say so.
"""

from __future__ import annotations

import time

from headcount.cli.member.shown import message_text
from headcount.store import mailbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headcount.cli.member.call import Call
    from headcount.store.mailbox import Row

NOTHING_YET = "Look into your inbox, and begin."


class Opening:
    def __init__(self, call: Call, task: str, hooked: bool) -> None:
        self._call = call
        self._task = task
        self._hooked = hooked
        self._shown: list[str] = []

    def words(self) -> str:
        """For a conversation that begins now."""
        team = self._call.team()
        with self._call.read():
            mail = mailbox.inbox(self._call.db, team.id, self._call.caller.boxes, True)
        told = [] if self._hooked else [row for row in mail if not self._is_task(row)]
        self._shown = [row[0] for row in mail if row in told or self._is_task(row)]
        news = "\n".join(message_text(row) for row in told)
        return (self._task or NOTHING_YET) + (f"\n\nNew mail:\n{news}" if news else "")

    def _is_task(self, row: Row) -> bool:
        """However a file may have changed its ends of lines."""
        return bool(self._task) and row[5].split() == self._task.split()

    def answered(self) -> None:
        if not self._shown:
            return
        with self._call.write() as db:
            mailbox.mark_read(db, self._call.team().id, self._shown, time.time())
        self._shown = []
