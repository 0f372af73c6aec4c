"""Laws of the task's table, read off the table itself; and each of its rows, broken one at a time."""

from __future__ import annotations

from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headcount.domain.policy import Policy
from headcount.protocol import phase, task_turn
from headcount.protocol import task_events as te
from headcount.protocol.machine import Rule
from headcount.protocol.task import BOARD, ENDS, TABLE, Action, State, Task, Trigger
from headcount.protocol.task_step import step_task
from headcount.protocol.task_turn import ACTIONS

from .story import tell

if TYPE_CHECKING:
    from collections.abc import Iterator

STORIES = [path.read_text(encoding="utf-8") for path in (Path(__file__).parent / "stories").glob("*.txt")]
# By name: a dataclass with slots leaves the class that it was made from among the subclasses.
KINDS = [getattr(te, name) for name in sorted({cls.__name__ for cls in te.TaskEvent.__subclasses__()})]
AIMS = (Action.AIM_COMPLETE, Action.AIM_BLOCKED, Action.AIM_AGAIN)


def rows_into(state: State) -> list[tuple[tuple[State, Trigger], Rule[State, Action]]]:
    return [(where, rule) for where, rule in TABLE.items() if rule.to is state and where[0] is not state]


def test_complete_is_reached_only_by_standing_everyone_down() -> None:
    assert [where for where, _ in rows_into(State.COMPLETE)] == [(State.STANDING_DOWN, Trigger.OVER_COMPLETE)]


def test_only_a_passed_review_or_unreviewed_work_is_merged() -> None:
    assert {cue for (_, cue), _ in rows_into(State.MERGING)} == {Trigger.PASSED, Trigger.DONE_UNREVIEWED}
    assert all(
        Action.SAY_UNREVIEWED in rule.do for (_, cue), rule in TABLE.items() if cue is Trigger.DONE_UNREVIEWED
    )


def test_only_what_was_merged_aims_at_complete() -> None:
    assert [where for where, rule in TABLE.items() if Action.AIM_COMPLETE in rule.do] == [
        (State.MERGING, Trigger.MERGED)
    ]


def test_every_way_into_standing_down_says_what_comes_after_and_dismisses() -> None:
    for where, rule in rows_into(State.STANDING_DOWN):
        assert rule.do[-1] is Action.DISMISS, where
        assert rule.do[-2] in AIMS, where


def test_whatever_goes_round_is_counted() -> None:
    for where, rule in TABLE.items():
        if Action.SEND_BACK in rule.do:
            assert Action.COUNT_ROUND in rule.do, where
        if Action.AIM_AGAIN in rule.do:
            assert {Action.COUNT_ROUND, Action.COUNT_RESTART, Action.COUNT_CYCLE, Action.PASS_OVER} & set(
                rule.do
            ), where
        if Action.START_SUCCESSOR in rule.do:
            assert Action.COUNT_CYCLE in rule.do, where
            assert rule.to is where[0], "a successor goes on where its predecessor stood"


def test_an_abort_is_heard_in_every_state_that_is_not_an_end() -> None:
    assert {state for state, cue in TABLE if cue is Trigger.ABORT} == set(State) - ENDS


def test_complete_has_no_way_out_and_blocked_only_a_retry() -> None:
    assert [where for where in TABLE if where[0] in ENDS] == [(State.BLOCKED, Trigger.RETRY)]


def test_every_cue_and_action_is_used_and_every_state_is_listed() -> None:
    assert {cue for _, cue in TABLE} == set(Trigger)
    assert {action for rule in TABLE.values() for action in rule.do} == set(Action) == set(ACTIONS)
    assert set(BOARD) == set(State)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_event_is_applied_and_one_that_makes_no_sense_changes_nothing(kind: Any) -> None:
    wanted = [field for field in fields(kind) if field.default is MISSING]
    event = kind(*(9 if field.type == "int" else "nobody#9" for field in wanted))
    task, effects = step_task(Task("t"), event, Policy())
    assert task == Task("t") or kind in (te.Begin, te.Abort)
    assert effects


class _Watched(dict[Any, Any]):
    def __init__(self, table: Any) -> None:
        super().__init__(table)
        self.walked: set[Any] = set()

    def get(self, key: Any, default: Any = None) -> Any:
        if key in self:
            self.walked.add(key)
        return super().get(key, default)


@pytest.mark.parametrize("module", [task_turn, phase], ids=["task", "phase"])
def test_every_row_is_walked_by_a_story(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = _Watched(module.TABLE)
    monkeypatch.setattr(module, "TABLE", watched)
    for story in STORIES:
        tell(story)
    assert set(watched) - watched.walked == set()


def mutants(table: dict[Any, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Each row removed, led elsewhere, or without one of its actions."""
    states = sorted({state for state, _ in table} | {rule.to for rule in table.values()})
    for where, rule in table.items():
        name = f"{where[0]}/{where[1]}"
        yield f"{name} removed", where, None
        for other in states:
            if other is not rule.to:
                yield f"{name} leads to {other}", where, rule._replace(to=other)
        for action in rule.do:
            yield (
                f"{name} without {action}",
                where,
                rule._replace(do=tuple(d for d in rule.do if d is not action)),
            )


@pytest.mark.parametrize(("module", "least"), [(task_turn, 430), (phase, 110)], ids=["task", "phase"])
def test_every_row_that_is_broken_is_caught_by_a_story(
    module: Any, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    survivors, count = [], 0
    for name, where, rule in mutants(module.TABLE):
        count += 1
        with monkeypatch.context() as patch:
            broken = {k: v for k, v in module.TABLE.items() if k != where}
            patch.setattr(module, "TABLE", broken if rule is None else {**broken, where: rule})
            if not any(_goes_wrong(story) for story in STORIES):
                survivors.append(name)
    print(f"{count} mutants, {len(survivors)} survivors")
    assert survivors == []
    assert count >= least


def _goes_wrong(story: str) -> bool:
    try:
        return tell(story) != story
    except Exception:  # a broken table may break anything
        return True
