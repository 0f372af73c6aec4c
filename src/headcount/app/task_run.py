"""Running a team's tasks: a worker and its reviewers for each, gates, and a stand-down at the end.

`run` begins a phase, or continues the open one. The engine does the rest, by the tables. The command that
watches may end and be called again.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.app.adapters import find_repository, read_checked_out
from headcount.app.app import policy_of
from headcount.app.member_start import check_clients, read_account
from headcount.app.stand_down_answer import can_decide
from headcount.app.tasks import add
from headcount.app.team_status import (
    OVER,
    awaited,
    read_asks,
    read_dialogs,
    read_limits,
    read_run_state,
    read_stalled,
    run_status,
)
from headcount.app.teams import create_team, spawn
from headcount.app.trust import read_trust, trusted_root
from headcount.domain.names import check_size, show
from headcount.domain.templates import not_acknowledged
from headcount.engine.apply import apply
from headcount.engine.ordered_starts import ROSTER
from headcount.engine.writing import utc_now
from headcount.errors import Declined, DefinitionError, UsageError
from headcount.ports import Task as BoardTask
from headcount.protocol import phase_events as pe
from headcount.protocol.completion import checklist, status_json
from headcount.protocol.phase import Crew, State
from headcount.protocol.run import roster_of
from headcount.protocol.schedule import why_waiting
from headcount.protocol.task import State as TaskState
from headcount.protocol.task import Task
from headcount.protocol.task_list import too_many
from headcount.protocol.team import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from headcount.app.app import App
    from headcount.app.definition import Definition
    from headcount.app.member_start import Plan
    from headcount.app.team_status import RunStatus
    from headcount.compiler import ir
    from headcount.domain.policy import Limits, Policy
    from headcount.domain.settings import Gates
    from headcount.ports import Tx
    from headcount.protocol.team import Escalation, Team
    from headcount.workspace.integration import Integration
    from headcount.workspace.repository import Repository

REVIEWERS = ("spec-reviewer", "code-quality-reviewer")
_REVIEWER_MODEL = {"spec-reviewer": "haiku", "code-quality-reviewer": "opus"}


class Base(NamedTuple):
    """Where a new run begins if the integration branch lacks commits of the user: `onto` moves it to another
    commit, `keep` begins at the branch as it is."""

    onto: str = ""
    keep: bool = False


_DEFAULT_BASE = Base()


def begin_run(
    app: App,
    definition: Definition,
    environ: Mapping[str, str] = os.environ,
    base: Base = _DEFAULT_BASE,
    tell: Callable[[str], None] = lambda _: None,
) -> str:
    """Begin a run, continue it, or retry it if it is blocked. Return the team's name.

    `base` is for a new run alone. `tell` is called with what the user should know about where it begins.
    """
    with app.store.read() as tx:
        team = tx.load_team(definition.team)
        there = team is not None and team.status is not Status.SHUTDOWN
        run = team.run if team is not None and there else None
        mode = tx.team_settings(team.id).get("mode") if team is not None else None
    if run is None and (not there or mode == "run"):
        _begin(app, definition, environ, base, tell, created=there)
    elif base.onto:
        raise Declined(
            f"Did not move the integration branch of {definition.team}",
            "its run is not over",
            (f"End it first with `headcount down {definition.team}`, or run it without --rebase-onto",),
            code="team-exists",
        )
    elif run is None:
        assert team is not None
        raise Declined(
            f"The team {definition.team} is open, and was not started by run",
            f"it is {team.status}",
            (f"End it first with `headcount down {definition.team}`",),
            code="team-exists",
        )
    elif run.state is State.BLOCKED:
        _retry(app, definition)
    _start_offices(app, definition)
    return definition.team


def has_changed(app: App, definition: Definition) -> bool:
    """Return whether the definition has other tasks or members than the open run, which keeps its own."""
    with app.store.read() as tx:
        roster = tx.fact(app.load(tx, definition.team).id, "", ROSTER) or {}
    tasks = {str(task.number): _about(task, app.settings.integration.sync) for task in definition.tasks}
    names = {plan.name for plan in definition.members if plan.role == "worker" or plan.role in REVIEWERS}
    return tasks != roster.get("tasks") or names != set(roster.get("plans", ()))


def check_runs(app: App, team_name: str, what: str) -> RunStatus:
    """Return the state of the team's run, or refuse to `what` it because there is none."""
    with app.store.read() as tx:
        run = read_run_state(app.load(tx, team_name))
    if run is None:
        raise UsageError(
            f"{show(team_name)} runs no tasks", f"there is nothing to {what}",
            (f"See what it does with `headcount status {team_name}`",), code="no-run",
        )  # fmt: skip
    return run


