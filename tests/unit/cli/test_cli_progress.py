"""What lasts says what it waits for; what is over in a moment says nothing."""

from __future__ import annotations

import io
import threading

import pytest

from headcount.app.progress import _line, waits_for
from headcount.cli import terminal_output
from headcount.cli.start_commands import _next_steps, _progress_lines
from headcount.cli.terminal_output import Live, Progress, fit_block
from headcount.protocol.member import Member, State
from headcount.protocol.team import Team


def test_nothing_is_shown_before_it_has_lasted(monkeypatch: pytest.MonkeyPatch) -> None:
    now, stream = [100.0], io.StringIO()
    monkeypatch.setattr(terminal_output.time, "monotonic", lambda: now[0])
    live = Live(stream, after_s=2)
    live.show(["one"])
    now[0] += 2
    live.show(["two"])
    assert stream.getvalue() == "two\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_progress_is_rewritten_on_a_terminal_and_plain_lines_elsewhere(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(terminal_output.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(terminal_output.sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    progress, quiet = Progress(), Progress(quiet=True)
    for done in range(40):
        progress.count("Verified", done, 40, "refs/a\x1bb")
        quiet.count("Verified", done, 40)
        now[0] += 0.5
    shown = stream.getvalue()
    if stream.isatty():
        assert "\x1b[A\x1b[2KVerified 39 of 40" in shown.replace("\r", "")
    else:
        assert shown.splitlines()[:2] == ["Verified 10 of 40: refs/a b", "Verified 20 of 40: refs/a b"]
        assert "\x1b" not in shown and shown.count("\n") == 3


def test_a_single_long_call_says_what_it_is_and_a_short_one_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(terminal_output.sys, "stderr", stream)
    monkeypatch.setattr(terminal_output, "_QUIET_S", 0.01)
    said = threading.Event()
    monkeypatch.setattr(stream, "write", lambda text: (said.set(), io.StringIO.write(stream, text))[1])
    with Progress().during("Restoring ada"):
        assert said.wait(60)
    assert stream.getvalue() == "Restoring ada\n"
    monkeypatch.setattr(terminal_output, "_QUIET_S", 60)
    with Progress().during("Restoring ben"):
        pass
    assert "ben" not in stream.getvalue()


def test_a_start_says_for_whom_it_waits() -> None:
    states = [State.RUNNING, *[State.STARTING] * 4]
    members = [Member(f"m{number}", 1, state=state) for number, state in enumerate(states)]
    team = Team("crew", members={member.key: member for member in members})
    assert _progress_lines(team) == ["crew: 1 of 5 started; waiting for m1#1, m2#1, m3#1 …"]
    assert _progress_lines(Team("crew")) == ["crew: 0 of 0 started"]


def test_a_line_that_is_too_wide_is_cut_and_one_with_a_command_is_broken() -> None:
    lines = ["  ada  sent back: a long list of files", "  ada is stalled. Look with `headcount logs ada`."]
    assert fit_block(lines, 24, 10) == [
        "  ada  sent back: a lon…",
        "  ada is stalled. Look",
        "    with `headcount logs",
        "    ada`.",
    ]


def test_more_lines_than_the_screen_has_keep_the_first_and_the_last() -> None:
    lines = ["crew: stopping", *(f"  m{number}" for number in range(40)), "  e1 needs a decision"]
    shown = fit_block(lines, 80, 6)
    assert len(shown) == 6
    assert (shown[0], shown[1], shown[-1]) == ("crew: stopping", "  … 37 more lines", "  e1 needs a decision")


@pytest.mark.parametrize(
    ("silences", "said"), [(0, "sent back"), (1, "reminded"), (2, "reminded, its screen captured")]
)
def test_a_limit_is_shown_with_the_rung_that_it_belongs_to(silences: int, said: str) -> None:
    member = Member("cy", 1, state=State.NUDGED, silences=silences, issues=("1 untracked: x",))
    assert waits_for(member) == f"{said}: 1 untracked: x"


def test_after_a_refusal_members_go_on_and_nothing_is_waited_for() -> None:
    asked, free = (Member("ada", 1, state=State.RUNNING, request=request) for request in ("r", None))
    assert (waits_for(asked), waits_for(free)) == ("waits until the others have ended", "continues its work")
    assert _line(free, 3, 1800) == "  ada  continues its work"


def test_a_start_that_failed_says_how_to_try_again() -> None:
    assert "`headcount down crew && headcount up team.py`" in _next_steps("crew", "team.py", failed=True)[0]
    assert len(_next_steps("crew", "team.py", failed=False)) == 1
