"""The checklist says what it knows and from what; `status.json` has one schema."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headcount.domain.checklist import PhaseStatus, read_status
from headcount.domain.policy import Policy
from headcount.domain.settings import Gates
from headcount.errors import Bug
from headcount.protocol.completion import checklist, status_json
from headcount.protocol.member import Member
from headcount.protocol.member import State as MemberState
from headcount.protocol.phase import State, open_phase
from headcount.protocol.task import Task

AT = "2026-01-01T10:00:00+00:00"


def new_phase() -> object:
    return open_phase("web", [Task("a")], Gates(), AT, Policy())[0]


def test_the_checklist_has_six_items_in_the_order_of_the_requirement() -> None:
    assert [item.title for item in checklist(new_phase(), ())] == [
        "All tasks complete", "No active workers", "No active reviewers", "Verification gate passed",
        "Complexity gate passed", "Team cleanup completed",
    ]  # fmt: skip


def test_a_member_that_is_not_settled_is_active_whatever_the_tasks_believe() -> None:
    members = (
        Member("alice", 1, state=MemberState.GONE, settled=True, outcome="clean"),
        Member("alice", 2, state=MemberState.KILLING, stuck=True),
        Member("spec", 1, role="spec-reviewer", state=MemberState.GONE, settled=True, outcome="salvaged"),
        Member("boss", 1, role="lead", state=MemberState.RUNNING),
    )
    _, workers, reviewers, *_ = checklist(new_phase(), members)
    assert (workers.done, workers.evidence) == (False, "1 of 2 proved gone (1 clean); alice#2 is stuck")
    assert (reviewers.done, reviewers.evidence) == (True, "1 of 1 proved gone (1 salvaged)")


def test_E4_what_is_written_is_what_is_read() -> None:
    written = status_json(new_phase())
    assert list(written) == ["status", "attempt", "started_at", "reason", "gate", "notes"]
    assert read_status(written) == PhaseStatus("running", 1, AT)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"status": "done"}, "status is one of"),
        ({"attempt": 0}, "attempt counts from 1"),
        ({"attempt": True}, "attempt counts from 1"),
        ({"started_at": "yesterday"}, "started_at is a time"),
        ({"started_at": "2026-01-01T10:00:00"}, "started_at is a time with an offset"),
        ({"status": "complete"}, "completed_at stands with complete only"),
        ({"completed_at": AT}, "completed_at stands with complete only"),
        (
            {"status": "blocked", "blocked_at": AT},
            "reason stands with blocked only, and is never empty there",
        ),
        ({"status": "blocked", "reason": "x"}, "blocked_at stands with blocked only"),
        ({"reason": "x"}, "reason stands with blocked only"),
        ({"gate": "verification"}, "gate is one of"),
        ({"status": "blocked", "blocked_at": AT, "reason": "x", "gate": "tests"}, "gate is one of"),
        ({"notes": [1]}, "notes are texts"),
        ({"blocked_reason": "x"}, "has no field blocked_reason"),
    ],
)
def test_E4_a_status_that_does_not_fit_the_schema_is_refused(change: dict[str, object], says: str) -> None:
    raw = {"status": "running", "attempt": 1, "started_at": AT, "reason": "", "gate": None, "notes": []}
    with pytest.raises(ValueError, match=says):
        read_status({**raw, **change})


def test_E4_a_status_without_its_fields_is_refused() -> None:
    with pytest.raises(ValueError, match="incomplete"):
        read_status({"status": "running"})


def test_E4_a_phase_that_cannot_say_why_it_is_blocked_is_a_bug_not_a_file() -> None:
    with pytest.raises(Bug) as bug:
        status_json(replace(new_phase(), state=State.BLOCKED, ended_at=AT))
    assert bug.value.code == "bad-status"