def abort(app: App, team_name: str, reason: str) -> dict[str, Any]:
    """The lead's way to ask the witness to end a run: what is under way is stood down, nothing new starts."""
    app.check("abort")
    run = check_runs(app, team_name, "abort")
    if run["status"] in (State.COMPLETE, State.BLOCKED):
        raise Declined(
            f"Did not abort {show(team_name)}", f"its run is {run['status']} already",
            (f"See its state with `headcount status {team_name}`",), code="run-over",
        )  # fmt: skip
    app.apply(team_name, pe.AbortRun(utc_now(), reason, app.caller.who))
    return read_run(app, team_name)


def read_run(app: App, team_name: str) -> dict[str, Any]:
    with app.store.read() as tx:
        return describe_run(tx, app.load(tx, team_name))


def describe_run(tx: Tx, team: Team) -> dict[str, Any]:
    """How a run stands: its tasks, its checklist, and what it is blocked by."""
    phase = team.run
    if phase is None:
        raise UsageError(f"{show(team.name)} runs no tasks", "it was started by up", code="no-run")
    roster = tx.fact(team.id, "", ROSTER) or {}
    policy = policy_of(tx.team_settings(team.id))
    waits = why_waiting(phase, roster_of(team), policy)
    open_ones = [e for e in team.escalations.values() if e.state in ("open", "parked")]
    return {
        "team": team.name,
        "status": run_status(phase, team),
        "attempt": phase.attempt,
        "reason": phase.reason,
        "tasks": [_task_line(task, roster, waits) for task in phase.tasks.values()],
        "limits": read_limits(tx, team),
        "dialogs": read_dialogs(tx, team),
        "asks": read_asks(tx, team.id, team.name),
        "stalled": read_stalled(phase, team),
        "escalations": [_escalation_line(team, e, policy) for e in open_ones],
        "checklist": [
            {
                "item": item.title,
                "done": item.done,
                "skipped": item.skipped,
                "evidence": item.evidence,
            }
            for item in checklist(phase, team.members.values())
        ],
        "integration": phase.crew.integration,
        "base": phase.crew.base,
        "notes": status_json(phase)["notes"],
        "warnings": _unanswered(team),
    }


def _unanswered(team: Team) -> list[str]:
    silent = [m for m in team.members.values() if m.answer == "unanswered"]
    return [f"{m.key}: {not_acknowledged(m.name)}" for m in silent]


def is_over(run: dict[str, Any]) -> bool:
    """Return whether nothing more happens until a person acts."""
    return run["status"] in OVER


def _escalation_line(team: Team, escalation: Escalation, policy: Policy) -> dict[str, Any]:
    return {
        "id": escalation.id,
        "member": escalation.key,
        "issues": list(escalation.issues),
        "decisions": can_decide(team, escalation.id, policy),
    }


def _reviews_awaited(task: Task) -> str:
    keys = awaited(task) if task.state is TaskState.REVIEWING else []
    return f"waits for {', '.join(keys)}" if keys else ""


def _task_line(task: Task, roster: Any, waits: Mapping[str, str]) -> dict[str, Any]:
    return {
        "id": task.id,
        "subject": roster["tasks"][task.id]["subject"],
        "state": str(task.state),
        "rounds": task.rounds,
        "restarts": task.restarts,
        "cycles": task.cycles,
        "worker": task.worker.key if task.worker else None,
        "commit": task.commit or None,
        "reason": task.reason,
        "waits": waits.get(task.id) or _reviews_awaited(task),
        "unreviewed": task.unreviewed,
    }


# --- beginning -----------------------------------------------------------------------------------------


