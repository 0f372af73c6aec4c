"""Nudges typed into a terminal: taken, or said not to be; and never at a person's cost."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from headcount.runtime.tmux import TmuxRuntime

from .desk import CHECK, Desk, wait_until


@pytest.mark.parametrize("program", ["reader", "editor"])
def test_E10_a_nudge_is_typed_submitted_and_seen_to_be_read(desk: Desk, program: str) -> None:
    handle = desk.start(program)
    assert desk.runtime.nudge(handle, CHECK, tag="n1")
    desk.check_heard(CHECK)


def test_E10_several_members_are_nudged_at_once_and_each_hears_its_own(desk: Desk, tmp_path: Path) -> None:
    """As a stand-down does; all their terminals are one tmux server's."""
    places = [tmp_path / name for name in ("ada", "bob", "cyd", "dee", "eve")]
    for place in places:
        place.mkdir()
    handles = [desk.start_another(place.name, "editor", place) for place in places]
    try:
        with ThreadPoolExecutor(len(handles)) as pool:
            taken = list(
                pool.map(
                    lambda one: desk.runtime.nudge(one[0], f"For {one[1].name}."),
                    zip(handles, places, strict=True),
                )
            )
        assert taken == [True] * len(handles)
        wait_until(lambda: all((place / "heard").exists() for place in places))
        assert [(place / "heard").read_text() for place in places] == [f"For {p.name}.\n" for p in places]
    finally:
        for handle in handles:
            desk.runtime.kill(handle)
            handle.close()


def test_a_nudge_arrives_whole_whatever_the_locale_of_the_engine_is(desk: Desk) -> None:
    handle = desk.start("editor")
    code = (
        "from headcount.runtime.tmux import TmuxRuntime; import sys;"
        "runtime = TmuxRuntime(sys.argv[1]); handle = runtime.adopt(sys.argv[2]);"
        "sys.exit(not runtime.nudge(handle, 'Zeit f\\xfcr dich \\u2014 \\u6771\\u4eac'))"
    )
    poor = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    words = [sys.executable, "-c", code, str(desk.directory), handle.record.mark]
    subprocess.run(words, env={**os.environ, **poor}, check=True, timeout=60)
    desk.check_heard("Zeit für dich — 東京")


def test_E10_several_lines_are_one_text_to_a_client_that_knows_bracketed_paste(desk: Desk) -> None:
    handle = desk.start("editor")
    assert desk.runtime.nudge(handle, "WITNESS VERIFICATION FAILED\n\n  - a.py\n  - b.py", tag="n1")
    desk.check_heard("WITNESS VERIFICATION FAILED\\n\\n  - a.py\\n  - b.py")


@pytest.mark.parametrize("program", ["reader", "editor"])
def test_a_person_in_copy_mode_is_not_disturbed(desk: Desk, program: str) -> None:
    handle = desk.start(program)
    desk.tmux("copy-mode", "-t", handle.record.pane)
    assert desk.runtime.nudge(handle, CHECK, tag="n1")
    desk.check_heard(CHECK)
    assert desk.in_copy_mode()


def test_E11_a_program_whose_screen_moves_is_busy_and_not_typed_at(desk: Desk) -> None:
    handle = desk.start("spinner")
    assert not desk.runtime.nudge(handle, CHECK, tag="n1")
    assert "WITNESS" not in desk.screen()
    desk.wake()
    wait_until(lambda: desk.runtime.nudge(handle, CHECK, tag="n1"))
    desk.check_heard(CHECK)


def test_E11_what_is_urgent_is_typed_into_a_busy_terminal_too(desk: Desk) -> None:
    handle = desk.start("thinker")
    desk.person_types("wait, I")
    assert not desk.runtime.nudge(handle, CHECK, tag="n1")
    assert desk.runtime.nudge(handle, CHECK, urgent=True, tag="n2")
    desk.check_heard(CHECK)
    wait_until(lambda: "wait, I" in desk.screen().rpartition("thank you")[2])


def test_E11_a_program_that_prints_over_what_is_typed_is_left_alone_however_urgent_it_is(desk: Desk) -> None:
    """What a person has typed there cannot be read, so it could not be put back."""
    handle = desk.start("spinner")
    assert not desk.runtime.nudge(handle, CHECK, urgent=True, tag="n1")
    desk.wake()
    wait_until(lambda: desk.runtime.nudge(handle, CHECK, urgent=True, tag="n1"))
    desk.check_heard(CHECK)


def test_E10_what_waits_in_the_terminal_is_not_claimed_and_not_typed_twice(desk: Desk) -> None:
    handle = desk.start("sleeper")
    assert not desk.runtime.nudge(handle, CHECK, tag="n1")
    # Another process, after a crash, knows of it too.
    assert not TmuxRuntime(str(desk.directory)).nudge(handle, CHECK, tag="n1")
    desk.wake()
    wait_until(lambda: desk.runtime.nudge(handle, CHECK, tag="n1"))
    desk.check_heard(CHECK)
    assert desk.runtime.nudge(handle, CHECK, tag="n1"), "it was taken, and stays so"
    desk.check_heard(CHECK)
    assert desk.runtime.nudge(handle, CHECK, tag="n2")
    desk.check_heard(CHECK, CHECK)


def test_E10_a_program_that_takes_nothing_is_reported_and_nothing_is_left_on_its_line(desk: Desk) -> None:
    handle = desk.start("deaf")
    assert not desk.runtime.nudge(handle, CHECK, tag="n1")
    assert desk.heard() == []


def test_E10_nobody_claims_to_have_nudged_what_is_gone(desk: Desk) -> None:
    handle = desk.start("reader")
    desk.runtime.kill(handle)
    assert not desk.runtime.nudge(handle, CHECK, tag="n1")
