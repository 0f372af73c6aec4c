from __future__ import annotations

import pytest

from headcount.domain.answer_names import read_reply
from headcount.errors import UsageError


@pytest.mark.parametrize(
    "name",
    [
        "shutdown_approved",
        "shutdown_acknowledged",
        "approve_shutdown",
        "shutdownApproved",
        "Shutdown_Approved",
        "SHUTDOWN-APPROVED",
    ],
)
def test_A2_an_approval_is_understood_under_every_name(name: str) -> None:
    assert read_reply({"type": name, "request_id": "r1"}) == ("approve", "r1", "")


@pytest.mark.parametrize("name", ["shutdown_rejected", "reject_shutdown", "shutdownDenied"])
def test_A2_a_rejection_keeps_its_reason(name: str) -> None:
    assert read_reply({"type": name, "requestId": "r1", "reason": "busy"}) == ("reject", "r1", "busy")


@pytest.mark.parametrize(
    ("approve", "verdict"), [(True, "approve"), (False, "reject"), ("yes", "approve"), ("false", "reject")]
)
def test_A2_a_response_says_which_it_is(approve: object, verdict: str) -> None:
    assert read_reply({"type": "shutdown_response", "approve": approve}) == (verdict, None, "")


@pytest.mark.parametrize(
    "reply",
    [{}, {"type": "message", "content": "Acknowledged. Exiting."}, {"type": "shutdown_maybe"}, {"type": 3}],
)
def test_A3_text_and_unknown_replies_are_no_answer(reply: dict[str, object]) -> None:
    assert read_reply(reply) is None


@pytest.mark.parametrize(("reply", "code"), [({}, "missing-approve"), ({"approve": 1}, "bad-approve")])
def test_A11_a_response_without_yes_or_no_names_the_field(reply: dict[str, object], code: str) -> None:
    with pytest.raises(UsageError) as refusal:
        read_reply({"type": "shutdown_response", **reply})
    assert refusal.value.code == code and "approve" in refusal.value.what + refusal.value.why
