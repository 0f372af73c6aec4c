"""The first words to a client in a terminal, and which mail is read after them: what was shown."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from headcount.cli.member.opening import Opening, with_task
from headcount.cli.member.prompts import NOTHING_YET
from headcount.store import mailbox


class Desk:
    """A mailbox, and what of it was read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.mail: list[tuple[Any, ...]] = []
        self.read: list[str] = []
        monkeypatch.setattr(
            mailbox, "inbox", lambda *_: [row for row in self.mail if row[0] not in self.read]
        )
        monkeypatch.setattr(mailbox, "mark_read", lambda _db, _team, ids, _now: self.read.extend(ids))

    def put(self, id: str, subject: str, body: str) -> None:
        self.mail.append(
            (id, "t", "lead", "ann", subject, body, "message", None, None, "normal", 1.0, None, None, None)
        )

    def open(self, task: str) -> Opening:
        call: Any = SimpleNamespace(
            db=None, read=nullcontext, write=nullcontext,
            team=lambda: SimpleNamespace(id="t"), caller=SimpleNamespace(boxes=("ann",)),
        )  # fmt: skip
        return Opening(call, task)


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Desk:
    desk = Desk(monkeypatch)
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
