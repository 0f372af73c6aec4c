"""The first words to a client in a terminal, which are on its command line: other users can read them.

So the task is at the end of the client's instructions, which are in a file, and mail stays in the mailbox.
The task is in the mailbox too, and counts as read once those first words were answered.
"""

from __future__ import annotations

import time

from headcount.cli.member.prompts import MOST, NOTHING_YET, cut
from headcount.cli.member.shown import plain
from headcount.store import mailbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headcount.cli.member.call import Call
    from headcount.store.mailbox import Row

_TASK = "Your task is at the end of your instructions, under “Your task”. Begin with it."
_MAIL = " There is mail in your inbox, too."


def with_task(instructions: str, task: str) -> str:
    """The instructions of a client in a terminal."""
    told = cut(plain(task), MOST, "the file $HEADCOUNT_PROMPT_FILE")
    return f"{instructions}\n\n# Your task\n\n{told}\n" if told else instructions


class Opening:
    def __init__(self, call: Call, task: str) -> None:
        self._call = call
        self._task = task
        self._shown: list[str] = []

    def words(self) -> str:
        """For a conversation that begins now."""
        team = self._call.team()
        with self._call.read():
            mail = mailbox.inbox(self._call.db, team.id, self._call.caller.boxes, True)
        self._shown = [row[0] for row in mail if self._is_task(row)]
        if not self._task:
            return NOTHING_YET
        return _TASK + (_MAIL if len(mail) > len(self._shown) else "")

    def _is_task(self, row: Row) -> bool:
        """However a file may have changed its ends of lines."""
        return bool(self._task) and row[5].split() == self._task.split()

    def answered(self) -> None:
        if not self._shown:
            return
        with self._call.write() as db:
            mailbox.mark_read(db, self._call.team().id, self._shown, time.time())
        self._shown = []
