"""A member that failed is named with its cause, once; one that headcount ended has none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headcount.domain.policy import Policy
from headcount.protocol import events as ev
from headcount.protocol.effects import ActKind
from headcount.protocol.member import Activity, Member, State
from headcount.protocol.step import step
from headcount.protocol.team import Team, why_not_start

NOW = "2026-11-17T10:00:00+00:00"
ADA = Member("ada", 1, state=State.RUNNING, epoch=1)


def team(*members: Member) -> Team:
    return Team("crew", members={m.key: m for m in members}, generations={m.name: 1 for m in members})


def test_a_crash_is_mailed_to_the_lead_once_and_runs_the_command_of_the_user() -> None:
    policy = Policy(notify=("tell",))
    after, ready = step(team(ADA), ev.Exited("ada#1", "killed", None, "killed by SIGKILL"), policy, NOW)
    assert after.members["ada#1"].cause == "killed by SIGKILL"
    (mail,) = [post for post in ready.mail if post.to == "lead"]
    assert mail.subject == "ada failed" and "killed by SIGKILL" in mail.body
    (told,) = [act for act in ready.acts if act.kind is ActKind.NOTIFY]
    assert told.data["failure"] == "killed by SIGKILL"
    again, more = step(after, ev.Exited("ada#1", "killed", None, "killed by SIGKILL"), policy, NOW)
    assert again == after and not more.mail


def test_what_the_host_reported_before_its_exit_is_the_cause() -> None:
    failing, _ = step(team(ADA), ev.ClientFailed("ada#1", "not logged in"), Policy(), NOW)
    after, _ = step(failing, ev.Exited("ada#1", "exited with code 1", 1, "exited with code 1"), Policy(), NOW)
    assert after.members["ada#1"].cause == "not logged in"


@pytest.mark.parametrize(
    "member",
    [
        replace(ADA, state=State.STOPPING, terminated=True),
        replace(ADA, state=State.KILLING),
        replace(ADA, state=State.SALVAGING),
    ],
)
def test_the_end_of_a_member_that_headcount_ends_is_no_failure(member: Member) -> None:
    after, ready = step(team(member), ev.Exited("ada#1", "killed", None, "killed by SIGTERM"), Policy(), NOW)
    assert after.members["ada#1"].cause == "" and not ready.mail


def test_a_limit_of_an_account_holds_only_starts_with_that_account() -> None:
    limited = replace(ADA, activity=Activity.LIMITED, account="claude:1")
    crew = team(limited)
    assert why_not_start(crew, "bob", Policy(), "codex:2") is None
    assert why_not_start(crew, "bob", Policy(), "") is None
    refused = why_not_start(crew, "bob", Policy(), "claude:1")
    assert refused is not None and refused[0] == "usage-limit"
    unknown = team(replace(limited, account=""))
    assert why_not_start(unknown, "bob", Policy(), "codex:2") is not None


def test_F100_force_that_comes_later_does_not_wait_for_a_member_at_its_limit() -> None:
    """Nor does force that came before the limit. Without force its answer is waited for."""
    ask = ev.StandDown("r1", None, "over")
    force = replace(ask, request_id="r2", force=True)
    limited = ev.Limited("ada#1", "usage limit", "later")
    crew = team(ADA)
    for events in ((ask, limited, force), (limited, ask, force), (force, limited)):
        after = crew
        for event in events:
            before, (after, _) = after, step(after, event, Policy(), NOW)
        assert before.members["ada#1"].state in (State.ASKED, State.RUNNING), events
        assert after.members["ada#1"].state is State.INSPECTING, events
