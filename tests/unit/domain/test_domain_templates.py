"""The four templates, key by key and heading by heading, and what a member is told when it is sent back."""

from __future__ import annotations

import pytest

from headcount.domain import templates
from headcount.domain.findings import SAVED_NOT_JUDGED, Finding, Findings, Kind


def issue(kind: Kind, what: str = "src/foo.py") -> str:
    """As an inspection words it."""
    return Findings("", "", items=(Finding(kind, what, "", ""),)).issues()[0]


@pytest.mark.parametrize(("verified", "words"), [(True, "verified"), (False, "NOT verified - please check")])
def test_worker_done_has_its_keys_and_says_whether_the_checklist_was_gone_through(
    verified: bool, words: str
) -> None:
    subject, body = templates.worker_done("web", "t1", verified)
    assert subject == "Work Complete: t1"
    assert body == (
        "Work complete on t1.\n\n"
        f"[TEMPLATE]: WORKER_DONE\n[RIG]: web\n[ISSUE]: t1\n[CHECKLIST_VERIFIED]: {str(verified).lower()}\n\n"
        f"Decommission checklist {words}.\nReady for verification and session termination.\n"
    )


def test_verification_failed_lists_every_issue() -> None:
    assert templates.verification_failed(("one", "two")) == (
        "WITNESS VERIFICATION FAILED\n\n"
        "The following issues must be resolved before decommission:\n  - one\n  - two\n\n"
        "Please fix these issues and signal done again.\n"
    )


def test_a_handoff_has_its_keys_and_headings_in_order_and_the_last_five_actions() -> None:
    subject, body = templates.witness_handoff(
        "web", "2026-01-15T10:30:00+00:00", (("ada", "working on t1"),), ("bob: attempt 1",),
        tuple(f"action {n}" for n in range(7)),
    )  # fmt: skip
    assert subject == "Session Handoff"
    assert body == (
        "Session handoff for web Witness.\n\n"
        "[TEMPLATE]: WITNESS_HANDOFF\n[HANDOFF_TYPE]: witness_cycle\n"
        "[TIMESTAMP]: 2026-01-15T10:30:00+00:00\n[RIG]: web\n"
        "[ACTIVE_WORKER_COUNT]: 1\n[PENDING_VERIFICATION_COUNT]: 1\n\n"
        "## Active Workers\n- ada: working on t1\n\n## Pending Verifications\n- bob: attempt 1\n\n"
        "## Recent Actions\n1. action 2\n2. action 3\n3. action 4\n4. action 5\n5. action 6\n\n"
        "## Warnings\nNone\n\n## Next Steps\n- Check pending verifications\n"
    )


def test_an_escalation_has_its_keys_and_asks_for_guidance() -> None:
    can = {"force-kill": None, "reassign": "the team is draining", "human": None, "wait": "it was chosen"}
    subject, body = templates.worker_escalation("web", "ada", "t1", 3, ("one",), "e1", can)
    assert subject == "Escalation: ada stuck on t1"
    assert body == (
        "Worker ada cannot complete cleanup.\n\n"
        "[TEMPLATE]: WORKER_ESCALATION\n[RIG]: web\n[WORKER]: ada\n[ISSUE]: t1\n"
        "[VERIFICATION_ATTEMPTS]: 3\n\n"
        "After 3 verification attempts, the following issues remain:\n  - one\n\n"
        "Requesting guidance:\n1. Force kill and abandon changes?\n"
        "2. Reassign to another worker? Not now: the team is draining.\n3. Escalate to human?\n\n"
        "Decide with: headcount decide e1 force-kill|human\n"
    )


def test_what_is_written_as_metadata_is_read_back() -> None:
    _, body = templates.worker_done("web", "a\nb: [C]\\", False)
    assert templates.read_metadata(body) == {
        "template": "WORKER_DONE", "rig": "web", "issue": "a\nb: [C]\\", "checklist_verified": "false",
    }  # fmt: skip


UNCOMMITTED = "You have uncommitted changes. Please commit or discard: {}. Signal done again when clean."


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Kind.MODIFIED, UNCOMMITTED),
        (Kind.STAGED, UNCOMMITTED),
        (
            Kind.STASH,
            "You have stashed changes. Please pop and commit, or drop if obsolete: {}. Signal done again when"
            " clean.",
        ),
        (
            Kind.UNMERGED,
            "Your commits are not on the integration branch: {}. Please complete merge workflow. Signal done"
            " again when merged.",
        ),
    ],
)
def test_a_nudge_about_one_issue_has_the_words_of_the_requirement(kind: Kind, words: str) -> None:
    found = issue(kind)
    listed = found.partition(": ")[2]
    assert templates.witness_check((found,)) == "WITNESS CHECK: " + words.format(listed)


# What is to be done about these depends on what was found, which is named.
_OPEN = {Kind.UNREADABLE, Kind.SUBMODULE, Kind.NESTED_REPOSITORY}


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind not in SAVED_NOT_JUDGED | _OPEN])
def test_every_kind_that_sends_a_member_back_has_a_remedy(kind: Kind) -> None:
    found = issue(kind, "a: stashed")
    nudge = templates.witness_check((found,))
    assert len(nudge) > len(f"WITNESS CHECK: {found}. Signal done again when clean.")


def test_what_a_judge_worded_is_nudged_as_it_is_worded() -> None:
    text = templates.witness_check(("the parser has no tests",))
    assert text == "WITNESS CHECK: the parser has no tests. Signal done again when clean."