def _begin(
    app: App,
    definition: Definition,
    environ: Mapping[str, str],
    base: Base,
    tell: Callable[[str], None],
    *,
    created: bool,
) -> None:
    """All that can be refused comes first. `created`: we died between the team and its phase."""
    app.check("team_create")
    repo = find_repository(app)
    start = read_checked_out(app, repo) if repo is not None else None
    if repo is None or start is None:
        raise UsageError(
            "A run needs a git repository with a commit",
            "workers branch off from it, and their work is merged",
            ("Make one with `git init` and `git commit`",),
            code="no-repository",
        )
    workers = [plan for plan in definition.members if plan.role == "worker"]
    if not definition.tasks or not workers:
        raise DefinitionError(
            f"{definition.path} cannot be run",
            "it has no TaskDef" if not definition.tasks else "it has no worker",
            ("Start the team without tasks with `headcount up`",),
            code="nothing-to-run",
        )
    _check_fit(definition.tasks, app.limits)
    at_once = definition.workflow.tasks_at_once if definition.workflow else None
    if at_once:
        app.settings = replace(app.settings, policy=replace(app.settings.policy, tasks_at_once=at_once))
    check_clients(app, definition.members, read_trust(app, environ))
    integration = _open_integration(app, definition, repo, start, base, tell)
    roster = _roster(app, definition, integration)
    if not created:
        create_team(app, definition.team, definition.description, mode="run", environ=environ)
    _open_phase(app, definition, roster)


def _check_fit(tasks: Sequence[ir.Task], limits: Limits) -> None:
    """What the task list would refuse when the team is there already."""
    if len(tasks) > limits.tasks:
        raise too_many("tasks", limits.tasks)
    for task in tasks:
        about = f"of task {task.number} ({task.task.name})"
        check_size(f"subject {about}", task.task.subject, limits.subject_characters, "characters")
        check_size(f"prompt {about}", task.prompt, limits.description_bytes)


def _start_offices(app: App, definition: Definition) -> None:
    """The lead and the witness, where they are processes: once, for as long as the run lasts."""
    with app.store.read() as tx:
        team = app.load(tx, definition.team)
    if team.draining or team.status is Status.SHUTDOWN:
        return
    for plan in definition.members:
        if plan.role in ("lead", "witness") and team.latest(plan.name) is None:
            spawn(app, definition.team, plan)


def _retry(app: App, definition: Definition) -> None:
    """With the gates as they are defined now: a wrong command is the likeliest thing to have been mended."""
    with app.turn(definition.team) as (tx, team, policy):
        assert team.run is not None
        retry = pe.RetryRun(utc_now(), team.run.attempt, _gates(app, definition))
        applied = apply(tx, team, [retry], policy, app.make_start)
    app.ring(applied)


def _open_integration(
    app: App, definition: Definition, repo: Repository, start: str, base: Base, tell: Callable[[str], None]
) -> Integration:
    """The integration branch, not without saying so if it lacks commits that the user has checked out."""
    from headcount.workspace.integration import Integration

    named = app.settings.integration.branch
    integration = Integration.create(repo, definition.team, branch=named, base=start)
    if base.onto and named:
        raise Declined(
            f"Did not move {named}",
            "it is a branch of yours",
            (f"Merge into it yourself: `git checkout {shlex.quote(named)}`, then `git merge`",),
            code="branch-in-use",
        )
    if base.onto:
        _rebase(integration, read_checked_out(app, repo, base.onto), base.onto, tell)
        return integration
    missing = integration.count_missing(start)
    if missing:
        commits = "1 commit" if missing == 1 else f"{missing} commits"
        lacks = f"{integration.branch} lacks {commits} of {start[:8]}, which you have checked out"
        if not named and not base.keep:
            run = f"headcount run {shlex.quote(definition.path)}"
            raise Declined(
                f"Did not start {definition.team} from an old integration branch",
                lacks,
                (
                    f"Begin at your commit, and keep what is not merged, with `{run} --rebase-onto HEAD`",
                    f"Begin at the old branch with `{run} --keep-base`",
                ),
                code="stale-integration",
            )
        tell(f"The run begins without your last changes: {lacks}.")
    return integration


