"""What is offered for decision is what would be taken at that moment, wherever it is offered."""

from __future__ import annotations

import random

from headcount.domain.policy import Policy
from headcount.protocol import events as ev
from headcount.protocol.effects import Ready
from headcount.protocol.happened import Refused
from headcount.protocol.step import step
from headcount.protocol.team import DECISIONS, Team, decisions_now
from tests.support.possible import Choices, possible

ONE_TRY = Policy(max_attempts=1, max_waits=1)


def play(team: Team, *events: ev.Event) -> tuple[Team, Ready]:
    ready = Ready()
    for event in events:
        team, more = step(team, event, ONE_TRY)
        ready += more
    return team, ready


def escalated(*targets: str) -> tuple[Team, Ready]:
    """`ada` was asked to stand down, for its own or with the team, and is found dirty once too often."""
    team, _ = play(
        Team("crew"), ev.Spawn("ada"), ev.Spawn("ben"), ev.Registered("ada#1"), ev.Registered("ben#1"),
        ev.StandDown("r1", targets or None), ev.Answered("ada#1", "r1", True),
        ev.Answered("ben#1", "r1", True),
    )  # fmt: skip
    return play(team, ev.Inspected("ada#1", team.members["ada#1"].epoch, False, False, ("1 changed: a",)))


def can(team: Team) -> list[str]:
    return [decision for decision, refused in decisions_now(team, "e1", ONE_TRY).items() if refused is None]


def mail(ready: Ready) -> str:
    [body] = [post.body for post in ready.mail if post.to == "lead"]
    return body


def test_while_the_team_is_stood_down_nobody_is_offered_to_reassign() -> None:
    team, ready = escalated()
    assert can(team) == ["force-kill", "human", "wait"]
    assert "Decide with: headcount decide e1 force-kill|human|wait\n" in mail(ready)
    assert "2. Reassign to another worker? Not now: crew is being stood down, nothing" in mail(ready)


def test_where_only_one_member_is_stood_down_its_task_may_go_to_another() -> None:
    team, ready = escalated("ada")
    assert can(team) == [name for name in DECISIONS if name != "keep-here"]
    assert "Decide with: headcount decide e1 force-kill|reassign|human|wait\n" in mail(ready)
    assert "2. Reassign to another worker?\n3. Escalate to human?\n" in mail(ready)


def test_nobody_is_offered_to_wait_more_often_than_the_policy_says() -> None:
    team, _ = escalated("ada")
    team, _ = play(team, ev.Decided("e1", "wait"))
    assert can(team) == []
    silence = [ev.TimedOut("ada#1", team.members["ada#1"].epoch + n) for n in range(3)]
    team, ready = play(team, *silence)
    refusals = decisions_now(team, "e2", ONE_TRY)
    assert refusals["wait"] == "ada#1 was given 1 of 1 waits"
    assert "Decide with: headcount decide e2 force-kill|reassign|human\n" in mail(ready)


def test_what_is_offered_is_taken_and_what_is_not_offered_is_refused() -> None:
    """Along a random walk through all that may happen to a team."""
    rng, team, seen = random.Random(7), Team("crew"), set[tuple[str, bool]]()
    for _ in range(3000):
        events = list(possible(team, ONE_TRY, Choices(hub=True)))
        team = step(team, rng.choice(events), ONE_TRY)[0] if events else Team("crew")
        for escalation in team.escalations:
            for decision, refused in decisions_now(team, escalation, ONE_TRY).items():
                _, ready = step(team, ev.Decided(escalation, decision), ONE_TRY)
                late = any(entry.kind == "late" for entry in ready.entries)
                was_refused = any(isinstance(event, Refused) for event in ready.happened)
                assert (was_refused or late) == (refused is not None)
                seen.add((decision, refused is None))
    assert len(seen) == 2 * len(DECISIONS), "each was offered, and each was not"
