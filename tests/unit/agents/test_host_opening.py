"""The first words to a client in a terminal, and which mail is read after them: what was shown."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from headcount.agents.host.prompts import NOTHING_YET, Opening, with_task
from headcount.ports import Mail


class Desk:
    """A mailbox, and what of it was read."""

    def __init__(self) -> None:
        self.mail: list[Mail] = []
        self.read: list[str] = []

    def put(self, id: str, subject: str, body: str) -> None:
        self.mail.append(Mail(id, "t", "lead", "ann", subject, body, sent_at=1.0))

    def open(self, task: str) -> Opening:
        reports: Any = SimpleNamespace(
            unread=lambda: [one for one in self.mail if one.id not in self.read],
            mark_read=lambda shown: self.read.extend(one.id for one in shown),
        )
        return Opening(reports, task)


@pytest.fixture
def desk() -> Desk:
    desk = Desk()
    desk.put("m1", "Your task", "Fix it.\r\nThen commit.\n")
    return desk


def test_neither_the_task_nor_mail_is_in_the_first_words(desk: Desk) -> None:
    """They are on a command line, which other users can read."""
    alone = desk.open("Fix it.\nThen commit.").words()
    desk.put("m2", "Careful", "Not on main.")
    words = desk.open("Fix it.\nThen commit.").words()
    for secret in ("Fix", "commit", "Careful", "main"):
        assert secret not in words
    assert words.startswith(alone) and "inbox" in words and "inbox" not in alone


def test_the_task_is_at_the_end_of_the_instructions() -> None:
    told = with_task("You are ann.", "- Fix it.\n- Then commit.")
    assert told == "You are ann.\n\n# Your task\n\n- Fix it.\n- Then commit.\n"
    assert with_task("You are ann.", "") == "You are ann."


def test_a_task_that_is_too_long_is_cut_and_says_where_the_rest_is() -> None:
    told = with_task("You are ann.", "Fix it.\0\n" + "x" * 200_000)
    assert len(told.encode()) < 128 * 1024 and "\0" not in told and "$HEADCOUNT_PROMPT_FILE" in told


def test_the_task_is_read_once_the_first_words_were_answered_and_other_mail_is_not(desk: Desk) -> None:
    desk.put("m2", "Careful", "Not on main.")
    opening = desk.open("Fix it.\nThen commit.")
    assert opening.words() == opening.words()
    assert desk.read == []
    opening.answered()
    opening.answered()
    assert desk.read == ["m1"]


def test_without_a_task_an_empty_mail_is_not_taken_for_one(desk: Desk) -> None:
    desk.put("m2", "Stop", "")
    opening = desk.open("")
    assert opening.words() == NOTHING_YET
    opening.answered()
    assert desk.read == []
