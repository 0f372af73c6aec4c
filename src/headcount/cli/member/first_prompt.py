"""Write the first prompt of a client in a terminal. It is on the command line, where other users can read
it.

The task is therefore in the client's instructions, which are in a file, and mail stays in the mailbox.
The task is in the mailbox too, and counts as read once the first prompt is answered.
"""

from __future__ import annotations

from headcount.app import mail
from headcount.cli.member.mail_text import plain
from headcount.cli.member.prompts import MOST, NOTHING_YET, cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headcount.cli.member.call import Call
    from headcount.domain.records import Mail

_TASK = "Your task is at the end of your instructions, under “Your task”. Begin with it."
_MAIL = " There is mail in your inbox, too."


def with_task(instructions: str, task: str) -> str:
    """Return the instructions of a client in a terminal, with its task."""
    told = cut(plain(task), MOST, "the file $HEADCOUNT_PROMPT_FILE")
    return f"{instructions}\n\n# Your task\n\n{told}\n" if told else instructions


class Opening:
    def __init__(self, call: Call, task: str) -> None:
        self._call = call
        self._task = task
        self._shown: list[Mail] = []

    def words(self) -> str:
        """Return the first prompt of a new conversation."""
        unread = mail.inbox(self._call.session, unread=True)
        self._shown = [one for one in unread if self._is_task(one)]
        if not self._task:
            return NOTHING_YET
        return _TASK + (_MAIL if len(unread) > len(self._shown) else "")

    def _is_task(self, one: Mail) -> bool:
        """Return whether a message is the task, ignoring line ends."""
        return bool(self._task) and one.body.split() == self._task.split()

    def answered(self) -> None:
        mail.mark_read(self._call.session, self._shown)
        self._shown = []
