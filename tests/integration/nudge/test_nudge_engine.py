"""What the engine does with a nudge: mail first, then in front of the member; once, or reported."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from engine.lab import LIMIT_S, PATIENT, QUICK, TEAM, Lab

from headcount.app.witness import nudge
from headcount.errors import Declined
from headcount.protocol import events as ev
from headcount.protocol.member import State

PROGRAMS = Path(__file__).with_name("programs.py")
HEADCOUNT = f"{sys.executable} -m headcount"


def wait_note(lab: Lab, kind: str, count: int = 1, limit_s: float = LIMIT_S) -> list[dict[str, object]]:
    deadline = time.monotonic() + limit_s
    while len(lab.journal(kind)) < count:
        assert time.monotonic() < deadline, [(e.kind, e.data) for e in lab.journal()]
        time.sleep(0.05)
    return [dict(e.data) for e in lab.journal(kind)]


def busy(lab: Lab, runtime: str = "tmux") -> None:
    """At work until `wake` appears, with something dirty beside it; then it takes what it is told to `heard`.

    Without a terminal a member pauses when it reads its mail; in one, when its screen stands still.
    """
    works = "while [ ! -e wake ]; do sleep 0.05; done; headcount inbox > heard"
    script = {"plain": works, "tmux": f"exec {sys.executable} -I {PROGRAMS} spinner"}[runtime]
    lab.start("ada", f"touch dirty.txt; {script}; sleep 1000 & wait", runtime=runtime)
    lab.wait_file("ada#1", "dirty.txt")
    if runtime == "tmux":  # until its screen moves it looks as if it paused
        lab.wait_flag("spinning")


def wait_heard(lab: Lab) -> str:
    """All of it: a file is there before anything is in it."""
    path = Path(lab.wait_file("ada#1", "heard"))
    deadline = time.monotonic() + LIMIT_S
    while not path.read_text().endswith("\n"):
        assert time.monotonic() < deadline, "nothing was heard"
        time.sleep(0.02)
    return path.read_text()


def test_E11_a_nudge_waits_while_the_member_is_busy_and_is_given_once_at_its_next_pause(
    lab: Lab, runtime: str
) -> None:
    lab.create(PATIENT)
    busy(lab, runtime)
    lab.say(ev.DoneSignalled("ada#1"))
    lab.wait_state("ada#1", lambda m: m.state is State.NUDGED)
    time.sleep(1.5)  # two tries
    assert lab.journal("nudged", "nudge_undelivered") == []
    Path(lab.workspace("ada#1"), "wake").touch()
    [nudge] = wait_note(lab, "nudged")
    assert nudge["by"] == {"plain": "mail", "tmux": "tmux"}[runtime]
    heard = wait_heard(lab)
    assert heard.count({"plain": "Verification failed", "tmux": "WITNESS CHECK"}[runtime]) == 1
    assert "dirty.txt" in heard


def test_a_member_that_has_read_its_mail_is_not_disturbed(lab: Lab) -> None:
    lab.create(PATIENT)
    lab.start("ada", f"touch dirty.txt; {HEADCOUNT} inbox --wait 20 > ../said; sleep 1000 & wait")
    lab.wait_file("ada#1", "dirty.txt")
    lab.say(ev.DoneSignalled("ada#1"))
    [nudge] = wait_note(lab, "nudged")
    assert nudge["by"] == "mail"
    with lab.app.store.read() as tx:
        [mail] = tx.inbox(f"{TEAM}#1", ["ada#1"])
    assert mail.template == "VERIFICATION_FAILED"
    assert "dirty.txt" in mail.body


@pytest.mark.usefixtures("runtime")
def test_E10_a_nudge_that_nobody_takes_is_reported_when_the_member_moves_on(lab: Lab) -> None:
    lab.create(replace(QUICK, nudge_timeout_s=0.5))
    lab.start("ada", "touch dirty.txt; sleep 1000 & wait")
    lab.wait_file("ada#1", "dirty.txt")
    lab.say(ev.DoneSignalled("ada#1"))
    lab.wait_state("ada#1", lambda m: m.state is State.ESCALATED)
    [first, urgent] = wait_note(lab, "nudge_undelivered", 2)
    assert "dirty.txt" in str(first["text"])
    assert str(urgent["text"]).startswith("URGENT")
    assert lab.journal("nudged") == []


def test_E10_a_nudge_to_one_that_is_gone_is_not_claimed_and_its_mail_bounces(lab: Lab) -> None:
    lab.create(PATIENT)
    lab.start("ada", 'touch dirty.txt; until [ -e "$HEADCOUNT_HOME/go" ]; do sleep 0.05; done')
    lab.wait_file("ada#1", "dirty.txt")
    lab.say(ev.DoneSignalled("ada#1"))
    lab.wait_state("ada#1", lambda m: m.state is State.NUDGED)
    Path(lab.app.home, "go").touch()
    lab.wait_state("ada#1", lambda m: m.settled)
    assert lab.journal("nudged") == []
    with pytest.raises(Declined) as refused:
        nudge(lab.app, "ada", "Are you there?")
    assert refused.value.code == "gone"
    with lab.app.store.read() as tx:
        bounced = [m for m in tx.inbox(f"{TEAM}#1", ["lead"]) if m.bounced_from == "ada#1"]
    assert [(m.template, "dirty.txt" in m.body) for m in bounced] == [("VERIFICATION_FAILED", True)]


def test_D4_a_silent_member_is_shown_as_stalled_and_nudged_once(lab: Lab) -> None:
    lab.create(replace(QUICK, stall_timeout_s=0.4))
    lab.start("ada")
    lab.wait_state("ada#1", lambda m: m.activity == "stalled")
    time.sleep(1.2)  # three more limits
    with lab.app.store.read() as tx:
        [mail] = tx.inbox(f"{TEAM}#1", ["ada#1"])
    assert mail.subject == "No sign of progress"
    assert len([e for e in lab.journal("moved") if e.data["cue"] == "stalled"]) == 1


def test_D4_a_member_that_prints_is_not_stalled(lab: Lab) -> None:
    lab.create(replace(QUICK, stall_timeout_s=3))
    lab.start(
        "ada", 'until [ -e "$HEADCOUNT_HOME/quiet" ]; do echo working; sleep 0.1; done; sleep 1000 & wait'
    )
    time.sleep(4.5)  # one and a half such times
    assert lab.journal("moved")[-1].data["cue"] == "registered"
    assert lab.team().members["ada#1"].activity == "working"
    Path(lab.app.home, "quiet").touch()
    lab.wait_state("ada#1", lambda m: m.activity == "stalled")


def test_E11_a_nudge_by_hand_that_comes_at_a_bad_moment_is_given_once_at_the_next_pause(lab: Lab) -> None:
    lab.create(PATIENT)
    busy(lab)
    assert nudge(lab.app, "ada", "Say what you wait for.")["delivered"] is False
    Path(lab.workspace("ada#1"), "wake").touch()
    wait_note(lab, "nudged")
    heard = wait_heard(lab)
    assert heard.count("Say what you wait for.") == 1
