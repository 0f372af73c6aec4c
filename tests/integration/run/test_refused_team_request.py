"""Somebody asks the whole team to stand down in the middle of a run, and one of it refuses.

Played without an engine: the rules alone decide who is asked then, and a word comes exactly when it matters.
"""

from __future__ import annotations

from collections.abc import Callable

from headcount.app.app import App
from headcount.app.definition import read_definition
from headcount.app.task_run import begin_run
from headcount.engine.apply import apply
from headcount.protocol import events as ev
from headcount.protocol import phase_events as pe
from headcount.protocol import task_events as te
from headcount.protocol.member import State

from .lab import TEAM, RunLab

_COMMIT = "c0ffee"


class _Played:
    """Ada's work on task 1 is under review; ben works on task 2."""

    def __init__(self, lab: RunLab, app: App) -> None:
        self._app = app
        begin_run(self._app, read_definition(lab.define({1: (), 2: ()}, workers=("ada", "ben"))), lab.env)
        self.happen(ev.Registered("ada#1"), ev.Registered("ben#1"))
        assert {m.key for m in self.team.live()} == {"ada#1", "ben#1"}
        self.happen(ev.DoneSignalled("ada#1"))
        epoch = self.team.members["ada#1"].epoch
        self.happen(ev.Inspected("ada#1", epoch, True, True, head=_COMMIT, commits=1))
        self.happen(ev.Registered("spec#1"), ev.Registered("quality#1"))

    def happen(self, *events: ev.Event | pe.PhaseEvent) -> None:
        with self._app.turn(TEAM) as (tx, team, policy):
            self.team = apply(tx, team, events, policy, self._app.make_start).team

    def pass_and_merge(self) -> None:
        for reviewer in ("spec#1", "quality#1"):
            self.happen(ev.Reviewed(reviewer, "1", "pass", "", _COMMIT))
        self.happen(pe.TaskHappened("now", "1", te.Merged(1, _COMMIT)))

    def asked_by(self) -> dict[str, str | None]:
        return {key: m.ask for key, m in self.team.members.items() if m.state is State.ASKED}


def _asked_for_task_1(played: _Played) -> bool:
    asked = played.asked_by()
    return set(asked) == {"ada#1", "spec#1", "quality#1"} and all(
        str(request).startswith("1/") for request in asked.values()
    )


def _play(lab: RunLab, *acts: Callable[[_Played], None]) -> _Played:
    lab.settings(tasks_at_once=2)
    with lab.app() as app:
        played = _Played(lab, app)
        for act in acts:
            act(played)
    return played


def _ask_all(played: _Played) -> None:
    played.happen(ev.StandDown("all", None))


def _ben_refuses(played: _Played) -> None:
    played.happen(ev.Answered("ben#1", "all", False, "not yet"))


def test_a_task_that_ends_while_the_team_is_asked_is_asked_when_that_is_refused(lab: RunLab) -> None:
    played = _play(lab, _ask_all, _Played.pass_and_merge, _ben_refuses)
    assert _asked_for_task_1(played), played.asked_by()


def test_a_task_that_was_being_asked_before_the_team_goes_on_when_that_is_refused(lab: RunLab) -> None:
    played = _play(lab, _Played.pass_and_merge, _ask_all, _ben_refuses)
    assert _asked_for_task_1(played), played.asked_by()


def test_nobody_of_a_task_that_goes_on_is_asked_after_a_refusal(lab: RunLab) -> None:
    played = _play(lab, _ask_all, _ben_refuses)
    assert not played.asked_by()
