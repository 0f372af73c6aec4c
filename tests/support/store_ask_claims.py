"""What a store must hold to: permission requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.domain.asks import Ask
from tests.support.store_stage import close_team, make_team

if TYPE_CHECKING:
    from headcount.ports import Store
    from headcount.protocol.team import Team


def an_ask(team: Team, title: str, until: float = 4e9) -> Ask:
    return Ask("", team.id, "alice#1", "command", title, "", title, "/w", 1.0, until)


class AskClaims:
    def test_an_ask_is_answered_once(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
            ask = tx.add_ask(an_ask(team, "make"))
            assert tx.answer_ask(team.id, ask.id, "allowed", "operator", "fine")
            assert not tx.answer_ask(team.id, ask.id, "denied", "boss#1", "no")
            found = tx.find_ask(ask.id)
        assert found is not None and found.answered_at is not None
        assert (found.state, found.by, found.reason) == ("allowed", "operator", "fine")

    def test_ids_of_asks_are_never_given_out_twice(self, store: Store) -> None:
        with store.write() as tx:
            old = make_team(tx, "old", "alice")
            new = make_team(tx, "new", "alice")
            ids = [tx.add_ask(an_ask(team, "make")).id for team in (old, new, old)]
            assert ids == ["a1", "a2", "a3"]
            tx.forget_asks(old.id)
            assert len(tx.asks(old.id)) == 2  # it is open
            close_team(tx, old)
            tx.forget_asks(old.id)
            assert [ask.id for ask in (*tx.asks(old.id), *tx.asks(new.id))] == ["a3", "a2"]
            assert tx.add_ask(an_ask(new, "make")).id == "a4"

    def test_an_answer_that_nobody_has_read_can_be_taken_once(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
            ask = tx.add_ask(an_ask(team, "make"))
            tx.add_ask(an_ask(team, "out of date", until=2.0))
            moot = tx.add_ask(an_ask(team, "moot"))
            tx.answer_ask(team.id, moot.id, "moot", "headcount", "")
            tx.answer_ask(team.id, ask.id, "denied", "operator", "")
            assert [one.id for one in tx.asks_to_join(team.id, "alice#1")] == [ask.id]
            assert tx.asks_to_join(team.id, "bob#1") == []
            tx.take_answer(team.id, ask.id)
            assert tx.asks_to_join(team.id, "alice#1") == []
