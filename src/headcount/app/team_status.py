"""Read how teams stand: members, tasks, runs, usage limits, dialogs, and what needs a decision.

`headcount status` is called often, so this imports what it needs to read a team, and nothing of the rules.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from headcount.app.doing import DoingReader
from headcount.app.lock import is_driven, suspended_driver
from headcount.app.mail import boxes_of
from headcount.app.tasks import as_json
from headcount.domain.display import utc

if TYPE_CHECKING:
    from collections.abc import Container, Mapping
    from typing import NotRequired, TypedDict

    from headcount.app.app import App
    from headcount.app.doing import Doing
    from headcount.app.permissions import AskAnswer
    from headcount.ports import Tx
    from headcount.protocol.member import Member
    from headcount.protocol.phase import Phase
    from headcount.protocol.task import Task
    from headcount.protocol.team import Team
    from headcount.workspace.work_count import Work

    class MemberStatus(TypedDict):
        name: str
        generation: int
        role: str
        state: str
        activity: str | None
        task: str | None
        answer: str | None
        attempts: int
        issues: list[str]
        outcome: str | None
        salvage: list[str]
        failure: str | None
        cause: str | None
        alive: list[str]
        leftOnApproval: NotRequired[bool]
        """True if it approved and left before it was told to; else absent."""

    Usage = Mapping[str, Mapping[str, Any]]

    class RefusedStatus(TypedDict):
        count: int
        last: str

    class MemberNow(MemberStatus):
        """A member of `headcount status`, with what changes while it works."""

        doing: Doing | None
        refused: RefusedStatus | None
        cost_usd: float | None
        commits_ahead: int | None
        files_changed: int | None

    class LimitStatus(TypedDict):
        member: str
        until: str
        reason: str

    class DialogStatus(TypedDict):
        member: str
        since: str
        text: str
        attach: str

    class QuestionStatus(TypedDict):
        id: str
        member: str
        at: str
        subject: str

    class RunStatus(TypedDict):
        status: str
        reason: str

    class Costs(TypedDict):
        cost_usd: float | None
        cost_today_usd: float | None

    class TeamStatus(TypedDict):
        """One team of `headcount status --json`."""

        team: str
        teamId: str
        status: str
        driven: bool
        suspended: int | None
        broken: str | None
        run: RunStatus | None
        members: list[MemberNow]
        tasks: list[dict[str, Any]]
        unread: Mapping[str, int]
        usage: Usage
        cost_usd: float | None
        cost_today_usd: float | None
        limits: list[LimitStatus]
        dialogs: list[DialogStatus]
        asks: list[AskAnswer]
        questions: list[QuestionStatus]
        escalations: list[str]
        warnings: list[str]


DIALOG = "dialog"  # of an incarnation: what its client asks, and since when; nothing when that is over
WAITING = "waiting"
STOPPED = "stopped"
ESCALATED = "escalated"
OVER = ("complete", "blocked", ESCALATED)  # nothing more happens until a person acts


def roster(team: Team, waiting: Container[str] = (), stopped: Container[str] = ()) -> list[MemberStatus]:
    """Return all incarnations, so that a reused name hides none (E1). `waiting` wait for a person."""
    rows: list[MemberStatus] = [
        {
            "name": m.name,
            "generation": m.generation,
            "role": m.role,
            "state": "stuck" if m.stuck else str(m.state),
            "activity": shown_activity(m, waiting, stopped),
            "task": m.task,
            "answer": m.answer,
            "attempts": m.attempts,
            "issues": list(m.issues),
            "outcome": m.outcome,
            "salvage": list(m.refs),
            "failure": m.failure or None,
            "cause": m.cause or None,
            "alive": list(m.alive),
        }
        for m in team.members.values()
    ]
    for row, member in zip(rows, team.members.values(), strict=True):
        if member.left_on_approval:
            row["leftOnApproval"] = True
    return rows


def shown_activity(member: Member, waiting: Container[str], stopped: Container[str] = ()) -> str | None:
    """Return what `status` shows. The rules know neither dialogs nor signals of other programs."""
    if not member.live:
        return None
    if member.key in stopped:
        return STOPPED
    return WAITING if member.key in waiting else member.activity


def read_stopped(tx: Tx, team: Team) -> set[str]:
    """Return members whose process was stopped by a signal (SIGSTOP), and that headcount did not pause.

    The member's own process may be a host. Then its direct child is the client.
    """
    facts = tx.facts(team.id, "process")  # `engine.job.PROCESS`
    running = [m for m in team.live() if m.state == "running" and m.activity != "paused" and m.key in facts]
    return {m.key for m in running if _is_stopped(facts[m.key])}


def _is_stopped(process: Mapping[str, Any]) -> bool:
    pid = process.get("pid")
    found = _stat(pid)
    if len(found) < 20 or found[19] != str(process.get("start")):
        return False  # it has ended, and the engine will see that
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            children = file.read().split()
    except OSError:
        children = []
    return any(state[:1] in (["T"], ["t"]) for state in (found, *map(_stat, children)))


def _stat(pid: object) -> list[str]:
    """Return the fields of /proc/PID/stat from the state on; none if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def outcome_words(outcome: str | None, cause: str | None = None) -> str:
    """Return an outcome in words for people. `cause` is why it failed."""
    if cause and outcome == "already_gone":
        return f"failed: {cause}"
    if cause:
        return f"{outcome}, failed: {cause}"
    return "exited on its own" if outcome == "already_gone" else outcome or "never started"


