"""The task list, done signals and reviews."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.app import signals, tasks
from headcount.errors import UsageError

if TYPE_CHECKING:
    from headcount.app.session import Session

    Arguments = dict[str, Any]
    Answer = dict[str, Any]


def task_create(session: Session, args: Arguments) -> Answer:
    task = tasks.create(
        session, args["subject"], args.get("description", ""), args.get("activeForm"),
        args.get("dependsOn", ()), args.get("metadata"), args.get("team_name"),
    )  # fmt: skip
    return {"task": tasks.as_json(task)}


def task_list(session: Session, args: Arguments) -> Answer:
    found = tasks.list_tasks(
        session, args.get("status"), args.get("owner"), args.get("team_name"), args.get("metadata")
    )
    return {"tasks": [tasks.as_json(task) for task in found]}


def task_update(session: Session, args: Arguments) -> Answer:
    """Change fields, or release or withdraw the task; one call does one of them."""
    task_id, team = args["task_id"], args.get("team_name")
    if "withdraw" in args:
        task = tasks.withdraw(session, task_id, args["withdraw"], team)
    elif args.get("release"):
        task = tasks.release(session, task_id, team)
    else:
        task = tasks.change(
            session,
            task_id,
            team,
            subject=args.get("subject"),
            description=args.get("description"),
            depends_on=args.get("dependsOn"),
            metadata=args.get("metadata"),
        )
    return {"task": tasks.as_json(task)}


def task_claim(session: Session, args: Arguments) -> Answer:
    task = tasks.claim(session, args.get("task_id"), args.get("team_name"))
    return {"task": tasks.as_json(task) if task else None}


task_auto_claim = task_claim  # without an id it is the next one


def task_find_available(session: Session, args: Arguments) -> Answer:
    return {"tasks": [tasks.as_json(task) for task in tasks.find_available(session, args.get("team_name"))]}


def task_complete(session: Session, args: Arguments) -> Answer:
    return {"task": tasks.as_json(tasks.complete(session, args["task_id"], args.get("team_name")))}


def member_done(session: Session, args: Arguments) -> Answer:
    task = signals.done(session, args.get("task_id"), args.get("checklist", False), args.get("team_name"))
    return {"status": "inspection_started", "task": task}


def review_submit(session: Session, args: Arguments) -> Answer:
    issues, verdict = list(args.get("issues", ())), args["verdict"]
    words = "\n".join(issues)
    if verdict == signals.CHANGES and not words.strip():
        raise UsageError("Changes need to be named", "issues is empty", code="missing-issues")
    signals.review(session, args["task_id"], verdict, words, args.get("team_name"))
    return {"taskId": args["task_id"], "verdict": verdict, "issues": issues}
