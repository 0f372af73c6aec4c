"""A dialog on a client's screen, looked at: told once when it stays, told when it is over, at little cost."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from headcount.agents.host import screen_dialogs
from headcount.agents.registry import CLIENTS
from headcount.errors import StoreError

PROMPT = "● Done.\n────────────\n❯ \n────────────"
DIALOG = " Bash command\n touch x\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel"
NEXT = DIALOG.replace("Do you want to proceed?", "Do you want to create y?")
TOLD, OVER = ("told", "Do you want to proceed?"), "over"


class Desk:
    """A terminal, a clock, and what the team was told."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.shown = PROMPT
        self.looks = self.changes = 0
        self.down: Exception | None = None
        self.said: list[Any] = []
        reports: Any = SimpleNamespace(
            report_dialog=lambda question, screen: self._say(("told", question)),
            update_dialog=lambda question: self._say(("shown", question)),
            end_dialog=lambda: self._say(OVER),
        )
        asks = CLIENTS["claude"].screen.asks
        self._dialogs = screen_dialogs.Dialogs(reports, asks, self, lambda: self.now)  # type: ignore[arg-type]

    def _say(self, what: Any) -> None:
        if self.down:
            raise self.down
        self.said.append(what)

    def printed(self) -> int:
        return self.changes

    def read(self) -> str:
        self.looks += 1
        return self.shown

    def pass_time(self, seconds: int, shown: str, *, moving: bool = False) -> list[Any]:
        """What was said meanwhile."""
        self.changes += shown != self.shown
        self.shown, self.said, self.looks = shown, [], 0
        for _ in range(seconds):
            self.now += 1.0
            self.changes += moving
            self._dialogs.look()
        return self.said


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_screen_at_rest_is_looked_at_once_and_one_that_moves_now_and_then(desk: Desk) -> None:
    assert desk.pass_time(600, PROMPT) == [] and desk.looks == 1
    assert desk.pass_time(600, PROMPT, moving=True) == [] and desk.looks <= 120


@pytest.mark.parametrize("moving", [False, True], ids=["still", "blinking"])
def test_a_dialog_that_stays_is_told_once_and_its_end_too(desk: Desk, moving: bool) -> None:
    desk.pass_time(10, PROMPT)
    assert desk.pass_time(3, DIALOG, moving=moving) == []
    assert desk.pass_time(60, DIALOG, moving=moving) == [TOLD]
    assert desk.pass_time(3, PROMPT) == [OVER]
    assert desk.pass_time(60, PROMPT) == []


def test_a_dialog_that_is_answered_at_once_is_told_to_nobody(desk: Desk) -> None:
    desk.pass_time(10, PROMPT)
    assert desk.pass_time(3, DIALOG) == []
    assert desk.pass_time(60, PROMPT) == []


def test_one_dialog_after_another_is_told_once_and_shown_as_it_is_now(desk: Desk) -> None:
    assert desk.pass_time(20, DIALOG) == [TOLD]
    assert desk.pass_time(20, NEXT) == [("shown", "Do you want to create y?")]
    assert desk.pass_time(20, PROMPT) == [OVER]
    assert desk.pass_time(20, DIALOG) == [TOLD]


def test_what_the_store_could_not_take_is_told_later(desk: Desk) -> None:
    for shown, said in ((DIALOG, TOLD), (PROMPT, OVER)):
        desk.down = StoreError("The state is busy")
        with pytest.raises(StoreError):
            desk.pass_time(20, shown)
        desk.down = None
        assert desk.pass_time(20, shown) == [said]
