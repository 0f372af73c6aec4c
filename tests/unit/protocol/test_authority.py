"""I5 as the table says it: only the witness or the operator stops anyone, only the lead or the operator
stands a team down, a member answers only for itself."""

from __future__ import annotations

import pytest

from headcount.errors import NotAllowed
from headcount.protocol import authority


@pytest.mark.parametrize("caller", ["worker", "reviewer", "witness"])
def test_A14_only_the_lead_or_the_operator_stands_a_team_down(caller: str) -> None:
    with pytest.raises(NotAllowed) as refused:
        authority.check("stand_down_team", caller, "web#1")
    assert "operator, lead" in refused.value.why
    assert refused.value.exit_code == 5


@pytest.mark.parametrize(
    ("action", "caller", "ask"),
    [
        ("stand_down_team", "worker", "lead"),
        ("nudge", "lead", "witness"),
        ("decide", "witness", "lead"),
        ("force", "lead", "operator"),
        ("task_claim", "lead", None),
        ("answer", "operator", None),
    ],
)
def test_whoever_is_refused_is_told_to_ask_somebody_who_may(
    action: str, caller: str, ask: str | None
) -> None:
    with pytest.raises(NotAllowed) as refused:
        authority.check(action, caller)
    hints = [f"Ask the {ask} with `headcount send {ask} -s SUBJECT -m BODY`"] if ask else []
    assert list(refused.value.hints) == hints


@pytest.mark.parametrize(
    "action", ["stand_down_member", "force", "decide", "pause", "cycle", "spawn", "sweep", "prune"]
)
@pytest.mark.parametrize("caller", ["worker", "reviewer"])
def test_members_end_nobody(action: str, caller: str) -> None:
    with pytest.raises(NotAllowed):
        authority.check(action, caller)


def test_the_operator_and_the_lead_cannot_answer_for_a_member() -> None:
    for caller in ("operator", "lead", "witness"):
        with pytest.raises(NotAllowed):
            authority.check("answer", caller)


def test_the_operator_holds_the_authority_of_the_lead_and_the_witness() -> None:
    own = {"answer", "ask", "done", "idle", "task_claim"}  # a member's own word
    for action, who in authority.MAY.items():
        if action not in own and {"lead", "witness"} & who:
            assert "operator" in who, action


def test_a_lead_that_was_found_dirty_may_say_that_it_cleaned_up() -> None:
    authority.check("done", "lead")
    authority.check("done", "witness")


@pytest.mark.parametrize("action", [action for action, who in authority.MAY.items() if "worker" not in who])
def test_a_refusal_reads_as_a_sentence(action: str) -> None:
    with pytest.raises(NotAllowed) as refused:
        authority.check(action, "worker", "web#1")
    assert refused.value.what.startswith("web#1 may not ") and "_" not in refused.value.what


def test_an_office_is_named_as_one() -> None:
    with pytest.raises(NotAllowed, match="The operator may not signal done"):
        authority.check("done", "operator", "operator")


def test_every_caller_of_a_role_is_known() -> None:
    assert set(authority.CALLER_OF_ROLE.values()) <= set(authority.CALLERS)
    assert all(who <= set(authority.CALLERS) for who in authority.MAY.values())


@pytest.mark.parametrize(
    ("sender", "recipient", "peer_mail", "allowed"),
    [
        ("worker", "worker", False, False),
        ("worker", "worker", True, True),
        ("worker", "reviewer", False, True),
        ("reviewer", "worker", False, True),
        ("reviewer", "reviewer", False, False),
        ("worker", "lead", False, True),
        ("operator", "worker", False, True),
    ],
)
def test_members_write_to_each_other_only_if_the_team_says_so(
    sender: str, recipient: str, peer_mail: bool, allowed: bool
) -> None:
    if allowed:
        authority.check_recipient(sender, recipient, peer_mail)
        return
    with pytest.raises(NotAllowed):
        authority.check_recipient(sender, recipient, peer_mail)