def _rebase(integration: Integration, commit: str | None, onto: str, tell: Callable[[str], None]) -> None:
    from headcount.workspace.integration import Conflict

    if commit is None:
        raise UsageError(
            f"Did not move {integration.branch}",
            f"{show(onto)} is not a commit",
            ("See the branches with `git branch --all`",),
            code="unknown-commit",
        )
    rebased = integration.rebase_onto(commit)
    if isinstance(rebased, Conflict):
        paths = ", ".join(rebased.paths[:5])
        raise Declined(
            f"Did not move {integration.branch} onto {commit[:8]}",
            f"they conflict in {paths}",
            (f"Merge them yourself: `git merge {integration.branch}`",),
            code="integration-conflict",
        )
    if rebased.kept:
        tell(
            f"{integration.branch} begins at {commit[:8]}, which has all of it. Its commits: {rebased.kept}."
        )


def _roster(app: App, definition: Definition, integration: Integration) -> dict[str, Any]:
    """What a run needs of the definition, so that it can go on without the file."""
    plans = {
        plan.name: _run_plan(app, plan, integration.branch)._asdict()
        for plan in definition.members
        if plan.role == "worker" or plan.role in REVIEWERS
    }
    return {
        "workers": [plan.name for plan in definition.members if plan.role == "worker"],
        "reviewers": [[plan.role, plan.name] for plan in definition.members if plan.role in REVIEWERS],
        "plans": plans,
        "tasks": {str(task.number): _about(task, app.settings.integration.sync) for task in definition.tasks},
        "integration": integration.branch,
        "base": integration.head(),
        "require_merged": app.settings.policy.require_merged in ("run", "always"),
        "accounts": [[plan.name, read_account(app, plan)] for plan in definition.members],
    }


def _run_plan(app: App, plan: Plan, integration: str) -> Plan:
    model = plan.model or _REVIEWER_MODEL.get(plan.role)
    return plan._replace(
        integration=integration, model=model, trusted=trusted_root(app), checkout=app.checkout
    )


def _about(task: ir.Task, sync: str) -> dict[str, Any]:
    return {
        "subject": task.task.subject,
        "prompt": task.prompt,
        "sync": sync,
        "model": task.model,
        "metadata": dict(task.metadata),
    }


def _open_phase(app: App, definition: Definition, roster: dict[str, Any]) -> None:
    numbers = {task.task.uid: str(task.number) for task in definition.tasks}
    tasks = [
        Task(
            str(task.number),
            depends_on=tuple(numbers[ref.uid] for ref in task.blocked_by),
            wants=task.worker.name if task.worker else None,
        )
        for task in definition.tasks
    ]
    with app.turn(definition.team) as (tx, team, policy):
        card = app.find_team(tx, team.id)
        for task, source in zip(tasks, definition.tasks, strict=True):
            add(tx, card, _board_task(team.id, task, source))
        tx.put_fact(team.id, "", ROSTER, roster)
        opened = pe.RunOpened(utc_now(), tuple(tasks), _gates(app, definition), _crew(roster))
        applied = apply(tx, team, [opened], policy, app.make_start)
    app.ring(applied)


def _crew(roster: Mapping[str, Any]) -> Crew:
    return Crew(
        tuple(roster["workers"]), tuple((role, name) for role, name in roster["reviewers"]),
        roster["integration"], roster["base"], roster["require_merged"],
        tuple((name, account) for name, account in roster["accounts"]),
    )  # fmt: skip


def _board_task(team_id: str, task: Task, source: ir.Task) -> BoardTask:
    return BoardTask(
        task.id,
        team_id,
        source.task.subject,
        source.prompt,
        source.active_form or None,
        depends_on=task.depends_on,
        metadata=dict(source.metadata),
    )


def _gates(app: App, definition: Definition) -> Gates:
    """The definition's own, where it says so."""
    gates, workflow = app.settings.gates, definition.workflow
    if workflow is None:
        return gates
    return replace(
        gates,
        verify=workflow.verify or gates.verify,
        max_total_lines=workflow.max_total_lines or gates.max_total_lines,
    )


def follow_run(app: App, team_name: str) -> Any:
    """The run, again whenever something changed, until it is over."""
    while True:
        now = read_run(app, team_name)
        yield now
        if is_over(now):
            return
        app.store.wait(f"team/{team_name}", 1.0)


def take_over_hint(run: dict[str, Any]) -> str:
    return f"git merge {shlex.quote(run['integration'])}"
