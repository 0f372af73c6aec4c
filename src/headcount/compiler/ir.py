"""What a definition means: the document that `build` writes and that `run` carries out.

Everything here is checked: a node exists only when its required props were there and had the right type.
Body elements have one rendering whatever the dialect, so they are `Prose`, Markdown already. What only
`run` reads (a task's worker, a workflow's gates, a worker's command) is kept here and never written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    from headcount.compiler.element import Span, TaskRef, TeamRef, Value, WorkerRef


class Prose(NamedTuple):
    """Markdown that is the same in every dialect."""

    markdown: str


class Xml(NamedTuple):
    """`<name>` … `</name>` around other blocks."""

    name: str
    blocks: tuple[Block, ...]
    attributes: Mapping[str, str]


class Teammate(NamedTuple):
    worker: WorkerRef
    description: str
    prompt: str
    model: str | None
    mode: str | None
    background: bool
    span: Span


class Team(NamedTuple):
    team: TeamRef
    description: str
    members: tuple[Teammate, ...]
    span: Span


class Task(NamedTuple):
    """`number` is its id in the document: ids count through it in source order, across pipelines."""

    task: TaskRef
    number: int
    prompt: str
    active_form: str
    blocked_by: tuple[TaskRef, ...]
    span: Span
    worker: WorkerRef | None
    model: str | None
    metadata: Mapping[str, Value]


class Pipeline(NamedTuple):
    title: str
    tasks: tuple[Task, ...]
    span: Span


class Shutdown(NamedTuple):
    """`team` is its own, else that of the Workflow around it, else None."""

    workers: tuple[WorkerRef, ...]
    team: TeamRef | None
    reason: str
    cleanup: bool
    title: str
    span: Span


class Cleanup(NamedTuple):
    team: TeamRef | None
    title: str
    span: Span


class Workflow(NamedTuple):
    name: str
    team: TeamRef
    description: str
    blocks: tuple[Block, ...]
    span: Span
    verify: str | None
    max_total_lines: int | None
    tasks_at_once: int | None


class Document(NamedTuple):
    """`kind` is `Command`, `Agent` or `Skill`; `frontmatter` has its keys as they are written; `numbers`
    has the id in the document for each task's `uid`; `folder` is where the output goes below `-o`."""

    kind: str
    name: str
    frontmatter: tuple[tuple[str, Value], ...]
    blocks: tuple[Block, ...]
    span: Span
    tasks: tuple[Task, ...]
    teams: tuple[Team, ...]
    shutdowns: tuple[Shutdown, ...]
    workflows: tuple[Workflow, ...]
    numbers: Mapping[int, int]
    folder: str


Block: TypeAlias = "Prose | Xml | Team | Task | Pipeline | Shutdown | Cleanup | Workflow"
