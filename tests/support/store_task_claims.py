"""What a store must hold to: tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from headcount.errors import Declined, NotAllowed, UsageError
from headcount.ports import Task
from headcount.protocol import events as ev
from headcount.protocol.team import Status

if TYPE_CHECKING:
    from headcount.ports import Store
from tests.support.store_stage import close_team, make_team


class TaskClaims:
    def test_a_task_comes_back_as_it_was_added(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx)
            first = tx.add_task(Task("", team.id, "one"))
            second = tx.add_task(Task("audit", team.id, "two", "long", "Auditing", depends_on=(first.id,)))
            second = replace(second, metadata={"files": ["a", "b"]}, status="blocked", reason="no key")
            tx.save_task(second)
            assert tx.tasks(team.id) == [first, second]
            assert tx.tasks(team.id, status="blocked") == [second]
            assert tx.tasks(team.id, owner="alice#1") == []

    def test_the_next_available_task_is_the_oldest_whose_dependencies_are_complete(
        self, store: Store
    ) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice", "bob")
            tx.add_task(Task("base", team.id, "base"))
            tx.add_task(Task("top", team.id, "top", depends_on=("base",)))
            first = tx.claim_task(team.id, "alice#1")
            assert first is not None
            assert (first.id, first.owner, first.status) == ("base", "alice#1", "in_progress")
            assert tx.claim_task(team.id, "bob#1") is None
            tx.complete_task(team.id, "base", "lead")
            second = tx.claim_task(team.id, "bob#1")
            assert second is not None and second.id == "top"

    def test_a_claim_is_among_the_engines_inputs(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
            tx.add_task(Task("t", team.id, "t"))
            tx.claim_task(team.id, "alice#1", "t")
            tx.claim_task(team.id, "alice#1", "t")
            assert tx.take_inputs(team.id) == [ev.TaskClaimed("alice#1", "t")]

    def test_B5_a_lost_race_names_the_winner(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice", "bob")
            tx.add_task(Task("t", team.id, "t"))
            tx.claim_task(team.id, "alice#1", "t")
        with pytest.raises(Declined) as refusal, store.write() as tx:
            tx.claim_task(team.id, "bob#1", "t")
        assert refusal.value.code == "already-claimed" and "alice#1" in refusal.value.why

    @pytest.mark.parametrize(
        "status", [Status.PENDING_SHUTDOWN, Status.STOPPING, Status.CLOSING, Status.STUCK]
    )
    def test_B2_nothing_is_claimed_while_draining(self, store: Store, status: Status) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
            tx.add_task(Task("t", team.id, "t"))
            tx.save_team(team, replace(team, status=status))
        for task_id in ("t", None):
            with pytest.raises(Declined) as refusal, store.write() as tx:
                tx.claim_task(team.id, "alice#1", task_id)
            assert refusal.value.code == "draining"

    def test_C3_a_closed_team_takes_no_task(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
            tx.add_task(Task("t", team.id, "t"))
            close_team(tx, team)
        with pytest.raises(Declined, match="shut down"), store.write() as tx:
            tx.add_task(Task("u", team.id, "u"))
        with pytest.raises(Declined, match="shut down"), store.write() as tx:
            tx.claim_task(team.id, "alice#1", "t")

    def test_E6_dependencies_must_exist_and_make_no_cycle(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx)
            a = tx.add_task(Task("a", team.id, "a"))
            tx.add_task(Task("b", team.id, "b", depends_on=("a",)))
        with pytest.raises(UsageError) as unknown, store.write() as tx:
            tx.add_task(Task("c", team.id, "c", depends_on=("bb",)))
        with pytest.raises(UsageError) as itself, store.write() as tx:
            tx.add_task(Task("c", team.id, "c", depends_on=("c",)))
        with pytest.raises(UsageError) as cycle, store.write() as tx:
            tx.save_task(replace(a, depends_on=("b",)))
        with pytest.raises(UsageError) as twice, store.write() as tx:
            tx.add_task(Task("a", team.id, "again"))
        codes = [refusal.value.code for refusal in (unknown, itself, cycle, twice)]
        assert codes == ["unknown-task", "cycle", "cycle", "task-exists"]

    def test_E6_only_the_owner_hands_a_task_in(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice", "bob")
            tx.add_task(Task("t", team.id, "t"))
            tx.claim_task(team.id, "alice#1", "t")
        with pytest.raises(NotAllowed) as refusal, store.write() as tx:
            tx.hand_in_task(team.id, "bob#1", "t")
        assert refusal.value.code == "not-owner"
        with store.write() as tx:
            assert tx.hand_in_task(team.id, "bob#1") is None
            assert tx.hand_in_task(team.id, "alice#1") == "t"
            assert tx.hand_in_task(team.id, "alice#1", "t") == "t"
            assert [t.status for t in tx.tasks(team.id)] == ["in_review"]

    def test_a_task_is_not_complete_before_what_it_depends_on(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx)
            tx.add_task(Task("a", team.id, "a"))
            tx.add_task(Task("b", team.id, "b", depends_on=("a",)))
        with pytest.raises(Declined, match="has to wait"), store.write() as tx:
            tx.complete_task(team.id, "b", "lead")
        with store.write() as tx:
            tx.complete_task(team.id, "a", "lead")
            assert tx.complete_task(team.id, "b", "lead").status == "complete"
            assert tx.complete_task(team.id, "b", "lead").status == "complete"

    def test_E5_a_blocked_task_says_why(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx)
            task = tx.add_task(Task("a", team.id, "a"))
        with pytest.raises(UsageError, match="needs a reason"), store.write() as tx:
            tx.save_task(replace(task, status="blocked"))
        with store.write() as tx:
            tx.save_task(replace(task, status="blocked", reason="no key"))
            assert tx.tasks(team.id, status="blocked")[0].reason == "no key"

    def test_D8_a_dead_owners_task_can_be_claimed_again(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice", "bob")
            for task_id in ("a", "b", "c"):
                tx.add_task(Task(task_id, team.id, task_id))
                tx.claim_task(team.id, "alice#1", task_id)
            tx.hand_in_task(team.id, "alice#1", "b")
            assert tx.give_back_tasks(team.id, "alice#1") == ["a", "c"]
            assert tx.give_back_tasks(team.id, "alice#1") == []
            again = tx.claim_task(team.id, "bob#1")
            assert again is not None and again.id == "a"
            assert [t.id for t in tx.tasks(team.id, owner="alice#1")] == ["b"]

    @pytest.mark.parametrize(
        ("changes", "code"),
        [
            ({"subject": " "}, "missing-subject"),
            ({"subject": "x" * 201}, "too-long"),
            ({"description": "x" * 10_001}, "too-long"),
            ({"status": "done"}, "unknown-status"),
            ({"id": "x" * 201}, "too-long"),
        ],
    )
    def test_E4_E7_a_task_that_does_not_fit_is_refused(
        self, store: Store, changes: dict[str, Any], code: str
    ) -> None:
        with store.write() as tx:
            team = make_team(tx)
        with pytest.raises(UsageError) as refusal, store.write() as tx:
            tx.add_task(replace(Task("", team.id, "s"), **changes))
        assert refusal.value.code == code
