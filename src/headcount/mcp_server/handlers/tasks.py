"""The task list, done signals and reviews."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.app import tasks

if TYPE_CHECKING:
    from headcount.app.app import App

    Arguments = dict[str, Any]
    Answer = dict[str, Any]


def task_create(app: App, args: Arguments) -> Answer:
    task = tasks.create(
        app, args["subject"], args.get("description", ""), args.get("activeForm"), args.get("dependsOn", ()),
        args.get("metadata"), args.get("team_name"),
    )  # fmt: skip
    return {"task": tasks.as_json(task)}


def task_list(app: App, args: Arguments) -> Answer:
    found = tasks.list_tasks(
        app, args.get("status"), args.get("owner"), args.get("team_name"), args.get("metadata")
    )
    return {"tasks": [tasks.as_json(task) for task in found]}


def task_update(app: App, args: Arguments) -> Answer:
    """Change fields, or release or withdraw the task; one call does one of them."""
    task_id, team = args["task_id"], args.get("team_name")
    if "withdraw" in args:
        task = tasks.withdraw(app, task_id, args["withdraw"], team)
    elif args.get("release"):
        task = tasks.release(app, task_id, team)
    else:
        task = tasks.change(
            app,
            task_id,
            team,
            subject=args.get("subject"),
            description=args.get("description"),
            depends_on=args.get("dependsOn"),
            metadata=args.get("metadata"),
        )
    return {"task": tasks.as_json(task)}


def task_claim(app: App, args: Arguments) -> Answer:
    task = tasks.claim(app, args.get("task_id"), args.get("team_name"))
    return {"task": tasks.as_json(task) if task else None}


task_auto_claim = task_claim  # without an id it is the next one


def task_find_available(app: App, args: Arguments) -> Answer:
    return {"tasks": [tasks.as_json(task) for task in tasks.find_available(app, args.get("team_name"))]}


def task_complete(app: App, args: Arguments) -> Answer:
    return {"task": tasks.as_json(tasks.complete(app, args["task_id"], args.get("team_name")))}


def member_done(app: App, args: Arguments) -> Answer:
    task = tasks.done(app, args.get("task_id"), args.get("checklist", False), args.get("team_name"))
    return {"status": "inspection_started", "task": task}


def review_submit(app: App, args: Arguments) -> Answer:
    issues = args.get("issues", ())
    return tasks.review(app, args["task_id"], args["verdict"], issues, args.get("team_name"))
