"""What one prompt of a client holds: the brief, the task, and the mail that fits.

A message may be nearly as long as the limit, and several may wait. A message that does not fit waits for
the next turn. Of a message that alone is too long, the prompt holds the beginning and says where the rest
is.
"""

from __future__ import annotations

from headcount.domain.mail_text import message_text, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headcount.agents.host import Reports
    from headcount.domain.records import Mail

NOTHING_YET = "Look into your inbox, and begin."
MOST = 100_000  # bytes; clients put words of their own beside it


def tell(mail: list[Mail], most: int = MOST) -> tuple[str, list[Mail]]:
    """Return the prompt of the messages that fit, oldest first, and their ids. The first always fits."""
    text = ""
    told: list[Mail] = []
    for one in mail:
        more = cut(message_text(one), most, f"`headcount read {one.id}`")
        if told and _size(text) + _size(more) > most:
            break
        text, told = f"{text}\n{more}" if told else more, [*told, one]
    return text, told


def cut(text: str, most: int, whole: str) -> str:
    """`whole` is where all of it can be read."""
    if _size(text) <= most:
        return text
    begin = text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore")
    return f"{begin}\n(It goes on; the whole of it: {whole})\n"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


# --- the first prompt in a terminal ----------------------------------------------------------------------
#
# Other users can read it, because it is on the client's command line. So the task is at the end of the
# client's instructions, which are in a file, and mail stays in the mailbox. The task is in the mailbox too,
# and counts as read once the client has answered the first prompt.

_TASK = "Your task is at the end of your instructions, under “Your task”. Begin with it."
_MAIL = " There is mail in your inbox, too."


def with_task(instructions: str, task: str) -> str:
    """Return the instructions of a client in a terminal, with its task."""
    told = cut(plain(task), MOST, "the file $HEADCOUNT_PROMPT_FILE")
    return f"{instructions}\n\n# Your task\n\n{told}\n" if told else instructions


class Opening:
    def __init__(self, reports: Reports, task: str) -> None:
        self._reports = reports
        self._task = task
        self._shown: list[Mail] = []

    def words(self) -> str:
        """Return the first prompt of a new conversation."""
        unread = self._reports.unread()
        self._shown = [one for one in unread if self._is_task(one)]
        if not self._task:
            return NOTHING_YET
        return _TASK + (_MAIL if len(unread) > len(self._shown) else "")

    def _is_task(self, one: Mail) -> bool:
        """Return whether a message is the task, ignoring line ends."""
        return bool(self._task) and one.body.split() == self._task.split()

    def answered(self) -> None:
        self._reports.mark_read(self._shown)
        self._shown = []


# --- brief -----------------------------------------------------------------------------------------------
#
# The first lines of a member's instructions, before its task. Short: it is paid for in every turn.


_BRIEF = """\
You are {member}, a member of the team {team}. You work alone in this git worktree, on your own branch; \
commit there, and never touch other branches or worktrees. You speak by the tools of the server "headcount":
- inbox (unread, mark_read): your orders and mail. Look there first.
- send_message: ask the lead ("lead"). Nobody reads what you print.
- member_done: when your work is done and committed. You are inspected, and told if anything is left.
- Asked to stand down: send_message to "lead", type shutdown_response, the request_id and approve true, or \
false with a reason. Plain text is no answer.
Before member_done: all is committed; no stash, no untracked file; no merge or rebase is under way; nothing \
that you started still runs.
Where the tools are missing, the command `headcount` does the same: `headcount inbox`, `headcount done`."""


def brief(team: str, member: str) -> str:
    return _BRIEF.format(team=team, member=member)