def read_limits(tx: Tx, team: Team) -> list[LimitStatus]:
    """Return the members that wait for the end of a usage limit, with its end and the client's words."""
    parked = [m.key for m in team.live() if m.activity == "limited"]
    said = {entry.about: entry.data for entry in tx.journal(team.id, kinds=("limited",))} if parked else {}
    return [{"member": key, "until": said[key]["until"], "reason": said[key]["reason"]} for key in parked]


def read_dialogs(tx: Tx, team: Team) -> list[DialogStatus]:
    """Return the clients that wait in a dialog: since when, its text, and the command to attach."""
    facts = tx.facts(team.id, DIALOG)
    return [
        {"member": m.key, "text": fact["text"], "since": fact["since"],
         "attach": f"headcount attach {m.name} --team {team.name}"}
        for m in team.live()
        if (fact := facts.get(m.key))
    ]  # fmt: skip


def read_asks(tx: Tx, team_id: str, team_name: str, *, every: bool = False) -> list[AskAnswer]:
    """Return the open permission requests, or `every` one; and the dialogs that only a terminal answers."""
    found = tx.asks(team_id, state=None if every else "open")
    names = {member.key: member.name for member in tx.member_cards(team_id) if member.live}
    dialogs = [(key, fact) for key, fact in tx.facts(team_id, DIALOG).items() if fact and key in names]
    if not found and not dialogs:
        return []
    import time

    from headcount.app.permissions import as_json as ask_as_json
    from headcount.app.permissions import dialog_as_json

    # The process that waited for one of these was killed.
    current = [ask for ask in found if every or ask.until > time.time()]
    return [
        *(ask_as_json(ask, team_name) for ask in current),
        *(dialog_as_json(team_name, key, names[key], fact) for key, fact in dialogs),
    ]


def read_questions(app: App, tx: Tx, team: Team) -> list[QuestionStatus]:
    """Return the unread messages of members to the caller, if the caller can answer as operator or lead.

    The operator also has the mail to a lead while there is none.
    """
    if app.caller.kind not in ("operator", "lead"):
        return []
    boxes = boxes_of(tx, app, app.find_team(tx, team.name))
    return [
        {"id": mail.id, "member": mail.sender, "at": utc(mail.sent_at), "subject": mail.subject}
        for mail in tx.inbox(team.id, boxes, unread=True)
        if "#" in mail.sender and mail.type == "message" and mail.template is None
    ]


def status(
    app: App, team_name: str | None = None, work: Mapping[str, Work] | None = None
) -> list[TeamStatus]:
    """Return every open team, or the named one even when it is closed.

    `work` are counts of commits and files that the caller has; without it they are read now.
    """
    app.check("status")
    with app.store.read() as tx:
        names = [app.pick_team(team_name)] if team_name or app.caller.is_member else tx.team_names()
        return [_team_status(app, tx, app.load(tx, name), work) for name in names]


