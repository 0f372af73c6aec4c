"""What lasts says what it waits for; what is over in a moment says nothing."""

from __future__ import annotations

import io

import pytest

from headcount.cli import terminal
from headcount.cli.terminal import Live
from headcount.cli.up import _progress
from headcount.protocol.member import Member, State
from headcount.protocol.team import Team


def test_nothing_is_shown_before_it_has_lasted(monkeypatch: pytest.MonkeyPatch) -> None:
    now, stream = [100.0], io.StringIO()
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    live = Live(stream, after_s=2)
    live.show(["one"])
    now[0] += 2
    live.show(["two"])
    assert stream.getvalue() == "two\n"


def test_a_start_says_for_whom_it_waits() -> None:
    states = [State.RUNNING, *[State.STARTING] * 4]
    members = [Member(f"m{number}", 1, state=state) for number, state in enumerate(states)]
    team = Team("crew", members={member.key: member for member in members})
    assert _progress(team) == ["crew: 1 of 5 started; waiting for m1#1, m2#1, m3#1 …"]
    assert _progress(Team("crew")) == ["crew: 0 of 0 started"]
