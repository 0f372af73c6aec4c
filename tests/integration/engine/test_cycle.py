"""A member hands over to its next generation, in the same workspace."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headcount.app.caller import OPERATOR, Caller
from headcount.app.cycle import cycle, own_name
from headcount.errors import NotAllowed
from headcount.protocol import events as ev
from headcount.protocol.member import State

from .lab import QUICK, TEAM, Lab


def _cycle(lab: Lab) -> None:
    answer = cycle(lab.app, "ada", "the parser is half done")
    lab.say(ev.Answered("ada#1", answer["requestId"], True))
    lab.wait_state("ada#2", lambda m: m.state is State.RUNNING)


def test_the_successor_starts_in_the_same_workspace_with_the_handover(lab: Lab) -> None:
    lab.create()
    work = "echo kept > kept.txt; git add -A; git commit -qm kept; touch $HEADCOUNT_HOME/ready; sleep 1000"
    lab.start("ada", work, prompt="Parse.")
    lab.wait_flag("ready")
    _cycle(lab)
    assert lab.workspace("ada#2") == lab.workspace("ada#1")
    with lab.app.store.read() as tx:
        mail = tx.inbox(f"{TEAM}#1", ["ada#2"])
    assert "the parser is half done" in mail[0].body
    assert mail[0].body.startswith("Parse.")
    assert lab.team().members["ada#1"].settled


def test_a_witness_is_cycled_without_being_asked(lab: Lab) -> None:
    lab.create()
    lab.start("eve", role="witness", prompt="Watch.")
    cycle(lab.app, "eve", "check on ada")
    lab.wait_state("eve#2", lambda m: m.state is State.RUNNING)
    assert "[HANDOFF_TYPE]: witness_cycle" in _first_mail(lab, "eve#2")


def test_a_member_cycles_itself_and_nobody_else(lab: Lab) -> None:
    lab.create()
    for name in ("ada", "ben"):
        lab.start(name)
    lab.app.caller = Caller("worker", "ada#1", f"{TEAM}#1")
    with pytest.raises(NotAllowed):
        cycle(lab.app, "ben")
    answer = cycle(lab.app, own_name(lab.app), "my context is full")
    lab.app.caller = OPERATOR
    lab.say(ev.Answered("ada#1", answer["requestId"], True))
    lab.wait_state("ada#2", lambda m: m.state is State.RUNNING)
    assert "my context is full" in _first_mail(lab, "ada#2")


def test_one_that_refuses_to_be_cycled_has_no_successor_when_it_is_stood_down_later(lab: Lab) -> None:
    lab.create()
    lab.start("ada")
    answer = cycle(lab.app, "ada")
    lab.say(ev.Answered("ada#1", answer["requestId"], False, "not now"))
    assert lab.team().members["ada#1"].state is State.RUNNING
    later = lab.ask("ada")
    lab.approve(later)
    lab.finish(later)
    assert list(lab.team().members) == ["ada#1"]


def test_a_member_is_cycled_once_it_is_old_enough_and_its_successor_after_as_long_again(lab: Lab) -> None:
    lab.create(replace(QUICK, cycle_after_s=1.0))
    lab.start("eve", role="witness")
    lab.wait_state("eve#3", lambda m: m.state is not State.STARTING)
    started = {e.about: e.at for e in lab.journal("starting")}
    asked = lab.journal("stand_down")[:2]
    assert [(e.data["by"], e.data["targets"]) for e in asked] == [
        ("witness", ["eve#1"]),
        ("witness", ["eve#2"]),
    ]
    assert all(e.at - started[e.data["targets"][0]] > 0.9 for e in asked)


def _first_mail(lab: Lab, key: str) -> str:
    with lab.app.store.read() as tx:
        return tx.inbox(f"{TEAM}#1", [key])[0].body
