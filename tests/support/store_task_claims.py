"""What a store must hold to: tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.ports import Task

if TYPE_CHECKING:
    from headcount.ports import Store
from tests.support.store_stage import make_team


class TaskClaims:
    def test_a_task_comes_back_as_it_was_added(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx)
            first = tx.add_task(Task("", team.id, "one"))
            second = tx.add_task(Task("audit", team.id, "two", "long", "Auditing", depends_on=(first.id,)))
            second = second.changed(metadata={"files": ["a", "b"]}, status="blocked", reason="no key")
            tx.save_task(second)
            assert tx.tasks(team.id) == [first, second]
            assert tx.tasks(team.id, status="blocked") == [second]
            assert tx.tasks(team.id, owner="alice#1") == []

    def test_the_dependencies_of_a_task_keep_their_order_and_can_be_changed(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx)
            for task_id in ("a", "b", "c"):
                tx.add_task(Task(task_id, team.id, task_id))
            tx.add_task(Task("d", team.id, "d", depends_on=("c", "a")))
            found = tx.find_task(team.id, "d")
            assert found is not None and found.depends_on == ("c", "a")
            tx.save_task(found.changed(depends_on=("b",)))
            assert [task.depends_on for task in tx.tasks(team.id)] == [(), (), (), ("b",)]
            assert tx.find_task(team.id, "e") is None
