"""Asking an agent to exit takes no longer than what it is given for that: SIGTERM and SIGKILL follow."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from headcount.domain.policy import Policy
from headcount.engine.job import Job
from headcount.engine.member_acts import perform
from headcount.protocol.effects import Act, ActKind
from headcount.protocol.member import Member
from headcount.protocol.team import Team


def test_an_agent_is_asked_to_exit_for_as_long_as_its_grace() -> None:
    asked: list[Any] = []
    runtime = SimpleNamespace(request_exit=lambda _, *how: asked.append(how))
    world: Any = SimpleNamespace(runtimes={"tmux": runtime})
    handle: Any = object()
    member = Member("bob", 1)
    team = Team("crew", members={member.key: member})
    start = {"mark": "m", "runtime": "tmux", "exit_text": "/exit"}
    act, policy = Act(ActKind.ASK_EXIT, "bob#1", 1), Policy(exit_grace_s=7)
    assert perform(Job(act, team, policy, world, member, handle, start)).events == ()
    assert asked == [("/exit", 7)]
