"""The dialog about a usage limit, looked at: parked once, tried again in time, lifted when it stays away."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from headcount.agents.host import screen_dialogs
from headcount.errors import StoreError

DIALOG = "│ Usage limit reached for all Pro models. │\n│ ● 1. Keep trying │"
PROMPT = "* Type your message"


class Desk:
    """A terminal, a clock, and what was said to the engine."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.shown = PROMPT
        self.looks = self.changes = 0
        self.down: Exception | None = None
        self.said: list[Any] = []
        reports: Any = SimpleNamespace(
            limit_end=lambda at, count: at or self.now + 10 * 2 ** (count - 1),
            park=lambda reason, until: self._say((reason, until)),
            lift_limit=lambda: self.said.append("over"),
        )
        self._attendant = screen_dialogs.Attendant(
            reports, r"(?s)Usage limit reached.*Keep trying", self, lambda: self.now  # type: ignore[arg-type]
        )  # fmt: skip

    def _say(self, what: Any) -> None:
        if self.down:
            raise self.down
        self.said.append(what)

    def printed(self) -> int:
        return self.changes

    def read(self) -> str:
        self.looks += 1
        return self.shown

    def press(self, keys: str) -> None:
        self.said.append(keys)

    def pass_time(self, seconds: int, shown: str) -> list[Any]:
        """What was said meanwhile."""
        self.changes += shown != self.shown
        self.shown, self.said = shown, []
        for _ in range(seconds):
            self.now += 1.0
            self._attendant.look()
        return self.said


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_nothing_is_said_or_pressed_without_the_dialog(desk: Desk) -> None:
    assert desk.pass_time(100, PROMPT) == []


def test_a_screen_on_which_nothing_is_printed_is_looked_at_only_when_something_is_due(desk: Desk) -> None:
    desk.pass_time(100, PROMPT)
    assert desk.looks == 1
    desk.pass_time(11, DIALOG)
    assert desk.looks == 2
    assert desk.pass_time(1, DIALOG) == ["\r"]
    assert desk.looks == 3


def test_a_limit_that_could_not_be_told_is_told_with_the_next_look(desk: Desk) -> None:
    desk.down = StoreError("The state is busy")
    with pytest.raises(StoreError):
        desk.pass_time(1, DIALOG)
    desk.down = None
    assert desk.pass_time(1, DIALOG) == [("Usage limit reached for all Pro models.", 1012.0)]


def test_the_member_is_parked_once_and_enter_is_pressed_when_it_should_be_over(desk: Desk) -> None:
    assert desk.pass_time(10, DIALOG) == [("Usage limit reached for all Pro models.", 1011.0)]
    assert desk.pass_time(2, DIALOG) == ["\r"]


def test_the_limit_is_lifted_once_when_the_dialog_has_stayed_away(desk: Desk) -> None:
    desk.pass_time(12, DIALOG)
    assert desk.pass_time(4, PROMPT) == []
    assert desk.pass_time(20, PROMPT) == ["over"]


def test_a_dialog_that_comes_back_parks_for_longer_and_lifts_nothing(desk: Desk) -> None:
    desk.pass_time(12, DIALOG)
    desk.pass_time(2, PROMPT)
    assert desk.pass_time(1, DIALOG) == [("Usage limit reached for all Pro models.", 1035.0)]


def test_the_time_that_the_dialog_names_is_waited_for(desk: Desk) -> None:
    named = DIALOG.replace("│ ●", "│ Access resets at 3:05 PM UTC. │\n│ ●")
    ((_, until),) = desk.pass_time(1, named)
    assert time.localtime(until - 60)[3:5] == (15, 5)  # to the end of that minute
