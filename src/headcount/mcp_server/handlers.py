"""One thin function a tool: arguments in, one use case, its answer in the tool's shape. No rules here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from headcount.app import mail, standing_down, tasks, teams, witness
from headcount.app.resident import ensure_driven
from headcount.app.up import wait_for
from headcount.domain.names import check_size
from headcount.errors import Declined, UsageError
from headcount.protocol.member import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.app.app import App

    Arguments = dict[str, Any]
    Answer = dict[str, Any]

# How long a tool stays for something that is nearly there. A client waits for a minute or so at most.
_START_S = 10.0
_CLOSE_S = 10.0

count_unread = mail.count_unread


def _drive(app: App) -> None:
    """An engine is the operator's to start: whatever a member starts would carry its mark."""
    if not app.caller.is_member:
        ensure_driven(app)


# --- teams -----------------------------------------------------------------------------------------------


def _team_create(app: App, args: Arguments) -> Answer:
    team = teams.create_team(
        app, args["team_name"], args.get("description", ""), agent=args.get("agent_type"), environ=os.environ
    )
    return {"teamId": team.id, "teamName": team.name, "status": str(team.status)}


def _teammate_spawn(app: App, args: Arguments) -> Answer:
    name = app.pick_team(args.get("team_name"))
    check_size("prompt", args.get("prompt", ""), app.limits.message_bytes)
    plan = teams.Plan(args["name"], args.get("agent"), model=args.get("model"), prompt=args.get("prompt", ""))
    key = teams.spawn(app, name, plan).key
    _drive(app)
    member = wait_for(app, name, lambda t: t.members[key].state is not State.STARTING, _START_S).members[key]
    if member.failure:
        raise Declined(f"Did not start {member.name}", member.failure, code="start-failed")
    return {
        "teammateId": f"{name}/{key}",
        "name": member.name,
        "generation": member.generation,
        "status": str(member.state),
    }


def _team_shutdown(app: App, args: Arguments) -> Answer:
    name = app.pick_team(args.get("team_name"))
    report = standing_down.stand_down(app, name, reason=args.get("reason", ""))
    if report["status"] == "shutdown":
        return _shutdown(report)
    _drive(app)
    if not report.get("pendingApprovals"):
        report = _wait_closed(app, name, report)
    return _shutdown(report)


def _wait_closed(app: App, name: str, report: Answer) -> Answer:
    """Nobody has to be asked, so it is a matter of seconds; if it is not, the answer says how far it is."""
    wait_for(app, name, lambda t: standing_down.is_over({"status": str(t.status)}), _CLOSE_S)
    return standing_down.status_of(app, name, report["requestId"])


def _shutdown(report: Answer) -> Answer:
    """Closed or pending, in the two shapes that callers know; anything else as it stands."""
    if report["status"] == "shutdown":
        return {key: report[key] for key in ("teamId", "status", "deleted", "warnings") if report[key] != []}
    if report["status"] in ("pending_shutdown", "stopping", "closing"):
        return {
            "teamId": report["teamId"],
            "status": "pending_shutdown",
            "requestId": report["requestId"],
            "pendingApprovals": report.get("pendingApprovals", []),
        }
    return report


def _shutdown_status(app: App, args: Arguments) -> Answer:
    app.check("status")
    return standing_down.status_of(app, app.pick_team(args.get("team_name")), args.get("request_id"))


# --- mail ------------------------------------------------------------------------------------------------


def _send_message(app: App, args: Arguments) -> Answer:
    kind, content, team = args["type"], args.get("content", ""), args.get("team_name")
    check_size("content", content, app.limits.message_bytes)
    check_size("summary", args.get("summary", ""), app.limits.subject_characters, "characters")
    answer = mail.find_answer(args)
    if answer is not None:
        request_id = answer["request_id"] or _missing(
            "request_id", "it is in the request that you were mailed"
        )
        return mail.answer(app, _recipient(args), request_id, answer["approve"], answer["reason"], team)
    if kind == "shutdown_request":
        to = _recipient(args)
        sent = mail.request_stand_down(app, to, args.get("reason") or content, team)
        _drive(app)
        return sent
    if not content:
        _missing("content", "the text of the message")
    to = "all" if kind == "broadcast" else _recipient(args)
    return mail.send(app, to, args.get("summary") or _first_line(content), content, team)


def _recipient(args: Arguments) -> str:
    return str(
        args.get("recipient") or _missing("recipient", 'a member\'s name, "lead", "witness" or "operator"')
    )


