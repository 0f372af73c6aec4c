"""Permission requests of members that are processes, with an engine that comes and goes."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

from headcount.app.adapters import make_runtimes
from headcount.app.permissions import decide_ask, list_asks
from headcount.app.team_start import wait_for

from .lab import PATIENT, TEAM, Lab

_ASKS = """
from headcount.agents.host import Wanted
from headcount.app.hosting import MemberReports
from headcount.app.session import find_state, open_session
import os
session = open_session(find_state(os.environ), os.environ, "ask")
answer = MemberReports(session).ask(Wanted("command", "Run the tests", "", "pytest -q"))
open(f"{os.environ['HEADCOUNT_HOME']}/answer.tmp", "w").write(repr(answer))
os.rename(f"{os.environ['HEADCOUNT_HOME']}/answer.tmp", f"{os.environ['HEADCOUNT_HOME']}/answer")
"""


def start_asking(lab: Lab, then: str = "sleep 1000 & wait") -> tuple[str, str]:
    """A member that waits for an answer; its key, and the id of its ask."""
    Path(lab.app.home, "asks.py").write_text(_ASKS)
    member = lab.start("ada", f'"{sys.executable}" "$HEADCOUNT_HOME/asks.py"; {then}')
    wait_for(lab.app, TEAM, lambda _: bool(list_asks(lab.app)), 60)
    return member.key, list_asks(lab.app)[0]["id"] or ""


def test_an_answer_needs_no_engine_and_notify_runs_once_with_the_next_one(lab: Lab) -> None:
    told = Path(lab.app.home, "told")
    tell = ("sh", "-c", f'echo "$HEADCOUNT_ABOUT $HEADCOUNT_ASK" >> {told}')
    lab.create(replace(PATIENT, notify=tell))
    lab.drive()
    _, ask = start_asking(lab)
    wait_for(lab.app, TEAM, lambda _: told.exists(), 60)
    lab.stop_driving()
    decide_ask(lab.app, ask, "allow", "go on")
    lab.wait_flag("answer")
    assert Path(lab.app.home, "answer").read_text() == "Answer(allowed=True, reason='go on')"
    assert told.read_text() == f"ada#1 {ask}\n"
    lab.drive()


def test_F107_a_member_that_waits_for_an_answer_is_stood_down_like_any_other(lab: Lab) -> None:
    lab.create(PATIENT)
    lab.drive()
    start_asking(lab)
    asked = lab.ask()
    lab.wait_flag("answer")
    assert "allowed=False" in Path(lab.app.home, "answer").read_text()
    lab.approve(asked)
    assert lab.finish(asked)["status"] == "shutdown"


def test_an_ask_is_moot_when_the_process_of_its_member_was_killed(lab: Lab) -> None:
    lab.create(PATIENT)
    lab.drive()
    key, ask = start_asking(lab)
    with lab.app.store.read() as tx:
        mark = (tx.fact(f"{TEAM}#1", key, "start") or {})["mark"]
    for process in make_runtimes(lab.app)["plain"].list_marked()[mark]:
        os.kill(process.pid, signal.SIGKILL)
    lab.wait_state(key, lambda m: m.settled)
    with lab.app.store.read() as tx:
        found = tx.find_ask(ask)
    assert found is not None and found.state == "moot"
