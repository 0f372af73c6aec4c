"""Group D, handing over: what a member leaves to its next generation stays until somebody acts on it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from engine.lab import PATIENT, Lab

from headcount.protocol.member import State

from .members import APPROVES, QUIET, headcount, kill_agent, record_of, start, tell, told

READS = tell("headcount inbox", "read-$HEADCOUNT_GENERATION")


def read_by(lab: Lab, generation: int) -> str:
    return told(lab, f"read-{generation}")[0]


@pytest.mark.usefixtures("runtime")
def test_D15_a_handover_that_was_only_read_is_there_for_the_next_one_too(lab: Lab) -> None:
    lab.create(PATIENT)
    start(lab, "ada", f"{READS}; {APPROVES}")
    headcount(lab, "cycle", "ada", "--remarks", "the parser is half done")
    lab.wait_state("ada#2", lambda m: m.state is State.RUNNING)
    assert "the parser is half done" in read_by(lab, 2)
    kill_agent(lab, "ada#2")
    lab.wait_state("ada#2", lambda m: m.settled)
    assert lab.journal("handover_acted") == []

    start(lab, "ada", f"{READS}; headcount idle; {QUIET}")
    assert "the parser is half done" in read_by(lab, 3)
    lab.wait_state("ada#3", lambda m: m.activity == "idle")
    assert [e.about for e in lab.journal("handover_acted")] == ["ada#3"]
    kill_agent(lab, "ada#3")
    lab.wait_state("ada#3", lambda m: m.settled)
    start(lab, "ada", f"{READS}; {QUIET}")
    assert "the parser is half done" not in read_by(lab, 4), "it was acted on"


@contextmanager
def no_handover_is_stored(lab: Lab) -> Iterator[None]:
    """The store refuses that one row, and knows of no reason why it should: so the command says "a bug"."""
    with closing(sqlite3.connect(f"{lab.app.home}/state.db")) as db:
        db.execute(
            "create trigger full before insert on facts when new.name = 'handover' "
            "begin select raise(abort, 'disk full'); end"
        )
        yield
        db.execute("drop trigger full")
        db.commit()


@pytest.mark.usefixtures("runtime")
def test_D16_nobody_is_asked_to_leave_when_the_handover_cannot_be_stored(lab: Lab) -> None:
    lab.create(PATIENT)
    start(lab, "ada", APPROVES)
    before = record_of(lab, "ada#1")[1]
    with no_handover_is_stored(lab):
        headcount(lab, "cycle", "ada", code=70)
    assert lab.team().members["ada#1"].state is State.RUNNING
    assert lab.journal("stand_down", "handover") == []
    assert record_of(lab, "ada#1")[1] == before
    assert any("ada" in line for line in lab.marked())
    with lab.app.store.read() as tx:
        assert tx.inbox("crew#1", ["ada#1"]) == [], "it has not even heard of it"
    headcount(lab, "cycle", "ada")
    lab.wait_state("ada#2", lambda m: m.state is State.RUNNING)
