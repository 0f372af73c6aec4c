"""The lines of `status --watch`: they fit, whatever is in them."""

from __future__ import annotations

import os
import re
import time
from typing import Any

import pytest

from headcount.app.page import View
from headcount.cli.terminal_output import fit, width_of
from headcount.cli.watch_screen import Scene, Screen, arrange, draw, split_keys
from headcount.domain.display import utc


def bare(text: str, _: str) -> str:
    return text


def a_row(name: str, **more: Any) -> dict[str, Any]:
    return {
        "key": f"{name}#1", "name": name, "generation": 1, "state": "running", "activity": "working",
        "task": None, "outcome": None, "failure": "", "cause": "", "salvage": [], "asked": False,
        "limit": None, "waits": "", "issues": [], "dirty": None, "ahead": None, "unread": 0, "doing": None,
        "refused": None, "role": "worker", "lane": [], "cost_usd": None, **more,
    }  # fmt: skip


def a_view(*rows: dict[str, Any], waiting: int = 0, run: dict[str, Any] | None = None) -> View:
    needs: list[Any] = [
        {
            "kind": "escalation",
            "id": f"e{n}",
            "member": "ada#1",
            "at": utc(time.time()),
            "text": "\x1b[2Jx.md",
        }
        for n in range(waiting)
    ]
    about = {"team": "crew", "status": "active", "run": run, "cost_usd": None}
    return View(about, {row["key"]: row for row in rows}, needs, [], [], [], [], {}, [])


@pytest.mark.parametrize(("columns", "lines"), [(20, 4), (40, 10), (80, 24), (200, 50)])
def test_it_fits_whatever_the_size(columns: int, lines: int) -> None:
    rows = [a_row(f"member-{n}", issues=["x" * 300], task="t" * 80) for n in range(60)]
    drawn = draw(a_view(*rows, waiting=9), Scene("member-50#1"), columns, lines, bare)
    assert len(drawn) <= lines
    assert all(width_of(line) < max(columns, 21) for line in drawn)


def test_the_chosen_one_is_always_in_sight() -> None:
    rows = [a_row(f"m{n:02}") for n in range(60)]
    for chosen in ("m00", "m31", "m59"):
        drawn = draw(a_view(*rows), Scene(f"{chosen}#1"), 80, 12, bare)
        assert [line[2:5] for line in drawn if line.startswith("> ")] == [chosen]


def test_what_a_terminal_would_obey_is_not_sent_to_it() -> None:
    row = a_row("ada", issues=["\x1b[31mred\x07"], task="\x9b2J")
    drawn = draw(a_view(row, waiting=1), Scene("ada#1", said="\x1b]0;title\x07"), 120, 20, bare)
    assert all(line.isprintable() for line in drawn)


def test_wide_characters_count_twice_and_accents_not_at_all() -> None:
    assert width_of("日本") == 4
    assert width_of("e\N{COMBINING ACUTE ACCENT}") == 1
    assert [width_of(fit("日本語テキスト", n)) for n in (3, 4, 5, 20)] == [3, 4, 5, 20]


def test_more_escalations_than_fit_are_counted() -> None:
    drawn = draw(a_view(a_row("ada"), waiting=7), Scene("ada#1"), 80, 24, bare)
    assert "! 4 more need you: see `headcount todo`" in drawn


def test_of_a_run_it_says_how_far_its_tasks_are_and_which_are_under_way() -> None:
    states = ("complete", "standing_down", "waiting", "blocked")
    tasks = [{"id": str(number), "state": state} for number, state in enumerate(states, 1)]
    drawn = draw(a_view(a_row("ada"), run={"status": "running", "tasks": tasks}), Scene(), 80, 12, bare)
    assert drawn[1] == "run: running, 1 of 4 tasks complete; 2 standing down; 4 blocked"
    assert not [line for line in draw(a_view(a_row("ada")), Scene(), 80, 12, bare) if "run:" in line]


def test_the_word_for_one_that_ended_by_itself_fits_its_column() -> None:
    row = a_row("ada", state="gone", outcome="already_gone")
    assert "ended " in draw(a_view(row), Scene(), 80, 12, bare)[2]


def test_nothing_unsaved_and_not_yet_read_look_different() -> None:
    rows = (a_row("ada", dirty=0), a_row("ben"), a_row("cy", state="gone"), a_row("dan", dirty=3))
    drawn = draw(a_view(*rows), Scene(), 80, 24, bare)
    assert [line[40:48].strip() for line in drawn[2:6]] == [
        "-",
        "?",
        "3",
        "",
    ]  # those that are gone come last


def test_keys_that_arrive_together_are_told_apart() -> None:
    assert split_keys("\x1b[B\x1b[Bq\x1b[6~\x1bOA\r") == ["down", "down", "q", "page down", "up", "enter"]
    assert split_keys("\x1b[1;5Cé\x1b") == ["\x1b[1;5C", "é", "escape"]


def test_it_shows_what_a_member_is_doing_and_since_when() -> None:
    now = {"text": "running \x1b[2Jpytest: 2 failed", "at": utc(time.time() - 130)}
    row = a_row("ann", doing=now, ahead=3, refused={"count": 2, "last": "make"})
    shown = "\n".join(draw(a_view(row), Scene(), 200, 20, bare))
    assert "pytest: 2 failed (2 min ago); 2 commands refused: make" in shown and "\x1b" not in shown
    assert re.search(r"COMMITS.*\n.* 3 ", shown)


def test_F132_a_key_that_arrives_in_two_pieces_is_one_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over a slow connection the bytes of an arrow, or of a letter, come apart."""
    given, pressed = os.pipe()
    monkeypatch.setattr("sys.stdin", os.fdopen(given))
    monkeypatch.setattr("sys.stdout", open(os.devnull, "w"))  # noqa: SIM115
    screen = Screen()
    for piece in (b"j\x1b", b"[Bk", b"\xc3", b"\xa9"):
        os.write(pressed, piece)
    assert screen.wait(5) == ["j", "down", "k", "é"]
    os.write(pressed, b"\xc3")
    assert screen.wait(5) == []
    os.write(pressed, b"\xa9\x1b")
    assert screen.wait(5) == ["é", "escape"]
    os.close(pressed)
    assert screen.wait(5) == ["gone"]


def test_three_hundred_members_are_filtered_and_sorted_by_need() -> None:
    rows = [a_row(f"m{n:03}") for n in range(300)]
    view = a_view(*rows)._replace(needs=[{"member": "m250#1"}])  # type: ignore[list-item, typeddict-item]
    assert [row["name"] for row in arrange(view, Scene())][:2] == ["m250", "m000"]
    assert [row["name"] for row in arrange(view, Scene(wanted="M29"))] == [f"m29{n}" for n in range(10)]
