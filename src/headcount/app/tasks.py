"""The task list: creating, finding, claiming, handing in, completing, reviewing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.app.desk import say
from headcount.errors import UsageError
from headcount.ports import Task
from headcount.protocol import authority
from headcount.store import saying

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headcount.app.app import App
    from headcount.ports import Tx
    from headcount.protocol.team import Team


def create(
    app: App,
    subject: str,
    description: str = "",
    active_form: str | None = None,
    depends_on: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
    team: str | None = None,
) -> Task:
    name = app.pick_team(team)
    app.check("task_create")
    with app.store.write() as tx:
        found = app.load(tx, name)
        task = Task("", found.id, subject, description, active_form, depends_on=tuple(depends_on),
                    metadata=metadata or {})  # fmt: skip
        task = tx.add_task(task)
    app.store.ring(["engine"])
    return task


def list_tasks(
    app: App, status: str | None = None, owner: str | None = None, team: str | None = None
) -> list[Task]:
    app.check("task_list")
    name = app.pick_team(team)
    with app.store.read() as tx:
        found = app.load(tx, name)
        return tx.tasks(found.id, status=status, owner=_key(tx, found, owner))


def _key(tx: Tx, team: Team, owner: str | None) -> str | None:
    """A bare name is its latest incarnation; an unknown one is an error, not an empty list."""
    return None if owner is None else tx.find_box(team.id, owner)


def find_available(app: App, team: str | None = None) -> list[Task]:
    """What can be claimed now: nobody has it, and nothing that it depends on is open."""
    tasks = list_tasks(app, team=team)
    complete = {task.id for task in tasks if task.status == "complete"}
    return [
        task
        for task in tasks
        if task.status == "pending"
        and task.owner in (None, app.caller.who)
        and complete.issuperset(task.depends_on)
    ]


def claim(app: App, task_id: str | None = None, team: str | None = None) -> Task | None:
    """The named one, or the next available (None: there is none). A lost race is a clean refusal (B5)."""
    app.check("task_claim")
    name = app.pick_team(team)
    with app.store.write() as tx:
        task = tx.claim_task(app.load(tx, name).id, app.caller.who, task_id)
    app.store.ring(["engine"])
    return task


def complete(app: App, task_id: str, team: str | None = None) -> Task:
    """A worker's is a done signal; the lead and the operator complete (E6)."""
    if app.caller.kind == authority.WORKER:
        done(app, task_id)
        return next(task for task in list_tasks(app, team=team) if task.id == task_id)
    name = app.pick_team(team)
    app.check("task_complete")
    with app.store.write() as tx:
        task = tx.complete_task(app.load(tx, name).id, task_id, app.caller.sender)
    app.store.ring(["engine"])
    return task


def done(app: App, task_id: str | None = None, verified: bool = False, team: str | None = None) -> str | None:
    """A done signal: its task goes into review, the witness gets the mail, an inspection starts."""
    return say(app, "done", team, lambda desk: saying.done(desk, app.caller, task_id, verified)).about


def review(
    app: App, task_id: str, verdict: str, issues: Sequence[str] = (), team: str | None = None
) -> dict[str, Any]:
    """Bound to the commit that the reviewer has been given."""
    words = "\n".join(issues)
    if verdict == saying.CHANGES and not words.strip():
        raise UsageError("Changes need to be named", "issues is empty", code="missing-issues")
    say(app, "review", team, lambda desk: saying.review(desk, app.caller, task_id, verdict, words))
    return {"taskId": task_id, "verdict": verdict, "issues": list(issues)}


def as_json(task: Task) -> dict[str, Any]:
    """The one shape of a task, here and in `headcount task list --json`."""
    return {
        "id": task.id,
        "subject": task.subject,
        "description": task.description,
        "activeForm": task.active_form,
        "status": task.status,
        "owner": task.owner,
        "dependsOn": list(task.depends_on),
        "metadata": dict(task.metadata),
        "reason": task.reason,
    }