def _team_status(app: App, tx: Tx, team: Team, work: Mapping[str, Work] | None) -> TeamStatus:
    asks = read_asks(tx, team.id, team.name)
    usage = tx.facts(team.id, "usage")
    costs = read_costs(tx, usage)
    return {
        "team": team.name,
        "teamId": team.id,
        "status": str(team.status),
        "driven": team.status != "shutdown" and is_driven(app.home),
        "suspended": suspended_driver(app.home),
        "broken": (tx.fact(team.id, "", "broken") or {}).get("error"),  # `engine.writing.BROKEN`
        "run": read_run_state(team),
        "members": _read_members(app, tx, team, {one["member"] for one in asks}, usage, work),
        "tasks": [as_json(task) for task in tx.tasks(team.id)],
        "unread": tx.count_unread(team.id),
        "usage": usage,
        **costs,
        "limits": read_limits(tx, team),
        "dialogs": read_dialogs(tx, team),
        "asks": asks,
        "questions": read_questions(app, tx, team),
        "escalations": [e.id for e in team.escalations.values() if e.state in ("open", "parked")],
        "warnings": list(team.warnings),
    }


def _read_members(
    app: App, tx: Tx, team: Team, waiting: Container[str], usage: Usage, work: Mapping[str, Work] | None
) -> list[MemberNow]:
    live = [member.key for member in team.live()]
    doing = DoingReader(app.home, team.name).read(live, lambda key: tx.fact(team.id, key, "start"))
    if work is None:
        work = _count_work(tx, team.id, live) if live else {}
    members = []
    rows = roster(team, waiting, read_stopped(tx, team))
    for member, row in zip(team.members.values(), rows, strict=True):
        used, counted = usage.get(member.key, {}), work.get(member.key, (None, None))
        now: MemberNow = {
            **row,
            "doing": doing.get(member.key),
            "refused": used.get("refused"),
            "cost_usd": used.get("cost_usd"),
            "commits_ahead": counted[0],
            "files_changed": counted[1],
        }
        members.append(now)
    return members


def _count_work(tx: Tx, team_id: str, keys: list[str]) -> dict[str, Work]:
    from headcount.workspace.work_count import count_work

    places = {key: place for key in keys if (place := tx.fact(team_id, key, "workspace"))}
    return count_work(places, tx.fact(team_id, "", "git_config"))  # `engine.pending_acts.GIT_CONFIG`


def read_costs(tx: Tx, usage: Usage) -> Costs:
    """Return what the team cost, and all teams today; None if no client of the team says what it costs."""
    paid = [used["cost_usd"] for used in usage.values() if "cost_usd" in used]
    today = tx.spent_on(time.strftime("%Y-%m-%d")) if paid else None
    return {"cost_usd": sum(paid) if paid else None, "cost_today_usd": today}


# --- runs -----------------------------------------------------------------------------------------------


def run_status(phase: Phase, team: Team) -> str:
    """Return the phase's own status, or `escalated` if only a decision can continue the run."""
    from headcount.protocol.phase import State
    from headcount.protocol.run import moves_by_itself

    waiting = any(e.state in ("open", "parked") for e in team.escalations.values())
    if phase.state in (State.TASKS, State.CLEANING_UP) and waiting and not moves_by_itself(team):
        return ESCALATED
    return "running" if phase.state is State.TASKS else str(phase.state)


def awaited(task: Task) -> list[str]:
    """Return the members whose work or verdict the task waits for."""
    from headcount.protocol.task import Presence
    from headcount.protocol.task import State as TaskState

    if task.state is TaskState.WORKING:
        seats = task.seats[:1]
    elif task.state is TaskState.REVIEWING:
        seats = tuple(seat for seat in task.reviewers if seat.verdict is None)
    else:
        return []
    return [seat.key for seat in seats if seat.key and seat.presence is Presence.HERE]


def read_stalled(phase: Phase, team: Team) -> list[str]:
    """Return the members without a sign of progress that a task waits for."""
    keys = [key for task in phase.tasks.values() for key in awaited(task)]
    return [key for key in keys if team.members[key].live and team.members[key].activity == "stalled"]


def read_run_state(team: Team) -> RunStatus | None:
    """Return None for a team that runs no tasks."""
    if team.run is None:
        return None
    return {"status": run_status(team.run, team), "reason": team.run.reason}
