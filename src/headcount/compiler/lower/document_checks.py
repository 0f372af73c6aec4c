"""Checks over the whole document, after each component has checked itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeVar

from headcount.compiler import ir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headcount.compiler.diagnostics import Report
    from headcount.compiler.dialects import Dialect
    from headcount.compiler.element import Span

BlockT = TypeVar("BlockT", ir.Team, ir.Shutdown)

# What Claude Code's own tools accept as the name of a team or a member.
_client_name: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}").fullmatch


def check_tasks_once(document: ir.Document, report: Report) -> None:
    """A task has one id in the document, so it is created once."""
    if len(document.numbers) == len(document.tasks):
        return
    seen: set[int] = set()
    for task in document.tasks:
        if task.task.uid in seen:
            what = f"The task {task.task.name!r} has two TaskDefs"
            report.error("duplicate-task", what, task.span, "Define a second task, or remove one TaskDef.")
        seen.add(task.task.uid)


def check_dependencies(document: ir.Document, report: Report) -> None:
    known = document.numbers
    for task in document.tasks:
        for other in task.blocked_by:
            if other.uid not in known:
                what = f"The task {task.task.name!r} is blocked by {other.name!r}, which has no TaskDef here"
                names = [defined.task.name for defined in document.tasks if defined is not task]
                hint = report.suggest(other.name, names) if names else "Add a TaskDef for it."
                report.missing("unknown-dependency", what, task.span, hint)


def check_cycles(document: ir.Document, report: Report) -> None:
    """Report each cycle once, at the task where it was entered, by the names on the way round."""
    numbers = document.numbers
    if all(numbers.get(other.uid, 0) < task.number for task in document.tasks for other in task.blocked_by):
        return  # each waits only for tasks above it
    blockers = {task.task.uid: [other.uid for other in task.blocked_by] for task in document.tasks}
    by_uid = {task.task.uid: task for task in document.tasks}
    done: set[int] = set()
    for start in blockers:
        path = _find_cycle(start, blockers, done)
        if path:
            names = " → ".join(by_uid[uid].task.name for uid in [*path, path[0]])
            hint = "Remove one of these dependencies."
            report.error(
                "dependency-cycle", f"Tasks wait for each other: {names}", by_uid[path[0]].span, hint
            )


def _find_cycle(start: int, blockers: dict[int, list[int]], done: set[int]) -> list[int]:
    """Walk depth first without recursion: a chain of tasks may be longer than Python's stack."""
    path: list[int] = []
    on_path: set[int] = set()
    stack: list[tuple[int, bool]] = [(start, False)]
    while stack:
        uid, leaving = stack.pop()
        if leaving:
            on_path.discard(path.pop())
            done.add(uid)
        elif uid in on_path:
            done.update(on_path)
            return path[path.index(uid) :]
        elif uid not in done and uid in blockers:
            path.append(uid)
            on_path.add(uid)
            stack.append((uid, True))
            stack += [(other, False) for other in reversed(blockers[uid])]
    return []


def check_lifecycle(document: ir.Document, report: Report) -> None:
    """In one Workflow, who is spawned is shut down, and the other way round. Not said while something is
    missing anyway."""
    if report.failed:
        return
    for workflow in document.workflows:
        spawned = {m.worker.name: m.span for team in _inside(workflow, ir.Team) for m in team.members}
        asked = {w.name: s.span for s in _inside(workflow, ir.Shutdown) for w in s.workers}
        if spawned.keys() == asked.keys():
            continue
        for name, span in spawned.items():
            if name not in asked:
                what = f"The worker {name!r} is spawned but never shut down in this Workflow"
                report.warn("never-shut-down", what, span, "Add it to the workers of a ShutdownSequence.")
        for name, span in asked.items():
            if name not in spawned:
                what = f"The worker {name!r} is shut down but never spawned in this Workflow"
                report.warn("never-spawned", what, span, "Add a Teammate for it, or remove it from workers.")


def _inside(workflow: ir.Workflow | ir.Xml, kind: type[BlockT]) -> Iterable[BlockT]:
    for block in workflow.blocks:
        if type(block) is kind:
            yield block
        elif type(block) is ir.Xml:
            yield from _inside(block, kind)


def check_names(document: ir.Document, report: Report) -> None:
    """Names that no client accepts are written all the same, with a warning; `run` refuses them."""
    seen: set[str] = set()
    for what, name, span in _names(document):
        if name not in seen and not _client_name(name):
            hint = "Use letters, digits, - and _, at most 64, starting with a letter or digit."
            report.warn("client-name", f"No client accepts the {what} name {name!r}", span, hint)
        seen.add(name)


def _names(document: ir.Document) -> Iterable[tuple[str, str, Span]]:
    for team in document.teams:
        yield "team", team.team.name, team.span
        for member in team.members:
            yield "worker", member.worker.name, member.span
    for shutdown in document.shutdowns:
        for worker in shutdown.workers:
            yield "worker", worker.name, shutdown.span


def check_client_values(document: ir.Document, dialect: Dialect, report: Report) -> None:
    """Warn about a model or mode that the client's own schema does not list; the call would be refused."""
    for team in document.teams:
        for member in team.members:
            for what, value, known in (
                ("model", member.model, dialect.models),
                ("mode", member.mode, dialect.modes),
            ):
                if value and known is not None and value not in known:
                    message = f"No client of the dialect {dialect.name} accepts the {what} {value!r}"
                    report.warn("client-value", message, member.span, report.suggest(value, known))


CHECKS: Final[tuple[Callable[[ir.Document, Report], None], ...]] = (
    check_tasks_once,
    check_dependencies,
    check_cycles,
    check_lifecycle,
    check_names,
)
