"""A bug in the middle of an act of a run: nothing there has a limit, so the tasks must hear of it."""

from __future__ import annotations

from typing import Any, cast

from headcount.domain.policy import Policy
from headcount.engine.job import Job
from headcount.engine.member_acts import failed
from headcount.protocol import phase_events as pe
from headcount.protocol import task_events as te
from headcount.protocol.effects import Act, ActKind
from headcount.protocol.team import Team


def what_happened(act: Act) -> Any:
    outcome = failed(Job(act, Team("crew"), Policy(), cast("Any", None)), RuntimeError("oops"))
    assert [note.kind for note in outcome.notes] == ["act_failed"]
    (happened,) = outcome.events
    return happened


def test_a_merge_that_broke_has_failed() -> None:
    happened = what_happened(Act(ActKind.MERGE, "3", 2, {"commit": "c1", "branch": "b"}))
    assert isinstance(happened, pe.TaskHappened)
    assert (happened.task, happened.event) == ("3", te.MergeFailed(2, "c1", "RuntimeError('oops')"))


def test_a_gate_that_broke_was_not_run() -> None:
    happened = what_happened(Act(ActKind.RUN_GATE, "", 1, {"tag": "complexity"}))
    assert isinstance(happened, pe.GateEnded)
    assert (happened.gate, happened.attempt, happened.verdict) == ("complexity", 1, "not_run")
