"""A member hands over to its next generation, in the same workspace."""

from __future__ import annotations

import pytest

from headcount.app.cycle import cycle
from headcount.errors import Declined
from headcount.protocol import events as ev
from headcount.protocol.member import State

from .lab import TEAM, Lab


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


def test_D16_nobody_is_asked_to_leave_when_the_handover_cannot_be_stored(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.create()
    lab.start("ada")

    def broken(*_: object) -> tuple[str, str]:
        raise Declined("no note")

    monkeypatch.setattr("headcount.app.cycle.compose", broken)
    with pytest.raises(Declined):
        cycle(lab.app, "ada")
    assert lab.team().members["ada#1"].state is State.RUNNING
    assert lab.journal("stand_down") == []


def test_D15_a_handover_stays_open_until_a_successor_acts_on_it(lab: Lab) -> None:
    lab.create()
    lab.start("ada")
    _cycle(lab)
    # The successor dies without a word; the next one gets the same handover.
    answer = lab.ask("ada")
    lab.say(ev.Exited("ada#2", "killed"))
    lab.wait_state("ada#2", lambda m: m.settled)
    lab.finish(answer)
    lab.start("ada")
    with lab.app.store.read() as tx:
        mail = tx.inbox(f"{TEAM}#1", ["ada#3"])
    assert "the parser is half done" in mail[0].body
    with lab.app.store.write() as tx:
        tx.add_input(f"{TEAM}#1", ev.IdleReported("ada#3"))
    lab.say()
    assert [e.about for e in lab.journal("handover_acted")] == ["ada#3"]
