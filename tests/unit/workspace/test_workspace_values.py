from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from headcount.domain.findings import (
    SAVED_NOT_JUDGED,
    Archive,
    Finding,
    Findings,
    GoneProof,
    Kind,
    LeftOut,
    Salvage,
    Verdict,
    Workspace,
)

WHEN = "2024-05-01T10:00:00+00:00"
WORKSPACE = Workspace("t", "alice", 2, "/w", "/r/.git/worktrees/alice", "headcount/t/alice", "ab" * 20)
SALVAGE = Salvage(
    "refs/headcount/salvage/t/alice/2", "cd" * 20, "t", "alice", 2, 3, 400, (LeftOut("x", 9, "big"),)
)


def finding(kind: Kind, what: str = "a.txt") -> Finding:
    return Finding(kind, what, WHEN, "git status", path=what)


def findings(*items: Finding) -> Findings:
    return Findings("/w", WHEN, "ab" * 20, "headcount/t/alice", 1, items)


@pytest.mark.parametrize(
    "value",
    [
        WORKSPACE,
        SALVAGE,
        findings(finding(Kind.STASH), finding(Kind.IGNORED)),
        Verdict(False, ("1 untracked: a.txt",), "rules"),
        Archive("/a.tar", "ef" * 32, 4, 5),
    ],
)
def test_value_survives_json(value: Any) -> None:
    assert type(value).from_dict(json.loads(json.dumps(value.as_dict()))) == value


@pytest.mark.parametrize("kind", list(Kind))
def test_every_kind_is_either_dirty_or_only_to_be_saved(kind: Kind) -> None:
    found = findings(finding(kind))
    assert not found.spotless
    assert found.clean is (kind in SAVED_NOT_JUDGED)
    assert Verdict.by_rules(found).clean is found.clean
    assert bool(found.issues()) is not found.clean


def test_nothing_found_is_clean_and_spotless() -> None:
    assert findings().clean and findings().spotless and findings().issues() == []


def test_claim_in_json_that_it_is_clean_is_not_believed() -> None:
    lie = {**findings(finding(Kind.STAGED)).as_dict(), "clean": True, "spotless": True}
    assert not Findings.from_dict(lie).clean


def test_issues_name_files_up_to_a_limit_and_count_the_rest() -> None:
    found = findings(
        *(finding(Kind.UNTRACKED, f"{n}.txt") for n in range(5)), finding(Kind.CONFLICT, "c.txt")
    )
    assert found.issues(limit=2) == ["1 in conflict: c.txt", "5 untracked: 0.txt, 1.txt, and 3 more"]


def test_proof_covers_its_own_member_and_earlier_incarnations_in_the_same_workspace() -> None:
    proof = GoneProof("t", "alice", 2, "keeper", WHEN)
    assert proof.covers(WORKSPACE)
    assert replace(proof, generation=3).covers(WORKSPACE)
    for other in (
        replace(proof, generation=1),
        replace(proof, member="alice-2"),
        replace(proof, team="t-2"),
        replace(proof, alive=("4711",)),
    ):
        assert not other.covers(WORKSPACE)


def test_salvage_that_left_something_out_is_not_complete() -> None:
    assert not SALVAGE.complete
    assert replace(SALVAGE, left_out=()).complete
