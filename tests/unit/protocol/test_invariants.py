"""Each checker notices what it is there for, and nothing else: steps as no rule would make them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headcount.domain import templates
from headcount.protocol import events as ev
from headcount.protocol.effects import Act, ActKind, Post, Ready
from headcount.protocol.happened import RequestRejected
from headcount.protocol.member import Member, State
from headcount.protocol.team import Escalation, Request, Status, Team
from tests.support import invariants as inv
from tests.support.invariants import check
from tests.support.onlooker import Seen, Step, Violation, remember

WEB = Member("web", 1, state=State.ASKED, epoch=3, request="r1", ask="r1")
API = Member("api", 1, state=State.RUNNING, epoch=1)
R1 = Request("r1", ("web#1",), True)
TEAM = Team("demo", Status.PENDING_SHUTDOWN, members={}, requests={"r1": R1})
QUIET = ev.IdleReported("nobody#1")


def team(*members: Member, **changes: object) -> Team:
    base = Team("demo", status=Status.PENDING_SHUTDOWN, requests={"r1": R1})
    return replace(base, members={m.key: m for m in members}, **changes)  # type: ignore[arg-type]


def act(kind: ActKind, about: str = "web#1", **data: object) -> Act:
    return Act(kind, about, 3, data)


class Sealed(str):
    """A mailbox that the step seals."""


SAFE = {"web#1": Seen(leave=True, safe=True, proved=True)}
SAME = team(WEB)


def problems(
    checker: object, after: Team, *done: Act | Post | RequestRejected | Sealed, before: Team = SAME,
    event: ev.Event = QUIET, seen: dict[str, Seen] | None = None,
) -> list[str]:  # fmt: skip
    ready = Ready(
        happened=tuple(d for d in done if isinstance(d, RequestRejected)),
        mail=tuple(d for d in done if isinstance(d, Post)),
        sealed=tuple(d for d in done if isinstance(d, Sealed)),
        acts=tuple(d for d in done if isinstance(d, Act)),
    )
    return list(checker(Step(before, event, after, ready), SAFE if seen is None else seen))  # type: ignore[operator]


@pytest.mark.parametrize("kind", [ActKind.ASK_EXIT, ActKind.TERMINATE, ActKind.KILL])
@pytest.mark.parametrize("seen", [Seen(leave=True), Seen(safe=True)], ids=["unsaved", "unheard"])
def test_I1_notices_a_stop_that_comes_too_soon(kind: ActKind, seen: Seen) -> None:
    checker = inv.I1_nobody_is_stopped_unheard_or_unsaved
    assert problems(checker, SAME, act(kind), seen={"web#1": seen})
    assert not problems(checker, SAME, act(kind))
    assert not problems(checker, SAME, act(ActKind.INSPECT), seen={"web#1": seen})


def test_I2_notices_a_workspace_removed_before_the_last_look() -> None:
    checker, step = inv.I2_workspaces_go_after_the_last_look, act(ActKind.CLOSE_STEP, "", step="workspaces")
    assert problems(checker, SAME, step)
    assert not problems(checker, team(replace(WEB, state=State.GONE, settled=True)), step)
    assert problems(checker, SAME, act(ActKind.LAST_READ), seen={"web#1": Seen()})


@pytest.mark.parametrize("status", [Status.CLOSING, Status.SHUTDOWN])
def test_I3_notices_a_team_that_closes_over_somebody(status: Status) -> None:
    checker = inv.I3_no_team_closes_over_a_living_member
    assert problems(checker, team(WEB, status=status), seen={"web#1": Seen()})
    assert not problems(checker, team(WEB, status=status))
    gone = team(replace(WEB, state=State.GONE))
    assert problems(checker, gone, seen={"web#1": Seen()})


def test_I4_notices_a_start_too_soon() -> None:
    checker = inv.I4_a_name_is_started_again_only_when_it_is_gone
    active = team(API, status=Status.ACTIVE)
    again = team(API, Member("api", 2), status=Status.ACTIVE)
    assert problems(checker, again, act(ActKind.START, "api#2"), before=active)
    assert problems(checker, again, act(ActKind.START, "new#1"), before=SAME), "while the team drains"
    settled = team(replace(API, settled=True), status=Status.ACTIVE)
    assert not problems(checker, again, act(ActKind.START, "api#2"), before=settled)


def test_I4_notices_a_task_that_begins_in_a_slot_that_is_taken() -> None:
    first = Member("api", 1, state=State.STOPPING, task="t1")
    before = team(first, status=Status.ACTIVE)
    after = team(first, Member("docs", 1, task="t2"), status=Status.ACTIVE)
    step = Step(before, QUIET, after, Ready(acts=(act(ActKind.START, "docs#1"),)))
    seen = {"api#1": Seen()}
    assert list(inv.I4_the_next_task_waits(step, seen, 1))
    assert not list(inv.I4_the_next_task_waits(step, seen, 2))
    assert not list(inv.I4_the_next_task_waits(step, {"api#1": Seen(gave_up=True)}, 1))
    gone = Step(team(replace(first, settled=True)), QUIET, after, Ready(acts=(act(ActKind.START, "docs#1"),)))
    assert not list(inv.I4_the_next_task_waits(gone, seen, 1))


@pytest.mark.parametrize(
    ("role", "came_back", "waits"),
    [("spec-reviewer", False, True), ("worker", True, True), ("spec-reviewer", True, False)],
)
def test_I4_lets_the_reviewers_of_a_worker_that_came_back_and_left_begin(
    role: str, came_back: bool, waits: bool
) -> None:
    other, left = Member("api", 1, state=State.RUNNING, task="t1"), Member("web", 1, task="t2", settled=True)
    after = team(other, left, Member("docs", 1, role=role, task="t2"))
    step = Step(team(other, left), QUIET, after, Ready(acts=(act(ActKind.START, "docs#1"),)))
    seen = {"api#1": Seen(), "web#1": Seen(gave_up=True, came_back=came_back)}
    assert bool(list(inv.I4_the_next_task_waits(step, seen, 1))) == waits


def test_I5_notices_an_answer_from_somebody_else() -> None:
    checker = inv.I5_a_member_answers_only_for_itself
    answered = team(replace(WEB, answer="approved"))
    assert problems(checker, answered, event=ev.Answered("api#1", "r1", True))
    assert not problems(checker, answered, event=ev.Answered("web#1", "r1", True))
    lead = Member("boss", 1, role="lead", state=State.RUNNING)
    named = Request("r2", ("boss#1",), False)
    opened, alone = team(WEB, lead, requests={"r2": named}), ev.StandDown("r2", ("boss",))
    assert problems(checker, opened, before=team(WEB, lead), event=alone)
    assert problems(checker, opened, before=team(WEB, lead), event=ev.Spent("boss#1", 9))
    assert not problems(checker, opened, before=team(WEB, lead), event=replace(alone, cycling=True))


def test_I6_notices_a_second_answer_and_a_second_end() -> None:
    checker = inv.I6_the_first_answer_and_the_last_outcome_stand
    approved = team(replace(WEB, answer="approved"))
    assert problems(checker, team(replace(WEB, answer="rejected")), before=approved)
    over = team(replace(WEB, state=State.GONE, settled=True, outcome="clean"))
    changed = team(replace(WEB, state=State.GONE, settled=True, outcome="forced"))
    assert problems(checker, changed, before=over)
    late = ev.TimedOut("web#1", 1)
    assert problems(checker, approved, event=late)
    assert not problems(checker, SAME, event=late)


def test_I7_notices_mail_to_a_sealed_box() -> None:
    checker = inv.I7_nobody_is_written_to_after_its_mailbox_is_sealed
    over = team(replace(WEB, state=State.GONE, settled=True))
    assert problems(checker, over, before=SAME), "settled, and not sealed"
    assert problems(checker, SAME, Sealed("web#1")), "sealed, and not settled"
    assert not problems(checker, over, Sealed("web#1"), before=SAME)
    assert problems(checker, over, Post("web#1", "hello", ""), before=over)


def test_I9_notices_an_escalation_that_floods() -> None:
    checker = inv.I9_an_escalation_is_mailed_once
    mail = Post("lead", "Escalation", "", template=templates.WORKER_ESCALATION)
    one = Escalation("e1", "web#1", "dirty")
    escalated = team(replace(WEB, state=State.ESCALATED), escalations={"e1": one})
    assert not problems(checker, escalated, mail)
    assert problems(checker, escalated, mail, mail)
    assert problems(checker, escalated, mail, before=escalated)
    assert problems(checker, team(replace(WEB, state=State.ESCALATED)), before=SAME), "nobody was told"
    two = {"e1": one, "e2": replace(one, id="e2")}
    assert problems(
        checker, team(replace(WEB, state=State.ESCALATED), escalations=two), mail, before=escalated
    )


def test_I10_notices_acts_upon_others() -> None:
    checker = inv.I10_only_ours_are_touched
    assert problems(checker, SAME, act(ActKind.KILL, "web-2#1"))
    gone = team(replace(WEB, state=State.GONE))
    assert problems(checker, gone, act(ActKind.KILL))
    assert not problems(checker, gone, act(ActKind.LAST_READ))


def test_the_two_phases_are_kept_apart() -> None:
    moved = team(replace(WEB, state=State.INSPECTING))
    assert problems(inv.two_phases, moved)
    assert not problems(inv.two_phases, moved, event=ev.Exited("web#1"))
    past = team(replace(WEB, state=State.INSPECTING), requests={"r1": replace(R1, asking=False)})
    assert not problems(inv.two_phases, past)
    passed_by = team(replace(WEB, state=State.INSPECTING, ask=None))
    free = team(replace(WEB, state=State.RUNNING, request=None))
    assert problems(inv.two_phases, passed_by, before=free, event=ev.StandDown("r1"))


def test_a_refusal_that_costs_something_is_noticed() -> None:
    checker, note = inv.a_refusal_costs_nothing, RequestRejected("r1", ())
    told = Post("web#1", "Shutdown withdrawn", "", type="shutdown_withdrawn")
    free = team(replace(WEB, state=State.RUNNING, request=None, ask=None), status=Status.ACTIVE)
    assert not problems(checker, free, note, told)
    assert problems(checker, free, note), "it was not told"
    assert problems(checker, free, note, told, act(ActKind.TERMINATE))
    assert problems(checker, SAME, note, told), "it is still asked"
    done = team(replace(WEB, held_done=True))
    assert problems(checker, free, note, told, before=done), "its done signal is forgotten"


def test_whoever_waits_for_nothing_is_noticed() -> None:
    salvaging = team(replace(WEB, state=State.SALVAGING))
    assert problems(inv.whoever_waits_has_asked, salvaging)
    assert not problems(inv.whoever_waits_has_asked, salvaging, act(ActKind.SALVAGE))


def test_a_request_that_is_left_open_is_noticed() -> None:
    checker = inv.a_request_that_can_end_has_ended
    assert problems(checker, team(replace(WEB, state=State.GONE, settled=True)))
    assert problems(checker, team(WEB, requests={}))
    assert not problems(checker, SAME)


def test_a_death_that_nobody_looks_at_is_noticed() -> None:
    exited = ev.Exited("web#1")
    assert problems(inv.a_death_is_looked_at, SAME, event=exited)
    looked_at = team(replace(WEB, state=State.SALVAGING, exited=True))
    assert not problems(inv.a_death_is_looked_at, looked_at, event=exited)


@pytest.mark.parametrize(
    ("seen", "outcome"),
    [
        (Seen(early=True, overruled=True, saved=True), "already_gone"),
        (Seen(overruled=True, saved=True), "forced"),
        (Seen(saved=True), "salvaged"),
        (Seen(), "clean"),
    ],
)
def test_the_outcome_is_the_first_that_fits(seen: Seen, outcome: str) -> None:
    checker = inv.the_outcome_is_the_first_that_fits
    gone = replace(WEB, state=State.GONE, settled=True)
    assert not problems(checker, team(replace(gone, outcome=outcome)), seen={"web#1": seen})
    assert problems(checker, team(replace(gone, outcome="stuck")), seen={"web#1": seen})


def test_check_names_the_invariant() -> None:
    with pytest.raises(Violation, match=r"^I1_nobody_is_stopped"):
        check(Step(SAME, QUIET, SAME, Ready(acts=(act(ActKind.KILL),))), {"web#1": Seen()})


def test_the_onlooker_forgets_leave_when_the_request_is_withdrawn() -> None:
    answered = remember(
        {}, Step(SAME, ev.Answered("web#1", "r1", True), team(replace(WEB, answer="approved")), Ready())
    )
    assert answered["web#1"].leave
    free = team(replace(WEB, state=State.RUNNING, request=None, ask=None))
    assert not remember(answered, Step(SAME, ev.Answered("api#1", "r1", False), free, Ready()))["web#1"].leave
