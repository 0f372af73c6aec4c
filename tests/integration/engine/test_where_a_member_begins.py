"""`headcount spawn --at`: at a commit, or where somebody stood. A reviewer's word is about that commit."""

from __future__ import annotations

import pytest

from headcount.errors import UsageError
from headcount.protocol import events as ev
from headcount.protocol.member import State

from .lab import PATIENT, POLITE, TEAM, Lab, git


def test_a_reviewer_stands_detached_where_the_worker_was_verified(lab: Lab) -> None:
    lab.create(PATIENT)
    lab.start("ada", awaits_review=True)
    place = lab.workspace("ada#1")
    git(place, "commit", "--quiet", "--allow-empty", "-m", "verified")
    commit = git(place, "rev-parse", "HEAD").strip()
    lab.say(ev.DoneSignalled("ada#1"))
    lab.wait_state("ada#1", lambda m: m.state is State.VERIFIED)
    git(place, "commit", "--quiet", "--allow-empty", "-m", "not inspected")
    lab.start("rev", role="spec-reviewer", base="ada")
    assert git(lab.workspace("rev#1"), "rev-parse", "HEAD").strip() == commit
    assert git(lab.workspace("rev#1"), "branch", "--show-current") == ""
    with lab.app.store.read() as tx:
        assert tx.fact(f"{TEAM}#1", "rev#1", "reviewing") == {"commit": commit}


def test_a_worker_begins_on_its_own_branch_at_the_commit_that_was_named(lab: Lab) -> None:
    lab.create(PATIENT)
    first = git(lab.app.root, "rev-parse", "HEAD").strip()
    git(lab.app.root, "commit", "--quiet", "--allow-empty", "-m", "later")
    lab.start("ada", base="HEAD~1")
    assert git(lab.workspace("ada#1"), "rev-parse", "HEAD").strip() == first
    assert git(lab.workspace("ada#1"), "branch", "--show-current").strip() == f"headcount/{TEAM}/ada"


@pytest.mark.parametrize("where", ["nonsense", "--all", "bob"])
def test_where_nothing_is_nobody_is_started(lab: Lab, where: str) -> None:
    lab.create(PATIENT)
    lab.start("bob", POLITE)
    with pytest.raises(UsageError) as refused:
        lab.start("ada", base=where)
    assert refused.value.code == "unknown-commit"
    assert list(lab.team().members) == ["bob#1"]
