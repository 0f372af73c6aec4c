"""Check the dependencies between the tasks of a run."""

# Dependencies form a directed graph without cycles. `check_dependencies` refuses every other graph when a
# run is opened, so the other functions can follow it without a guard.

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.errors import DefinitionError
from headcount.protocol.task import State

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headcount.protocol.task import Task


def check_dependencies(tasks: Mapping[str, Task]) -> None:
    """Refuse unknown dependencies, and tasks that wait for each other (E6)."""
    for task in tasks.values():
        unknown = [name for name in task.depends_on if name not in tasks]
        if unknown:
            raise DefinitionError(
                f'Task "{task.id}" depends on "{unknown[0]}", which is not a task',
                f"the tasks are {', '.join(tasks)}",
                code="unknown-dependency",
            )
    for name in tasks:
        if name in _behind(tasks, name):
            raise DefinitionError(
                f'Task "{name}" depends on itself',
                "its dependencies lead back to it, so none of these tasks could start",
                code="dependency-cycle",
            )


def held_by(tasks: Mapping[str, Task], name: str) -> tuple[str, ...]:
    """Return the blocked tasks that it depends on, directly or not."""
    behind = _behind(tasks, name)
    return tuple(t.id for t in tasks.values() if t.id in behind and t.state is State.BLOCKED)


def _behind(tasks: Mapping[str, Task], name: str) -> set[str]:
    """Return all tasks that a task depends on, directly or not."""
    found: set[str] = set()
    ahead = list(tasks[name].depends_on)
    while ahead:
        if (other := ahead.pop()) not in found:
            found.add(other)
            ahead.extend(tasks[other].depends_on)
    return found
