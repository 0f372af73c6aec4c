"""The first words to a client in a terminal: its task, and the mail that came before it could run.

Mail is read only when it was shown. The task is in the mailbox too, and counts as read once those words were
answered. What else is there is told to a client that has no hooks; with hooks, they show it, and say so.
"""

from __future__ import annotations

from headcount.app import mail
from headcount.cli.member.prompts import MOST, NOTHING_YET, cut, tell
from headcount.cli.member.shown import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headcount.cli.member.call import Call
    from headcount.domain.records import Mail

_HALF = MOST // 2  # for the task, and as much for what came besides


class Opening:
    def __init__(self, call: Call, task: str, hooked: bool) -> None:
        self._call = call
        self._task = task
        self._hooked = hooked
        self._shown: list[Mail] = []

    def words(self) -> str:
        """For a conversation that begins now."""
        unread = mail.inbox(self._call.session, unread=True)
        besides = [] if self._hooked else [one for one in unread if not self._is_task(one)]
        news, told = tell(besides, _HALF)
        self._shown = [one for one in unread if one in told or self._is_task(one)]
        left = f"{len(besides) - len(told)} more in your inbox.\n" if len(besides) > len(told) else ""
        task = cut(plain(self._task), _HALF, "the file $HEADCOUNT_PROMPT_FILE") or NOTHING_YET
        return task + (f"\n\nNew mail:\n{news}{left}" if news else "")

    def _is_task(self, one: Mail) -> bool:
        """However a file may have changed its ends of lines."""
        return bool(self._task) and one.body.split() == self._task.split()

    def answered(self) -> None:
        mail.mark_read(self._call.session, self._shown)
        self._shown = []
