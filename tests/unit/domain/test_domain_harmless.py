"""Nothing that a stranger wrote gives a terminal orders, and nothing invisible reaches a reader."""

from __future__ import annotations

import unicodedata

import pytest

from headcount.domain.display import printed, visible

ORDERS = [
    "\x1b]0;title\x07",
    "\x1b[2J",
    "\x1b[8m",
    "\x9b31m",
    "\x1bc",
    "\b\b",
    "\r",
    "\x00",
    "\u202e",
    "\x7f",
]


@pytest.mark.parametrize("order", ORDERS)
def test_an_order_to_the_terminal_is_shown_as_what_it_is_not_obeyed(order: str) -> None:
    shown = printed(f"before{order}after")
    assert not any(c in shown for c in "\x1b\x07\x9b\b\r\x00\x7f\u202e")
    assert "before" in shown and "after" in shown


def test_text_lines_and_our_own_colours_stay() -> None:
    for text in ("é 日本 🙂\n\ttab", "\x1b[31mred\x1b[0m", "a\u00a0b"):
        assert printed(text) == text
    assert printed("a\r\nb") == "a\nb"


# Letters and marks that nobody sees, by Unicode's DerivedCoreProperties (Default_Ignorable_Code_Point).
IGNORABLE = {0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x3164, *range(0xFE00, 0xFE10),
             0xFFA0, *range(0xE0100, 0xE01F0)}  # fmt: skip


def test_exactly_the_invisible_characters_are_left_out() -> None:
    gone = {"Cf", "Zl", "Zp", "Co"}
    ranges = (range(0x3200), range(0xE000, 0x14000), range(0x1B000, 0x1E000), range(0xE0000, 0xE0200))
    for number in (one for numbers in ranges for one in numbers):
        letter = chr(number)
        kind = unicodedata.category(letter)
        if kind != "Cn":  # unknown to this Python, and known to a newer one
            assert (visible(letter) == "") == (kind in gone or number in IGNORABLE), hex(number)
