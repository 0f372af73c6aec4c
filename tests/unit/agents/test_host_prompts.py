"""What a client is told in one prompt: as much as fits, whole messages where it can."""

from __future__ import annotations

import pytest

from headcount.agents.host.prompts import MOST, tell
from headcount.ports import Mail


def mail(id: str, body: str) -> Mail:
    return Mail(id, "t", "lead", "ann", "Subject", body, sent_at=1.0)


def test_all_that_fits_is_told_in_its_order() -> None:
    text, told = tell([mail("m1", "one"), mail("m2", "two")])
    assert [one.id for one in told] == ["m1", "m2"]
    assert text.index("one") < text.index("m2 from lead") < text.index("two")


def test_what_does_not_fit_waits_whole() -> None:
    text, told = tell([mail("m1", "x" * 60_000), mail("m2", "y" * 60_000), mail("m3", "z")])
    assert [one.id for one in told] == ["m1"]
    assert "x" * 60_000 in text and "y" not in text and "goes on" not in text


@pytest.mark.parametrize("body", ["x\n" * 50_000, "€" * 40_000, "x" * 1_000_000])
def test_a_message_that_alone_is_too_long_is_told_in_part_with_where_the_rest_is(body: str) -> None:
    text, told = tell([mail("m1", body), mail("m2", "two")])
    assert [one.id for one in told] == ["m1"]
    assert MOST <= len(text.encode()) < 128 * 1024 - 10_000
    assert text.startswith("m1 from lead") and "`headcount read m1`" in text


def test_without_mail_nothing_is_told() -> None:
    assert tell([]) == ("", [])
