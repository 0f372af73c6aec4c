"""The first words to a client in a terminal: its task, and the mail that came before it could run.

Mail is read only when it was shown. The task is in the mailbox too, and counts as read once those words were
answered. What else is there is told to a client that has no hooks; with hooks, they show it, and say so.
"""

from __future__ import annotations

import time

from headcount.cli.member.prompts import MOST, NOTHING_YET, cut, tell
from headcount.cli.member.shown import plain
from headcount.store import mailbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headcount.cli.member.call import Call
    from headcount.store.mailbox import Row

_HALF = MOST // 2  # for the task, and as much for what came besides


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
        besides = [] if self._hooked else [row for row in mail if not self._is_task(row)]
        news, told = tell(besides, _HALF)
        self._shown = [row[0] for row in mail if row in told or self._is_task(row)]
        left = f"{len(besides) - len(told)} more in your inbox.\n" if len(besides) > len(told) else ""
        task = cut(plain(self._task), _HALF, "the file $HEADCOUNT_PROMPT_FILE") or NOTHING_YET
        return task + (f"\n\nNew mail:\n{news}{left}" if news else "")

    def _is_task(self, row: Row) -> bool:
        """However a file may have changed its ends of lines."""
        return bool(self._task) and row[5].split() == self._task.split()

    def answered(self) -> None:
        if not self._shown:
            return
        with self._call.write() as db:
            mailbox.mark_read(db, self._call.team().id, self._shown, time.time())
        self._shown = []
