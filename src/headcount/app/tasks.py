"""The task list: creating, changing, finding, claiming, handing in, completing, reviewing."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headcount.app.desk import say
from headcount.errors import Declined, UsageError
from headcount.ports import Task
from headcount.protocol import authority
from headcount.protocol.effects import Note
from headcount.store import rules, saying

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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


def change(app: App, task_id: str, team: str | None = None, **changes: Any) -> Task:
    """Change what a task says: `subject`, `description`, `depends_on` or `metadata`.

    Metadata is merged; a key with the value None is removed. Ended tasks and those of a run stay as they are.
    """
    with _changing(app, task_id, team) as (tx, found, task):
        given = {key: value for key, value in changes.items() if value is not None}
        if "metadata" in given:
            merged = {**task.metadata, **given["metadata"]}
            given["metadata"] = {key: value for key, value in merged.items() if value is not None}
        if "depends_on" in given:
            given["depends_on"] = tuple(dict.fromkeys(given["depends_on"]))
        if not given:
            raise UsageError(f"Nothing to change in {task_id}", "no field is given", code="usage")
        task = replace(task, **given)
        tx.save_task(task)
        tx.note(found.id, [Note("task_changed", task_id, {"by": app.caller.sender, "fields": sorted(given)})])
    app.store.ring(["engine"])
    return task


def release(app: App, task_id: str, team: str | None = None) -> Task:
    """Take a task from its owner, so that another member can claim it; the owner gets a message."""
    with _changing(app, task_id, team) as (tx, found, task):
        if task.owner is None:
            raise Declined(f"Did not release {task_id}", "no member has it", code="not-claimed")
        owner, task = task.owner, replace(task, status="pending", owner=None, reason="")
        tx.save_task(task)
        tx.note(found.id, [Note("task_released", owner, {"task": task_id, "by": app.caller.sender})])
        channels = _tell(tx, app, found, owner, f"Task {task_id} was taken back", "Stop working on it.")
    app.store.ring(["engine", *channels])
    return task


def withdraw(app: App, task_id: str, reason: str, team: str | None = None) -> Task:
    """End a task that is not needed any more; tasks that depend on it no longer wait for it."""
    if not reason.strip():
        raise UsageError("A withdrawal needs a reason", "reason is empty", code="missing-reason")
    with _changing(app, task_id, team) as (tx, found, task):
        owner, task = task.owner, replace(task, status="withdrawn", owner=None, reason=reason)
        tx.save_task(task)
        tx.note(found.id, [Note("task_withdrawn", task_id, {"by": app.caller.sender, "reason": reason})])
        told = f"Stop working on it: {reason}"
        channels = _tell(tx, app, found, owner, f"Task {task_id} was withdrawn", told) if owner else []
    app.store.ring(["engine", *channels])
    return task


@contextmanager
def _changing(app: App, task_id: str, team: str | None) -> Iterator[tuple[Tx, Team, Task]]:
    name = app.pick_team(team)
    app.check("task_change")
    with app.store.write() as tx:
        found = app.load(tx, name)
        tasks = {task.id: task for task in tx.tasks(found.id)}
        task = tasks.get(task_id)
        if task is None:
            raise rules.unknown("task", task_id, tasks)
        if tx.team_settings(found.id).get("mode") == "run":
            hint = "Change the definition and run it again, or end the run with `headcount abort`"
            raise Declined(f"Did not change {task_id}", f"{name} is a run", (hint,), code="task-of-a-run")
        if task.status in rules.TASK_ENDS:
            raise Declined(f"Did not change {task_id}", f"it is {task.status}", code="task-ended")
        yield tx, found, task


def _tell(tx: Tx, app: App, team: Team, owner: str, subject: str, body: str) -> Sequence[str]:
    """Send the owner a message if it is still there; return the channels to ring."""
    member = team.members.get(owner)
    if member is None or not member.live:
        return ()
    return tx.send(team.id, app.caller.kind, app.caller.sender, owner, subject, body).channels


def list_tasks(
    app: App,
    status: str | None = None,
    owner: str | None = None,
    team: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> list[Task]:
    """The tasks with this status, owner and metadata, each where it is given."""
    app.check("task_list")
    name = app.pick_team(team)
    with app.store.read() as tx:
        found = app.load(tx, name)
        tasks = tx.tasks(found.id, status=status, owner=_key(tx, found, owner))
    wanted = (metadata or {}).items()
    return [task for task in tasks if all(task.metadata.get(key) == value for key, value in wanted)]


def _key(tx: Tx, team: Team, owner: str | None) -> str | None:
    """A bare name is its latest incarnation; an unknown one is an error, not an empty list."""
    return None if owner is None else tx.find_box(team.id, owner)


def find_available(app: App, team: str | None = None) -> list[Task]:
    """What can be claimed now: nobody has it, and nothing that it depends on is open."""
    tasks = list_tasks(app, team=team)
    complete = {task.id for task in tasks if task.status in rules.TASK_ENDS}
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