def _missing(field: str, what: str) -> Any:
    raise UsageError(f"{field} is missing", f"a message of this type needs {field}: {what}",
                     (f"Send it again with {field}",), code=f"missing-{field.replace('_', '-')}")  # fmt: skip


def _first_line(text: str, longest: int = 80) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _inbox(app: App, args: Arguments) -> Answer:
    return mail.inbox(
        app, args.get("team_name"), unread=args.get("unread", False), mark_read=args.get("mark_read", False)
    )


# --- tasks -----------------------------------------------------------------------------------------------


def _task_create(app: App, args: Arguments) -> Answer:
    task = tasks.create(
        app, args["subject"], args.get("description", ""), args.get("activeForm"), args.get("dependsOn", ()),
        args.get("metadata"), args.get("team_name"),
    )  # fmt: skip
    return {"task": tasks.as_json(task)}


def _task_list(app: App, args: Arguments) -> Answer:
    found = tasks.list_tasks(app, args.get("status"), args.get("owner"), args.get("team_name"))
    return {"tasks": [tasks.as_json(task) for task in found]}


def _task_claim(app: App, args: Arguments) -> Answer:
    task = tasks.claim(app, args.get("task_id"), args.get("team_name"))
    return {"task": tasks.as_json(task) if task else None}


def _task_find_available(app: App, args: Arguments) -> Answer:
    return {"tasks": [tasks.as_json(task) for task in tasks.find_available(app, args.get("team_name"))]}


def _task_complete(app: App, args: Arguments) -> Answer:
    return {"task": tasks.as_json(tasks.complete(app, args["task_id"], args.get("team_name")))}


def _member_done(app: App, args: Arguments) -> Answer:
    checklist = args.get("checklist", False)
    verified = bool(checklist) and all(checklist.values()) if isinstance(checklist, dict) else checklist
    task = tasks.done(app, args.get("task_id"), verified, args.get("team_name"))
    return {"status": "inspection_started", "task": task}


def _review_submit(app: App, args: Arguments) -> Answer:
    issues = args.get("issues", ())
    return tasks.review(app, args["task_id"], args["verdict"], issues, args.get("team_name"))


# --- the witness, and what waits for a decision ------------------------------------------------------------


def _witness_findings(app: App, args: Arguments) -> Answer:
    return witness.findings(app, args["member"], args.get("team_name"), live=args.get("live", True))


def _witness_verdict(app: App, args: Arguments) -> Answer:
    clean = args["verdict"] == "clean"
    return witness.verdict(app, args["member"], clean, args.get("issues", ()), args.get("team_name"))


def _witness_nudge(app: App, args: Arguments) -> Answer:
    return witness.nudge(app, args["member"], args["text"], args.get("team_name"))


def _witness_capture(app: App, args: Arguments) -> Answer:
    return witness.capture(app, args["member"], args.get("team_name"))


def _witness_handoff(app: App, args: Arguments) -> Answer:
    return witness.handoff(
        app, args.get("member"), args.get("remarks", ""), args.get("next_steps", ()), args.get("team_name")
    )


def _escalation_list(app: App, args: Arguments) -> Answer:
    app.check("status")
    found = standing_down.escalations(app, args.get("team_name"), every=args.get("all", False))
    return {"escalations": found}


def _escalation_decide(app: App, args: Arguments) -> Answer:
    decided = standing_down.decide(
        app, args["id"], args["decision"], args.get("reason", ""), args.get("team_name")
    )
    _drive(app)
    return decided


HANDLERS: dict[str, Callable[[App, Arguments], Answer]] = {
    "team_create": _team_create,
    "teammate_spawn": _teammate_spawn,
    "team_shutdown": _team_shutdown,
    "shutdown_status": _shutdown_status,
    "send_message": _send_message,
    "inbox": _inbox,
    "task_create": _task_create,
    "task_list": _task_list,
    "task_claim": _task_claim,
    "task_find_available": _task_find_available,
    "task_auto_claim": _task_claim,
    "task_complete": _task_complete,
    "member_done": _member_done,
    "review_submit": _review_submit,
    "witness_findings": _witness_findings,
    "witness_verdict": _witness_verdict,
    "witness_nudge": _witness_nudge,
    "witness_capture": _witness_capture,
    "witness_handoff": _witness_handoff,
    "escalation_list": _escalation_list,
    "escalation_decide": _escalation_decide,
}
