"""A start that failed is undone, and said to be only when nothing of it is left."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from headcount.domain.findings import Workspace
from headcount.domain.policy import Policy
from headcount.engine import perform
from headcount.engine.job import Job
from headcount.errors import ProcessError
from headcount.protocol import events as ev
from headcount.protocol.effects import Act, ActKind
from headcount.protocol.member import Member
from headcount.protocol.team import Team


@pytest.mark.parametrize("empty", [True, False])
def test_a_client_that_survives_its_failed_start_is_not_reported_gone(
    empty: bool, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stuck(*_: Any) -> None:
        raise ProcessError("Did not start it", "it waits in a dialog", code="client-stuck")

    monkeypatch.setattr(perform, "wait_ready", stuck)
    handle = object()
    runtime = SimpleNamespace(start=lambda _: handle, kill=lambda *_: SimpleNamespace(empty=empty))
    workspaces = SimpleNamespace(
        create=lambda *_: Workspace("crew", "bob", 1, str(tmp_path)), remove=lambda *_: None
    )
    world = cast(
        "Any", SimpleNamespace(home=str(tmp_path), runtimes={"plain": runtime}, workspaces=workspaces)
    )
    start = {"mark": "m", "argv": ["agent"], "prompt_file": f"{tmp_path}/prompts/bob.md"}
    member = Member("bob", 1, epoch=1)
    team = Team("crew", members={member.key: member})
    job = Job(Act(ActKind.START, "bob#1", 1), team, Policy(), world, member, start=start)
    outcome = perform.perform(job)
    if empty:
        assert [type(event) for event in outcome.events] == [ev.StartFailed]
    else:
        assert outcome.events == () and outcome.handle is handle
        assert ("bob#1", "workspace") in outcome.facts
