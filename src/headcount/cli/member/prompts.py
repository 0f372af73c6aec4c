"""What one prompt of a client holds: a message may be nearly as long as its limit, and several may wait.

What does not fit waits for the next turn; of what alone is too long the beginning is told, and where the rest
is.
"""

from __future__ import annotations

from headcount.cli.member.shown import message_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headcount.store.mailbox import Row

NOTHING_YET = "Look into your inbox, and begin."
MOST = 100_000  # bytes; clients put words of their own beside it


def tell(mail: list[Row], most: int = MOST) -> tuple[str, list[Row]]:
    """The messages that fit, the oldest first, and which they are; the first one in any case."""
    text = ""
    told: list[Row] = []
    for row in mail:
        more = cut(message_text(row), most, f"`headcount read {row[0]}`")
        if told and _size(text) + _size(more) > most:
            break
        text, told = f"{text}\n{more}" if told else more, [*told, row]
    return text, told


def cut(text: str, most: int, whole: str) -> str:
    """`whole` is where all of it can be read."""
    if _size(text) <= most:
        return text
    begin = text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore")
    return f"{begin}\n(It goes on; the whole of it: {whole})\n"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
