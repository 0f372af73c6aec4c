"""Whoever waits for mail is woken by it, also when it was not the engine that posted it."""

from __future__ import annotations

from headcount.app.definition import read_definition
from headcount.app.task_run import abort, begin_run
from headcount.protocol import events as ev
from headcount.protocol.member import State

from .lab import TEAM, RunLab


def test_abort_wakes_the_member_that_it_asks_to_stand_down(lab: RunLab) -> None:
    """Without an engine: nobody else rings."""
    definition = read_definition(lab.define({1: ()}, workers=("ada",), reviewers=()))
    with lab.app() as app:
        begin_run(app, definition, lab.env)
        app.apply(TEAM, ev.Registered("ada#1"))
        app.store.listen(f"{TEAM}#1/ada#1")
        assert not app.store.wait(f"{TEAM}#1/ada#1", 0)
        abort(app, TEAM, "enough")
        assert app.store.wait(f"{TEAM}#1/ada#1", 0)
        with app.store.read() as tx:
            team = app.load(tx, TEAM)
        assert team.members["ada#1"].state is State.ASKED
