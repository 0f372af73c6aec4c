"""What a person has typed and not sent is put aside for a nudge and put back; else the nudge waits."""

from __future__ import annotations

import pytest

from .desk import CHECK, Desk, wait_until

WORDS = "the parser is half done and the tests for it are not, so look at them before you go on"
TYPED = {
    "blanks around it": "   indented, and more to come  ",
    "wrapped at words": WORDS,
    "wrapped within a word": "/a/very/long/path" * 6,
    "blanks where it is wrapped": "x" * 35 + " " * 9 + "y" * 50,
    "exactly a row": "z" * 40,
}
WIDE = {
    "wide": "日本語の文章 " * 3,
    "wide and wrapped": "長い文章を一行に書く" * 7,
    "marks": "nai\u0308ve café",
}


def sent(desk: Desk, more: str) -> str:
    """What the program hears when the person goes on."""
    heard = len(desk.heard())
    desk.tmux("send-keys", "-t", desk.handle.record.pane, "-l", more)
    desk.person_presses("Enter")
    wait_until(lambda: len(desk.heard()) > heard)
    return desk.heard()[heard]


@pytest.mark.parametrize("program", ["cat", "readline"])
@pytest.mark.parametrize("typed", TYPED.values(), ids=TYPED.keys())
def test_what_a_person_has_typed_is_put_aside_and_put_back(desk: Desk, program: str, typed: str) -> None:
    handle = desk.start(program, columns=40)
    desk.person_types(typed)
    assert desk.runtime.nudge(handle, CHECK, tag="n1")
    desk.check_heard(CHECK)
    assert sent(desk, "!") == f"{typed}!"


def test_in_a_client_s_own_box_it_is_put_back_with_its_blanks(desk: Desk) -> None:
    handle = desk.start("editor")
    desk.person_types(TYPED["blanks around it"])
    assert desk.runtime.nudge(handle, CHECK, tag="n1")
    desk.check_heard(CHECK)
    assert sent(desk, "!") == TYPED["blanks around it"] + "!"


def test_what_a_client_has_broken_into_rows_is_left_alone_and_the_nudge_waits(desk: Desk) -> None:
    handle = desk.start("editor", columns=40)
    desk.person_types(WORDS)
    assert not desk.runtime.nudge(handle, CHECK, tag="n1")
    assert desk.heard() == []
    assert sent(desk, "!") == f"{WORDS}!"
    wait_until(lambda: desk.runtime.nudge(handle, CHECK, tag="n1"))


@pytest.mark.parametrize("program", ["cat", "readline"])
@pytest.mark.parametrize("typed", WIDE.values(), ids=WIDE.keys())
def test_characters_of_another_width_are_put_back_too(desk: Desk, program: str, typed: str) -> None:
    handle = desk.start(program, columns=41)
    desk.person_types(typed)
    assert desk.runtime.nudge(handle, CHECK, tag="n1")
    desk.check_heard(CHECK)
    assert sent(desk, "!") == f"{typed}!"


@pytest.mark.parametrize("program", ["readline", "editor"])
def test_it_does_not_matter_where_in_the_line_the_person_is(desk: Desk, program: str) -> None:
    handle = desk.start(program)
    desk.person_types("one two")
    for _ in range(3):
        desk.person_presses("Left")
    wait_until(lambda: desk.runtime.nudge(handle, CHECK, tag="n1"))
    desk.check_heard(CHECK)
    assert sent(desk, "!") == "one two!"


@pytest.mark.parametrize(
    ("program", "heard"),
    [("readline", "one"), ("editor", "one\\n\\ntwo three!")],
)
def test_several_lines_are_left_alone_and_the_nudge_waits(desk: Desk, program: str, heard: str) -> None:
    handle = desk.start(program)
    desk.person_pastes("one\n\ntwo three")
    assert not desk.runtime.nudge(handle, CHECK, tag="n1")
    assert desk.heard() == []
    assert sent(desk, "!") == heard
    wait_until(lambda: desk.runtime.nudge(handle, CHECK, tag="n1"))
    wait_until(lambda: desk.heard()[-1] == CHECK)


def test_an_empty_line_among_several_is_not_an_empty_input(desk: Desk) -> None:
    handle = desk.start("editor")
    desk.person_pastes("one\ntwo")
    for key in ("C-a", "Left", "C-u"):
        desk.person_presses(key)
    wait_until(lambda: "one" not in desk.screen())
    assert not desk.runtime.nudge(handle, CHECK, tag="n1")
    assert sent(desk, "!") == "!\\ntwo"


def test_a_paste_that_is_shown_folded_is_left_alone(desk: Desk) -> None:
    handle = desk.start("editor")
    desk.person_types("see [Pasted text #1 +20 lines]")
    assert not desk.runtime.nudge(handle, CHECK, tag="n1")
    assert sent(desk, " now") == "see [Pasted text #1 +20 lines] now"


def test_a_password_that_is_half_typed_is_left_alone(desk: Desk) -> None:
    handle = desk.start("hidden")
    desk.tmux("send-keys", "-t", handle.record.pane, "-l", "secr")
    assert not desk.runtime.nudge(handle, CHECK, tag="n1")
    assert sent(desk, "et") == "secret"
