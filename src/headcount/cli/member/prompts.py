"""What a client is told in its prompt, which is one word of a command line: the kernel takes none of 128 KiB.

A message may be nearly as long as that, and several may wait. What does not fit waits for the next turn; of
what alone is too long the beginning is told, and where the rest is.
"""

from __future__ import annotations

from headcount.cli.member.shown import message_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headcount.domain.records import Mail

NOTHING_YET = "Look into your inbox, and begin."
MOST = 100_000  # bytes; clients put words of their own beside it


def tell(mail: list[Mail], most: int = MOST) -> tuple[str, list[Mail]]:
    """The messages that fit, the oldest first, and which they are; the first one in any case."""
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
