"""What a member says before anybody has seen that its start succeeded."""

from __future__ import annotations

from headcount.domain.policy import Policy
from headcount.engine.apply import apply
from headcount.protocol import events as ev
from headcount.protocol.member import State
from headcount.store.sqlite import InMemoryStore


def test_a_word_said_before_registering_is_heard_after_it_and_not_lost() -> None:
    store = InMemoryStore()
    with store.write() as tx:
        team = tx.create_team("crew", "", {})
        team = apply(tx, team, [ev.Spawn("ada")], Policy()).team
        tx.add_input(team.id, ev.DoneSignalled("ada#1"))
        # The engine that started it died; the next one hears what was said before it starts it again.
        team = apply(tx, team, [], Policy()).team
        assert team.members["ada#1"].state is State.STARTING
        team = apply(tx, team, [ev.Registered("ada#1")], Policy()).team
        assert team.members["ada#1"].state is State.INSPECTING
        assert tx.take_inputs(team.id) == []
