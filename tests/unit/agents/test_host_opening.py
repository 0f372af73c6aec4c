"""The first words to a client in a terminal, and which mail is read after them: what was shown."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from headcount.agents.host.prompts import NOTHING_YET, Opening
from headcount.ports import Mail


class Desk:
    """A mailbox, and what of it was read."""

    def __init__(self) -> None:
        self.mail: list[Mail] = []
        self.read: list[str] = []

    def put(self, id: str, subject: str, body: str) -> None:
        self.mail.append(Mail(id, "t", "lead", "ann", subject, body, sent_at=1.0))

    def open(self, task: str, *, hooked: bool) -> Opening:
        reports: Any = SimpleNamespace(
            unread=lambda: [one for one in self.mail if one.id not in self.read],
            mark_read=lambda shown: self.read.extend(one.id for one in shown),
        )
        return Opening(reports, task, hooked)


@pytest.fixture
def desk() -> Desk:
    desk = Desk()
    desk.put("m1", "Your task", "Fix it.\r\nThen commit.\n")
    return desk


def test_mail_from_before_the_start_is_told_to_a_client_without_hooks_and_read_then(desk: Desk) -> None:
    desk.put("m2", "Careful", "Not on main.")
    opening = desk.open("Fix it.\nThen commit.", hooked=False)
    words = opening.words()
    assert words.startswith("Fix it.\nThen commit.\n\nNew mail:\nm2 from lead")
    assert "Not on main." in words and words.count("Fix it.") == 1
    assert desk.read == []
    opening.answered()
    assert desk.read == ["m1", "m2"]


def test_mail_that_the_hooks_will_show_is_neither_told_nor_marked_read(desk: Desk) -> None:
    desk.put("m2", "Careful", "Not on main.")
    opening = desk.open("Fix it.\nThen commit.", hooked=True)
    assert opening.words() == "Fix it.\nThen commit."
    opening.answered()
    assert desk.read == ["m1"]


def test_mail_that_comes_after_the_first_words_stays_unread(desk: Desk) -> None:
    opening = desk.open("Fix it.\nThen commit.", hooked=False)
    opening.words()
    desk.put("m2", "Careful", "Not on main.")
    opening.answered()
    opening.answered()
    assert desk.read == ["m1"]


def test_words_that_were_never_answered_are_said_again_with_the_mail_in_them(desk: Desk) -> None:
    desk.put("m2", "Careful", "Not on main.")
    opening = desk.open("Fix it.\nThen commit.", hooked=False)
    assert opening.words() == opening.words()
    opening.answered()
    assert opening.words() == "Fix it.\nThen commit."


def test_without_a_task_an_empty_mail_is_not_taken_for_one(desk: Desk) -> None:
    desk.put("m2", "Stop", "")
    opening = desk.open("", hooked=True)
    assert opening.words() == NOTHING_YET
    opening.answered()
    assert desk.read == []


@pytest.mark.parametrize("body", ["x" * 90_000, "x\n" * 45_000, "é" * 45_000])
def test_first_words_are_never_longer_than_a_command_line_can_hold(desk: Desk, body: str) -> None:
    desk.mail.clear()
    for number in (2, 3, 4):
        desk.put(f"m{number}", "Long", body)
    opening = desk.open("Fix it.\0\n" + "x" * 200_000, hooked=False)
    words = opening.words()
    assert len(words.encode()) < 128 * 1024 and "\0" not in words
    assert "$HEADCOUNT_PROMPT_FILE" in words and "`headcount read m2`" in words
    assert "m3 from lead" not in words and words.endswith("2 more in your inbox.\n")
    opening.answered()
    assert desk.read == ["m2"]
