"""The answer of `down --json`: of this very request, in the words that its readers know."""

from __future__ import annotations

from headcount.app.progress import progress
from headcount.app.standing_down import status_of
from headcount.protocol import events as ev

from .lab import PATIENT, TEAM, Lab


def test_who_refused_is_shown_as_rejected_and_goes_on_with_its_work(lab: Lab) -> None:
    lab.create()
    for name in ("ada", "ben"):
        lab.start(name)
    asked = lab.ask()
    lab.say(ev.Answered("ben#1", asked["requestId"], False, "not yet"))
    answer = lab.finish(asked)
    assert {m["name"]: m["answer"] for m in answer["members"]} == {"ada": None, "ben": "rejected"}
    shown = progress(answer, TEAM, (lab.team(), PATIENT))
    assert shown == ["crew: rejected", *(f"  {name}  continues its work" for name in ("ada", "ben"))]


def test_a_request_that_was_refused_stays_refused_when_a_later_one_closed_the_team(lab: Lab) -> None:
    lab.create()
    lab.start("ada")
    first = lab.ask()
    lab.say(ev.Answered("ada#1", first["requestId"], False, "not yet"))
    lab.finish(first)
    second = lab.ask()
    lab.approve(second)
    assert lab.finish(second)["status"] == "shutdown"
    assert status_of(lab.app, TEAM, first["requestId"])["status"] == "rejected"
    assert status_of(lab.app, TEAM)["status"] == "shutdown"


def test_the_seconds_of_a_request_are_its_own(lab: Lab) -> None:
    lab.create()
    for name in ("ada", "ben"):
        lab.start(name)
    waiting, refused = lab.ask("ada"), lab.ask("ben")
    lab.say(ev.Answered("ben#1", refused["requestId"], False, "not yet"))
    assert lab.finish(refused)["seconds"] is not None
    assert status_of(lab.app, TEAM, waiting["requestId"])["seconds"] is None


def test_only_idle_members_are_left_so_it_is_pending_with_nobody_to_approve(lab: Lab) -> None:
    lab.create()
    lab.start("ada")
    lab.say(ev.IdleReported("ada#1"))
    answer = lab.ask()
    assert (answer["status"], answer["stage"]) == ("pending_shutdown", "stopping")
    assert answer["pendingApprovals"] == []
    assert progress(answer, TEAM, (lab.team(), PATIENT))[0] == "crew: stopping"
    ended = lab.finish(answer)
    assert (ended["status"], "stage" in ended) == ("shutdown", False)


def test_of_one_that_is_gone_nothing_is_told_that_belongs_to_the_others(lab: Lab) -> None:
    lab.create()
    for name in ("ada", "ben"):
        lab.start(name)
    first = lab.ask("ada")
    lab.approve(first)
    lab.finish(first)
    lab.ask()
    again = lab.ask("ada")
    assert again["status"] == "shutdown"
    assert not {"pendingApprovals", "stage"} & set(again)
