"""`step` is total and pure: whatever comes, in whatever state, it answers and forgets nothing."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.domain.policy import Policy
from headcount.protocol import codec
from headcount.protocol import events as ev
from headcount.protocol.effects import Act, ActKind, Ready
from headcount.protocol.member import Member, State
from headcount.protocol.step import step
from headcount.protocol.team import DECISIONS, Status, Team, why_not_stand_down, why_not_start
from tests.support.possible import Choices, possible, strange

POLICY = Policy(max_attempts=2, max_waits=1, budget_tokens=1)
CHOICES = Choices(reviews=True, pause=True, witness_judges=True, limits=True, cycle=True)


def wander(seed: int, steps: int) -> Team:
    """A team after a random walk through what may happen."""
    rng = random.Random(seed)
    team = Team("demo")
    for _ in range(steps):
        events = list(possible(team, POLICY, CHOICES))
        if not events:
            break
        team, _ = step(team, rng.choice(events), POLICY)
    return team


teams = st.builds(wander, st.integers(0, 10_000), st.integers(0, 60))
keys = st.sampled_from(["a#1", "b#1", "c#1", "a#2", "nobody#1", ""])
words = st.text(max_size=12)
epochs = st.integers(-1, 40)
maybe = st.none() | words
KINDS: dict[type[ev.Event], st.SearchStrategy[ev.Event]] = {
    ev.Spawn: st.builds(ev.Spawn, words, st.sampled_from(["worker", "lead"]), maybe, st.booleans()),
    ev.StandDown: st.builds(
        ev.StandDown, words, st.none() | st.lists(st.sampled_from("abcx"), max_size=3).map(tuple), words,
        st.booleans(), st.booleans(),
    ),
    ev.PolicyChanged: st.builds(ev.PolicyChanged, st.just((("answer_timeout_s", 30.0, 5.0),))),
    ev.Decided: st.builds(
        ev.Decided, st.sampled_from(["e1", "e2", "e9"]), st.sampled_from([*DECISIONS, "explode"])
    ),
    ev.Released: st.builds(ev.Released, keys),
    ev.ChangesRequested: st.builds(ev.ChangesRequested, keys, words),
    ev.RefusedForGood: st.builds(ev.RefusedForGood, keys, words),
    ev.Paused: st.builds(ev.Paused, keys),
    ev.Resumed: st.builds(ev.Resumed, keys),
    ev.Answered: st.builds(ev.Answered, keys, words, st.booleans(), words),
    ev.DoneSignalled: st.builds(ev.DoneSignalled, keys, maybe),
    ev.IdleReported: st.builds(ev.IdleReported, keys),
    ev.WorkResumed: st.builds(ev.WorkResumed, keys),
    ev.Limited: st.builds(ev.Limited, keys, words, words),
    ev.Spent: st.builds(ev.Spent, keys, st.integers(0, 10), st.integers(0, 10)),
    ev.ClientFailed: st.builds(ev.ClientFailed, keys, st.just("killed by SIGKILL")),
    ev.TaskClaimed: st.builds(ev.TaskClaimed, keys, words),
    ev.Reviewed: st.builds(ev.Reviewed, keys, words, words),
    ev.Judged: st.builds(ev.Judged, keys, st.booleans(), st.lists(words, max_size=2).map(tuple)),
    ev.Registered: st.builds(ev.Registered, keys),
    ev.StartFailed: st.builds(ev.StartFailed, keys, words),
    ev.Exited: st.builds(ev.Exited, keys, words),
    ev.Inspected: st.builds(ev.Inspected, keys, epochs, st.booleans(), st.none() | st.booleans()),
    ev.Saved: st.builds(ev.Saved, keys, epochs, maybe),
    ev.SalvageFailed: st.builds(ev.SalvageFailed, keys, epochs, words),
    ev.TreeEmpty: st.builds(ev.TreeEmpty, keys, words),
    ev.NotEmpty: st.builds(ev.NotEmpty, keys, epochs, st.lists(words, max_size=2).map(tuple)),
    ev.LastRead: st.builds(ev.LastRead, keys, epochs, st.booleans(), maybe, words),
    ev.StepEnded: st.builds(ev.StepEnded, words, epochs, st.booleans(), words),
    ev.TimedOut: st.builds(ev.TimedOut, st.none() | keys, epochs),
}  # fmt: skip
events = st.one_of(*KINDS.values())


def test_every_kind_of_event_is_drawn() -> None:
    """And so applied: `test_step_is_total` fails for one that the rules do not know."""
    assert {cls.__name__ for cls in KINDS} == set(ev.BY_NAME)


@given(teams, events)
@settings(max_examples=400)
def test_step_is_total(team: Team, event: ev.Event) -> None:
    after, _ = step(team, event, POLICY)
    assert set(after.members) >= set(team.members)
    assert after.escalation_count >= team.escalation_count


@given(teams, events)
@settings(max_examples=200)
def test_step_is_pure(team: Team, event: ev.Event) -> None:
    before = codec.dump_team(team), dict(team.members)
    assert step(team, event, POLICY) == step(team, event, POLICY)
    assert (codec.dump_team(team), dict(team.members)) == before


@given(teams)
@settings(max_examples=100)
def test_what_is_late_or_about_nobody_changes_nothing(team: Team) -> None:
    for event in strange(team):
        after, ready = step(team, event, POLICY)
        assert after == team, event
        assert ready or isinstance(event, ev.Spent), f"{event} is not even noted"


@given(teams)
@settings(max_examples=100)
def test_a_closed_team_hears_nothing(team: Team) -> None:
    closed = Team(team.name, status=Status.SHUTDOWN, members=team.members, generations=team.generations)
    for event in (ev.Spawn("new"), ev.StandDown("r9"), *(ev.Exited(key) for key in team.members)):
        after, ready = step(closed, event, POLICY)
        assert after is closed
        assert ready == Ready(happened=ready.happened, entries=ready.entries)
        assert [entry.kind for entry in ready.entries] in (["late"], ["refused"])


# --- the codec


@given(teams)
@settings(max_examples=150)
def test_a_team_and_its_members_survive_the_store(team: Team) -> None:
    members = {key: codec.load_member(codec.dump_member(m)) for key, m in team.members.items()}
    assert members == team.members
    assert codec.load_team(codec.dump_team(team), members) == team


@given(events)
@settings(max_examples=300)
def test_an_event_survives_the_store(event: ev.Event) -> None:
    assert codec.load_event(*codec.dump_event(event)) == event


@given(
    st.sampled_from(ActKind), words, epochs,
    st.dictionaries(words, st.one_of(words, st.booleans(), st.integers()), max_size=3),
)  # fmt: skip
def test_an_act_survives_the_store(kind: ActKind, about: str, epoch: int, data: dict[str, object]) -> None:
    act = Act(kind, about, epoch, data)
    assert codec.load_act(codec.dump_act(act)) == act


def test_a_member_of_a_later_version_is_read_without_what_is_unknown() -> None:
    text = codec.dump_member(Member("web", 2, state=State.NUDGED)).replace('"waits":0', '"mood":"good"')
    assert codec.load_member(text) == Member("web", 2, state=State.NUDGED)


# --- refusals that a caller hears


def started(name: str, **changes: object) -> Team:
    member = Member(name, 1, state=State.RUNNING, **changes)  # type: ignore[arg-type]
    return Team("demo", members={member.key: member}, generations={name: 1})


def test_a_new_generation_starts_only_when_the_last_one_is_settled() -> None:
    assert why_not_start(started("web"), "web", POLICY) is not None
    gone = started("web", settled=True)
    after, _ = step(gone, ev.Spawn("web"), POLICY)
    assert "web#2" in after.members
    assert after.generations["web"] == 2


def test_no_more_members_than_the_policy_allows_are_alive() -> None:
    refused = why_not_start(started("web"), "api", Policy(max_members=1))
    assert refused is not None
    assert refused[0] == "too-many-members"


@pytest.mark.parametrize(
    ("names", "code"),
    [(None, None), (("web",), None), (("nobody",), "unknown-member"), (("boss",), "lead-goes-last")],
)
def test_A13_a_lead_is_stood_down_only_with_its_team(names: tuple[str, ...] | None, code: str | None) -> None:
    boss, web = Member("boss", 1, role="lead"), Member("web", 1)
    team = Team("demo", members={m.key: m for m in (boss, web)}, generations={"boss": 1, "web": 1})
    refused = why_not_stand_down(team, names)
    assert (refused[0] if refused else None) == code


@pytest.mark.parametrize(
    ("decision", "kind"), [("wait", "decided"), ("force-kill", "decided"), ("human", "parked")]
)
def test_why_somebody_decided_is_in_the_journal(decision: str, kind: str) -> None:
    team, _ = step(Team("demo"), ev.Spawn("a"), POLICY)
    for event in (ev.Registered("a#1"), ev.StandDown("r1", ("a",)), ev.DoneSignalled("a#1")):
        team, _ = step(team, event, POLICY)
    for _ in range(POLICY.max_attempts):
        epoch = team.members["a#1"].epoch
        team, _ = step(team, ev.Inspected("a#1", epoch, False, False, ("a.txt",)), POLICY)
        team, _ = step(team, ev.DoneSignalled("a#1"), POLICY)
    assert team.members["a#1"].state is State.ESCALATED
    _, ready = step(team, ev.Decided("e1", decision, "operator", "it is only a test"), POLICY)
    (note,) = [entry for entry in ready.entries if entry.kind == kind]
    assert note.data["reason"] == "it is only a test"
