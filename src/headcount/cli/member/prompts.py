"""Fit waiting messages into one prompt of a client.

Messages that do not fit wait for the next turn. A single message that is too long is cut, with a note
where the rest is.
"""

from __future__ import annotations

from headcount.cli.member.mail_text import message_text

TYPE_CHECKING = False
if TYPE_CHECKING:
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
