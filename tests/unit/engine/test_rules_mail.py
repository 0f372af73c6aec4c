"""Mail that the rules write quotes what others have said, and nothing they say keeps a team from moving."""

from __future__ import annotations

import pytest

from headcount.domain.policy import Policy
from headcount.engine.apply import apply
from headcount.ports import Mail
from headcount.protocol import events as ev
from headcount.protocol.member import State
from headcount.store.sqlite import InMemoryStore

POLICY = Policy()
LIMIT = 100_000


def inspected_with(issues: tuple[str, ...], settings: dict[str, object]) -> tuple[InMemoryStore, str]:
    store = InMemoryStore()
    with store.write() as tx:
        team = tx.create_team("crew", "", settings)
        said = [ev.Spawn("bob"), ev.Registered("bob#1"), ev.DoneSignalled("bob#1")]
        team = apply(tx, team, said, POLICY).team
        found = ev.Inspected("bob#1", team.members["bob#1"].epoch, False, False, issues)
        assert apply(tx, team, [found], POLICY).team.members["bob#1"].state is State.NUDGED
        return store, team.id


def the_mail(store: InMemoryStore, team_id: str) -> Mail:
    with store.read() as tx:
        (mail,) = tx.inbox(team_id, ["bob#1"])
    return mail


@pytest.mark.parametrize("issue", ["x" * LIMIT, "é" * (LIMIT // 2)])
def test_issues_that_fill_a_message_are_told_as_far_as_they_fit(issue: str) -> None:
    mail = the_mail(*inspected_with((issue,), {}))
    assert LIMIT - 4 <= len(mail.body.encode()) <= LIMIT
    assert mail.body.startswith("WITNESS VERIFICATION FAILED")
    assert mail.body.endswith("all of it is in `headcount report crew --json`\n")


def test_what_fits_is_told_whole() -> None:
    mail = the_mail(*inspected_with(("x" * 90_000,), {}))
    assert mail.body.endswith("Please fix these issues and signal done again.\n")


def test_a_limit_below_what_the_rules_have_to_say_stops_nobody() -> None:
    mail = the_mail(
        *inspected_with(("notes.md",), {"limits": {"message_bytes": 10, "subject_characters": 5}})
    )
    assert (len(mail.body.encode()) <= 10, mail.subject) == (True, "Verif")
