"""The host of a client waits for a store that is away."""

from __future__ import annotations

from typing import Any

import pytest

from headcount.app import hosting
from headcount.errors import OutcomeUnknown, StoreError


class Reports:
    """Fails with each of the errors, then returns what it was called with."""

    def __init__(self, *errors: StoreError) -> None:
        self._errors = list(errors)

    def show(self, mail: list[str]) -> list[str]:
        if self._errors:
            raise self._errors.pop(0)
        return mail

    record_usage = show


def make(*errors: StoreError) -> Any:
    reports: Any = Reports(*errors)
    return hosting.patient(reports, but=("record_usage",))


def away(code: str = "database-away") -> StoreError:
    return StoreError("away", code=code)


def test_H12_the_host_of_a_client_waits_for_a_store_that_is_away_busy_or_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(hosting.time, "sleep", waited.append)
    assert make(away(), away("store-busy"), away("store-io")).show(["m1"]) == ["m1"]
    assert waited == [hosting._STORE_AGAIN_S] * 3


def test_what_may_have_been_stored_or_cannot_pass_is_not_repeated() -> None:
    for error in (OutcomeUnknown("lost"), away("state-lost")):
        with pytest.raises(StoreError):
            make(error).show([])
    with pytest.raises(StoreError):
        make(away()).record_usage([])
