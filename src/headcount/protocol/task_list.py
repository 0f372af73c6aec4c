"""Define the rules of a team's task list: what is valid, who may claim a task, and when it may be completed.

On the path of every member command: imports only names and errors.
"""

from __future__ import annotations

from headcount.domain.input_checks import check_choice, check_text, unknown
from headcount.domain.names import check_size, show
from headcount.errors import Declined, NotAllowed, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from headcount.domain.records import Task, TeamCard

TASK_STATUSES = ("pending", "in_progress", "in_review", "complete", "blocked", "withdrawn")
# Tasks that depend on such a task do not wait for it.
TASK_ENDS = ("complete", "withdrawn")


def team_closed(name: str) -> Declined:
    return Declined(f"{name} is shut down", "a closed team accepts nothing new", code="team-closed")


def too_many(what: str, limit: int) -> Declined:
    return Declined(
        f"No more {what} can be added",
        f"the team has {limit:,} {what}, the limit",
        (f"Raise the limit for {what} in the settings",),
        code=f"too-many-{what}",
    )


def check_new_task(task: Task, there: Sequence[Task], team: TeamCard) -> None:
    if team.closed:
        raise team_closed(team.name)
    if len(there) >= team.max_tasks:
        raise too_many("tasks", team.max_tasks)
    if any(task.id == other.id for other in there):
        raise UsageError(f"There is a task {show(task.id)} already", code="task-exists")
    check_text("id", task.id)
    check_size("id", task.id, 200, "characters")
    check_task(task, there, team)


def check_task(task: Task, there: Sequence[Task], team: TeamCard) -> None:
    """Check against the schema (E4) and the limits of the team (E7), before it is written."""
    check_choice("status", task.status, TASK_STATUSES)
    if not task.subject.strip():
        raise UsageError("A task needs a subject", "subject is empty", code="missing-subject")
    if task.status == "blocked" and not task.reason.strip():
        raise UsageError("A blocked task needs a reason", "reason is empty", code="missing-reason")
    for field, text in (
        ("subject", task.subject), ("description", task.description), ("reason", task.reason),
    ):  # fmt: skip
        check_text(field, text)
    check_size("subject", task.subject, team.subject_characters, "characters")
    check_size("description", task.description, team.description_bytes)
    check_needs(task.id, task.depends_on, {other.id: other.depends_on for other in there})


def check_needs(task_id: str, needs: Iterable[str], graph: Mapping[str, Iterable[str]]) -> None:
    """Check that every dependency is a task of this team, and that no task waits for itself (E6)."""
    for needed in needs:
        if needed != task_id and needed not in graph:
            raise unknown("task", needed, graph, "depends_on names a task that does not exist")
    if task_id and task_id in _reachable(needs, graph):
        raise UsageError(
            f"{task_id} would wait for itself", f"depends_on makes a cycle through {task_id}", code="cycle"
        )


def _reachable(start: Iterable[str], graph: Mapping[str, Iterable[str]]) -> set[str]:
    seen: set[str] = set()
    todo = list(start)
    while todo:
        task = todo.pop()
        if task not in seen:
            seen.add(task)
            todo.extend(graph.get(task, ()))
    return seen


def open_needs(task: Task, there: Sequence[Task]) -> list[str]:
    """Return the tasks that a task waits for. `there` includes the tasks that it depends on."""
    ended = {other.id for other in there if other.status in TASK_ENDS}
    return [needed for needed in task.depends_on if needed not in ended]


def available(there: Sequence[Task], key: str) -> list[Task]:
    """Return tasks that this member can claim now, oldest first."""
    ended = {task.id for task in there if task.status in TASK_ENDS}
    return [
        task
        for task in there
        if task.status == "pending" and task.owner in (None, key) and ended.issuperset(task.depends_on)
    ]


def check_claims_open(team: TeamCard) -> None:
    """Refuse claims while a team is stood down (B2)."""
    if team.closed:
        raise team_closed(team.name)
    if team.status != "active":
        raise Declined(
            "No task can be claimed",
            f"{team.name} is being stood down ({team.status})",
            ("Commit your work and answer the request in your inbox",),
            code="draining",
        )


def check_claim(task: Task, key: str, there: Sequence[Task]) -> None:
    """Check that a task can be claimed. A refusal names its owner (B5)."""
    if task.owner is not None and task.owner != key:
        raise Declined(
            f"{task.id} is already claimed",
            f"it belongs to {task.owner}",
            ("Take the next one with `headcount task claim`",),
            code="already-claimed",
        )
    if task.status != "pending":
        raise Declined(f"{task.id} cannot be claimed", f"it is {task.status}", code="not-available")
    check_needs_met(task, there)


def check_needs_met(task: Task, there: Sequence[Task]) -> None:
    waits_for = open_needs(task, there)
    if waits_for:
        raise Declined(
            f"{task.id} has to wait", f"it depends on {', '.join(waits_for)}", code="waits-for-others"
        )


def check_owner(task: Task, key: str) -> None:
    """Check that the caller owns the task that it reports done (E6)."""
    if task.owner == key:
        return
    raise NotAllowed(
        f"{key} may not report {task.id} done",
        f"it belongs to {task.owner}" if task.owner else "no member has claimed it",
        (f"Claim it first with `headcount task claim {task.id}`",) if task.owner is None else (),
        code="not-owner",
    )
