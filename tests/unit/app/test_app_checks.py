from __future__ import annotations

import pytest

from headcount.app.signals import _check_request
from headcount.domain.input_checks import did_you_mean
from headcount.errors import Declined, UsageError
from headcount.protocol.task_list import check_needs


def test_A11_an_answer_for_an_unknown_request_names_the_field_and_the_open_one() -> None:
    with pytest.raises(UsageError) as refusal:
        _check_request("alice#1", "r2", "r1")
    assert refusal.value.code == "unknown-request"
    assert "request_id" in refusal.value.what and "r2" in refusal.value.why


def test_A11_an_answer_that_nobody_asked_for_is_told_so() -> None:
    with pytest.raises(Declined) as refusal:
        _check_request("alice#1", None, "r1")
    assert refusal.value.code == "nothing-to-answer" and "r1" in refusal.value.why


def test_without_an_id_the_open_request_is_meant() -> None:
    assert _check_request("alice#1", "r2", None) == "r2"


def test_a_cycle_is_found_through_others() -> None:
    graph = {"a": ["b"], "b": ["c"], "c": []}
    check_needs("c", [], graph)
    with pytest.raises(UsageError, match="wait for itself"):
        check_needs("c", ["a"], graph)


def test_known_names_are_listed_when_none_is_close() -> None:
    assert did_you_mean("zzz", ["lead", "alice"]) == ("Known are: lead, alice",)
    assert did_you_mean("zzz", []) == ()
    assert did_you_mean("zzz", [f"n{n}" for n in range(20)])[0].endswith("n11, …")
