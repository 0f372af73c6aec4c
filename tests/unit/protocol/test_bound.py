from __future__ import annotations

from dataclasses import replace

import pytest

from headcount.domain.policy import Policy
from headcount.protocol import events as ev
from headcount.protocol.bound import CLOSE_AT_ONCE, bound_s, close_step_s, one_member_s
from headcount.protocol.member import Member, State
from headcount.protocol.step import step
from headcount.protocol.team import Team
from tests.support.liveness import TEMPERS, I8_it_ends_in_time, obliging, silent
from tests.support.onlooker import Violation


def asked(size: int, policy: Policy) -> Team:
    members = [Member(f"m{n}", 1, state=State.RUNNING, epoch=1) for n in range(size)]
    members += [Member("boss", 1, role="lead", state=State.RUNNING, epoch=1)]
    team = Team("demo", members={m.key: m for m in members}, generations={m.name: 1 for m in members})
    return step(team, ev.StandDown("r1"), policy)[0]


@pytest.mark.parametrize("temper", TEMPERS, ids=lambda temper: temper.__name__)
@pytest.mark.parametrize("size", [1, 20])
def test_every_temper_ends_within_the_bound(temper: object, size: int) -> None:
    policy = Policy()
    spent = I8_it_ends_in_time(asked(size, policy), policy, temper)  # type: ignore[arg-type]
    assert spent <= bound_s(policy, size + 1)


def test_E12_twenty_take_as_long_as_one() -> None:
    policy = Policy()
    one, twenty = (I8_it_ends_in_time(asked(n, policy), policy, silent) for n in (1, 20))
    assert one == twenty > 0


def test_nobody_waits_for_those_who_answer_at_once() -> None:
    policy = Policy()
    assert I8_it_ends_in_time(asked(3, policy), policy, obliging) == 0


def test_the_checker_notices_when_the_bound_is_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.liveness.bound_s", lambda policy, members: 10.0)
    with pytest.raises(Violation, match="I8: not at rest after"):
        I8_it_ends_in_time(asked(1, Policy()), Policy(), silent)


@pytest.mark.parametrize(
    "name",
    ["answer_timeout_s", "checkout_timeout_s", "start_timeout_s", "inspect_timeout_s", "judge_timeout_s",
     "nudge_timeout_s",
     "salvage_timeout_s", "exit_grace_s", "stop_grace_s", "finalizer_timeout_s", "max_attempts",
     "cleanup_retries"],
)  # fmt: skip
def test_every_limit_of_the_policy_is_part_of_the_bound(name: str) -> None:
    policy = Policy()
    longer = replace(policy, **{name: getattr(policy, name) + 1})
    assert bound_s(longer) > bound_s(policy)


def test_without_a_size_the_bound_is_that_of_the_largest_team() -> None:
    policy = Policy()
    assert bound_s(policy) == bound_s(policy, policy.max_members) > bound_s(policy, 1) > one_member_s(policy)


def test_F58_removing_workspaces_has_as_long_as_saving_them() -> None:
    policy = Policy(finalizer_timeout_s=1, salvage_timeout_s=300)
    assert close_step_s(policy, 1) > 300
    assert close_step_s(policy, CLOSE_AT_ONCE + 1) > 600
