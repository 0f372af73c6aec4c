"""Show a stranger's text and moments to people and models: text moves no cursor, and all of it is visible."""

from __future__ import annotations

import time

_REPLACED = "\N{REPLACEMENT CHARACTER}"
# C0 but newline and tab, DEL and C1: a terminal takes them for orders.
_CONTROLS = (*range(9), *range(11, 32), *range(127, 160))
# What turns the direction of the text around it: a line would read differently from what it is.
_DIRECTIONS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_ORDERS = dict.fromkeys((*_CONTROLS, *_DIRECTIONS), _REPLACED)
# Colours that we print ourselves (`cli.terminal_output.paint`).
_COLOURS = ("[0m", "[1m", "[2m", "[31m", "[32m", "[33m")

# Format characters, line and paragraph separators, private use (Unicode's Cf, Zl, Zp, Co), and letters and
# marks that Unicode calls ignorable (fillers, variation selectors), as ranges. A person sees none of them and
# a model reads them all: the 256 variation selectors can carry any text.
INVISIBLE = (
    (0xAD, 0xAD), (0x34F, 0x34F), (0x600, 0x605), (0x61C, 0x61C), (0x6DD, 0x6DD), (0x70F, 0x70F),
    (0x890, 0x891), (0x8E2, 0x8E2), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F),
    (0x2028, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xE000, 0xF8FF), (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB), (0x110BD, 0x110BD), (0x110CD, 0x110CD),
    (0x13430, 0x1343F),
    (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF), (0xF0000, 0xFFFFD), (0x100000, 0x10FFFD),
)  # fmt: skip


def printed(text: str) -> str:
    """Everything that headcount prints goes through this (`cli.streams`)."""
    if "\x1b" not in text:
        return text.replace("\r\n", "\n").translate(_ORDERS)
    first, *rest = text.replace("\r\n", "\n").split("\x1b")
    parts = [first.translate(_ORDERS)]
    for part in rest:
        parts += ("\x1b" if part.startswith(_COLOURS) else _REPLACED, part.translate(_ORDERS))
    return "".join(parts)


def visible(text: str) -> str:
    """Without what nobody can see. For mail, which people and models read alike."""
    return text if text.isascii() else "".join(filter(_is_visible, text))


def _is_visible(letter: str) -> bool:
    number = ord(letter)
    return number < 0xAD or not any(first <= number <= last for first, last in INVISIBLE)


# --- times -----------------------------------------------------------------------------------------------
#
# Moments, as everybody reads them.


def utc(at: float) -> str:
    """ISO 8601 in UTC, to the millisecond."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{int(at * 1000) % 1000:03d}+00:00"


def show_age(seconds: float) -> str:
    """Return how long ago something was, for people: "12 s", "4 min", "3 h", "2 d"."""
    whole = max(int(seconds), 0)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if whole >= size:
            return f"{whole // size} {unit}"
    return f"{whole} s"


def show_usd(dollars: float) -> str:
    """Return a cost for people: "$1.25", and "$0.0036" below a cent."""
    return f"${dollars:,.2f}" if dollars >= 0.01 or not dollars else f"${dollars:.4f}"


def show_bytes(count: int) -> str:
    """Return a size for people: "812 bytes", "1.4 MB"."""
    if count < 1000:
        return f"{count} bytes"
    size, unit = count / 1000, "kB"
    for larger in ("MB", "GB"):
        if size >= 999.95:
            size, unit = size / 1000, larger
    return f"{size:.1f} {unit}"
