"""Who is gone is not stood down again: the answer says so, with the proof, and opens nothing."""

from __future__ import annotations

import pytest

from headcount.app.member_start import Plan
from headcount.app.members import find_member
from headcount.app.teams import create_team, spawn
from headcount.errors import UsageError

from .lab import Lab


def _bring_home(lab: Lab, name: str) -> str:
    answer = lab.ask(name)
    lab.approve(answer)
    return str(lab.finish(answer)["requestId"])


def test_asking_again_for_one_that_is_gone_shows_the_proof_and_opens_no_request(lab: Lab) -> None:
    lab.create()
    lab.start("ada")
    request = _bring_home(lab, "ada")
    before = lab.journal("stand_down")
    again = lab.ask("ada")
    assert (again["status"], again["requestId"], again["seconds"]) == ("shutdown", request, 0.0)
    assert again["members"] == [
        {
            "name": "ada",
            "generation": 1,
            "answer": None,
            "outcome": "already_gone",
            "attempts": 0,
            "salvage": None,
            "seconds": 0.0,
        }
    ]
    (proof,) = again["alreadyGone"]
    assert proof["outcome"] == "clean"
    assert proof["proof"] in ("cgroup+mark", "subreaper+mark")  # by what the machine can do
    assert proof["processes"] >= 1 and proof["at"].endswith("+00:00")
    assert lab.journal("stand_down") == before
    assert str(lab.team().status) == "active"


def test_an_incarnation_is_meant_by_its_key_as_status_shows_it(lab: Lab) -> None:
    lab.create()
    lab.start("ada")
    _bring_home(lab, "ada#1")
    lab.start("ada")
    assert lab.ask("ada#1")["members"][0]["outcome"] == "already_gone"
    answer = lab.ask("ada#2")
    assert answer["pendingApprovals"] == ["ada"]
    with pytest.raises(UsageError) as refused:
        lab.ask("ada#3")
    assert refused.value.code == "unknown-member"


def test_a_team_of_which_all_are_gone_lists_every_one_of_them(lab: Lab) -> None:
    lab.create()
    lab.start("ada")
    lab.start("ben")
    for name in ("ada", "ben"):
        _bring_home(lab, name)
    answer = lab.finish(lab.ask())
    assert (answer["status"], answer["deleted"]) == ("shutdown", True)
    assert [(m["name"], m["outcome"]) for m in answer["members"]] == [
        ("ada", "already_gone"),
        ("ben", "already_gone"),
    ]
    assert [m["outcome"] for m in answer["alreadyGone"]] == ["clean", "clean"]
    # Asking a closed team again, or for one of its members, gives the same proof.
    assert lab.ask() == answer
    assert lab.ask("ben")["alreadyGone"] == answer["alreadyGone"][1:]


def test_of_two_that_are_named_only_the_one_that_is_there_is_asked(lab: Lab) -> None:
    lab.create()
    lab.start("ada")
    lab.start("ben")
    _bring_home(lab, "ada")
    answer = lab.ask("ada", "ben")
    assert answer["pendingApprovals"] == ["ben"]
    lab.approve(answer)
    answer = lab.finish(answer)
    assert [(m["name"], m["answer"], m["outcome"]) for m in answer["members"]] == [
        ("ada", None, "already_gone"),
        ("ben", "approved", "clean"),
    ]
    assert [m["name"] for m in answer["alreadyGone"]] == ["ada"]


def test_a_name_that_two_teams_have_is_asked_back_instead_of_guessed(lab: Lab) -> None:
    lab.create()
    lab.start("ada")
    create_team(lab.app, "other")
    spawn(lab.app, "other", Plan("ada", command=("true",)))
    with pytest.raises(UsageError) as refused:
        find_member(lab.app, "ada")
    assert refused.value.code == "which-team"
    assert find_member(lab.app, "ada", "crew")[0] == "crew"
