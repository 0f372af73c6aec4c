"""Nudges typed into a terminal: taken, or said not to be; and never at a person's cost."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headcount.runtime import Handle, SpawnSpec, TmuxRuntime, new_mark

PROGRAMS = Path(__file__).with_name("programs.py")
CHECK = "WITNESS CHECK: uncommitted changes in a.py. Signal done again when clean."


class Desk:
    """A program in a pane, and a person who sits before it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.runtime = TmuxRuntime(str(directory))

    def start(self, program: str) -> Handle:
        mark = str(new_mark(self.runtime.state_id, "web", "ada", 1))
        argv = (sys.executable, "-I", str(PROGRAMS), program)
        env = {"PATH": os.environ["PATH"], "TERM": "screen", "LC_ALL": "C.UTF-8"}
        self.handle = self.runtime.start(SpawnSpec(mark, argv, str(self.directory), env))
        wait_until(lambda: "ready" in self.screen())
        return self.handle

    def tmux(self, *words: str) -> str:
        return self.runtime._tmux(*words)

    def person_types(self, text: str) -> None:
        self.tmux("send-keys", "-t", self.handle.record.pane, "-l", text)
        wait_until(lambda: text in self.screen())

    def person_presses(self, key: str) -> None:
        self.tmux("send-keys", "-t", self.handle.record.pane, key)

    def in_copy_mode(self) -> bool:
        return (
            self.tmux("display-message", "-p", "-t", self.handle.record.pane, "#{pane_in_mode}").strip()
            == "1"
        )

    def screen(self) -> str:
        return self.runtime.capture(self.handle)

    def heard(self) -> list[str]:
        path = self.directory / "heard"
        return path.read_text().splitlines() if path.exists() else []

    def wake(self) -> None:
        (self.directory / "wake").touch()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    if hasattr(desk, "handle"):
        desk.runtime.kill(desk.handle)
        desk.handle.close()
    desk.runtime._ask("kill-server")
    desk.runtime.close()


def wait_until(condition: Callable[[], object], limit_s: float = 10) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "did not come true in time"
        time.sleep(0.02)


@pytest.mark.parametrize("program", ["reader", "editor"])
def test_E10_a_nudge_is_typed_submitted_and_seen_to_be_read(desk: Desk, program: str) -> None:
    handle = desk.start(program)
    assert desk.runtime.nudge(handle, CHECK, tag="n1")
    assert desk.heard() == [CHECK]


def test_E10_several_lines_are_one_text_to_a_client_that_knows_bracketed_paste(desk: Desk) -> None:
    handle = desk.start("editor")
    assert desk.runtime.nudge(handle, "WITNESS VERIFICATION FAILED\n\n  - a.py\n  - b.py", tag="n1")
    assert desk.heard() == ["WITNESS VERIFICATION FAILED\\n\\n  - a.py\\n  - b.py"]


@pytest.mark.parametrize("program", ["reader", "editor"])
def test_half_a_line_of_a_person_is_put_aside_and_put_back(desk: Desk, program: str) -> None:
    handle = desk.start(program)
    desk.person_types("please lo")
    assert desk.runtime.nudge(handle, CHECK, tag="n1")
    assert desk.heard() == [CHECK]
    desk.person_types("ok at it")
    desk.person_presses("Enter")
    wait_until(lambda: len(desk.heard()) == 2)
    assert desk.heard()[1] == "please look at it"


@pytest.mark.parametrize("program", ["reader", "editor"])
def test_a_person_in_copy_mode_is_not_disturbed(desk: Desk, program: str) -> None:
    handle = desk.start(program)
    desk.tmux("copy-mode", "-t", handle.record.pane)
    assert desk.runtime.nudge(handle, CHECK, tag="n1")
    assert desk.heard() == [CHECK]
    assert desk.in_copy_mode()


def test_E11_a_program_whose_screen_moves_is_busy_and_not_typed_at(desk: Desk) -> None:
    handle = desk.start("spinner")
    assert not desk.runtime.nudge(handle, CHECK, tag="n1")
    assert "WITNESS" not in desk.screen()
    desk.wake()
    wait_until(lambda: desk.runtime.nudge(handle, CHECK, tag="n1"))
    wait_until(lambda: desk.heard() == [CHECK])


def test_E11_what_is_urgent_is_typed_into_a_busy_terminal_too(desk: Desk) -> None:
    handle = desk.start("spinner")
    desk.runtime.nudge(handle, CHECK, urgent=True, tag="n1")
    desk.wake()
    wait_until(lambda: desk.runtime.nudge(handle, CHECK, urgent=True, tag="n1"))
    assert desk.heard() == [CHECK]


def test_E10_what_waits_in_the_terminal_is_not_claimed_and_not_typed_twice(desk: Desk) -> None:
    handle = desk.start("sleeper")
    assert not desk.runtime.nudge(handle, CHECK, tag="n1")
    # Another process, after a crash, knows of it too.
    assert not TmuxRuntime(str(desk.directory)).nudge(handle, CHECK, tag="n1")
    desk.wake()
    wait_until(lambda: desk.runtime.nudge(handle, CHECK, tag="n1"))
    assert desk.heard() == [CHECK]
    assert desk.runtime.nudge(handle, CHECK, tag="n1"), "it was taken, and stays so"
    assert desk.heard() == [CHECK]
    assert desk.runtime.nudge(handle, CHECK, tag="n2")
    assert desk.heard() == [CHECK, CHECK]


def test_E10_a_program_that_takes_nothing_is_reported_and_nothing_is_left_on_its_line(desk: Desk) -> None:
    handle = desk.start("deaf")
    assert not desk.runtime.nudge(handle, CHECK, tag="n1")
    assert desk.heard() == []


def test_E10_nobody_claims_to_have_nudged_what_is_gone(desk: Desk) -> None:
    handle = desk.start("reader")
    desk.runtime.kill(handle)
    assert not desk.runtime.nudge(handle, CHECK, tag="n1")
