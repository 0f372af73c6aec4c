"""Mermaid labels that hold whatever a task is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headcount.compiler.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headcount.compiler.ir import Task

# Shapes, strings, entities, markdown labels and HTML begin with these.
_SPECIAL: Final = frozenset("[](){}<>|\"'#;&`\\/@%")
_ENTITIES: Final = {ord(letter): f"#{ord(letter)};" for letter in '"#<>&`\\'}


def label(text: str) -> str:
    """The text of a node, quoted when it has anything that Mermaid would read."""
    plain = one_line(text)
    if plain and _SPECIAL.isdisjoint(plain) and "end" not in plain.lower():
        return plain
    return quoted(text)


def quoted(text: str) -> str:
    return f'"{one_line(text).translate(_ENTITIES)}"'


def task_flow(tasks: Sequence[Task], numbers: Mapping[int, int]) -> str:
    lines = ["flowchart LR"]
    lines += [f"  T{task.number}[{label(task.task.name)}]" for task in tasks]
    lines += [
        f"  T{numbers[blocker.uid]} --> T{task.number}" for task in tasks for blocker in task.blocked_by
    ]
    return "\n".join(lines)
