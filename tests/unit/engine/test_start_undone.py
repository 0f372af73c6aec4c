"""A start that failed is undone, and said to be only when nothing of it is left."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from headcount.app.adapters import LocalFiles
from headcount.domain.findings import Workspace
from headcount.domain.policy import Policy
from headcount.engine import start_act
from headcount.engine.job import Job
from headcount.engine.member_acts import perform
from headcount.errors import ProcessError
from headcount.protocol import events as ev
from headcount.protocol.effects import Act, ActKind
from headcount.protocol.member import Member
from headcount.protocol.team import Team


class Handle:
    closed = False

    def as_dict(self) -> dict[str, Any]:
        return {"pid": 7}

    def close(self) -> None:
        self.closed = True


def the_start(tmp_path: Any, **runtime: Any) -> Job:
    """Of one that would have an empty workspace, which is removed with it."""
    workspaces = SimpleNamespace(
        create=lambda *_: Workspace("crew", "bob", 1, str(tmp_path)), remove=lambda *_: None
    )
    runtimes = {"plain": SimpleNamespace(**runtime)}
    world = cast(
        "Any",
        SimpleNamespace(home=str(tmp_path), runtimes=runtimes, workspaces=workspaces, files=LocalFiles()),
    )
    start = {"mark": "m", "argv": ["agent"], "prompt_file": f"{tmp_path}/prompts/bob.md"}
    member = Member("bob", 1, epoch=1)
    team = Team("crew", members={member.key: member})
    return Job(Act(ActKind.START, "bob#1", 1), team, Policy(), world, member, start=start)


def fails_with(error: Exception) -> Any:
    def fail(*_: Any) -> None:
        raise error

    return fail


STUCK = ProcessError("Did not start it", "it waits in a dialog", code="client-stuck")
NO_DESCRIPTOR = OSError(24, "Too many open files")


@pytest.mark.parametrize("why", [STUCK, NO_DESCRIPTOR])
@pytest.mark.parametrize("empty", [True, False])
def test_a_client_that_survives_its_failed_start_is_not_reported_gone(
    empty: bool, why: Exception, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start_act, "wait_ready", fails_with(why))
    handle = Handle()
    job = the_start(tmp_path, start=lambda _: handle, kill=lambda *_: SimpleNamespace(empty=empty))
    outcome = perform(job)
    if empty:
        assert [type(event) for event in outcome.events] == [ev.StartFailed]
        assert handle.closed
    else:
        assert outcome.events == () and outcome.handle is handle and not handle.closed
        assert ("bob#1", "workspace") in outcome.facts
        assert outcome.facts["bob#1", "process"]["pid"] == 7


def test_one_that_cannot_even_be_looked_at_is_not_reported_gone(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs, and there is no descriptor left to end it with: its limit goes on with it."""
    monkeypatch.setattr(start_act, "wait_ready", fails_with(STUCK))
    job = the_start(tmp_path, start=lambda _: Handle(), kill=fails_with(NO_DESCRIPTOR))
    outcome = perform(job)
    assert outcome.events == () and ("bob#1", "workspace") in outcome.facts


def test_a_start_that_happened_in_spite_of_its_error_is_ended_before_it_is_reported(tmp_path: Any) -> None:
    killed: list[Any] = []
    left = Handle()

    def kill(handle: Any, _: float) -> Any:
        killed.append(handle)
        return SimpleNamespace(empty=True)

    job = the_start(tmp_path, start=fails_with(NO_DESCRIPTOR), cancel=lambda *_: left, kill=kill)
    outcome = perform(job)
    assert [type(event) for event in outcome.events] == [ev.StartFailed]
    assert killed == [left] and left.closed


def test_a_start_that_never_happened_is_called_off_for_good(tmp_path: Any) -> None:
    called_off: list[str] = []
    job = the_start(tmp_path, start=fails_with(STUCK), cancel=lambda mark, _: called_off.append(mark))
    assert [type(event) for event in perform(job).events] == [ev.StartFailed]
    assert called_off == ["m"]
