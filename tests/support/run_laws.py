"""What must hold for a run in every state, whatever its members, the world and people do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from headcount.protocol import events as ev
from headcount.protocol import phase_events as pe
from headcount.protocol import task_events as te
from headcount.protocol.effects import ActKind
from headcount.protocol.member import Activity, Member, State
from headcount.protocol.phase import Phase
from headcount.protocol.phase import State as PhaseState
from headcount.protocol.task import Presence, Task
from headcount.protocol.task import State as TaskState
from headcount.protocol.team import UNDECIDED, Status, Team, limited_by
from tests.support.liveness import waits_s
from tests.support.onlooker import Seen, Step, Violation
from tests.support.run_normal import Ledger

if TYPE_CHECKING:
    from headcount.domain.policy import Policy

NOON = "2026-01-01T12:00:00+00:00"
_LEAVING = (State.SALVAGING, State.STOPPING, State.KILLING, State.GONE)
_OVER = (PhaseState.COMPLETE, PhaseState.BLOCKED)


def check_run(step: Step, seen: Mapping[str, Seen], before: Ledger, after: Ledger) -> None:
    for law in (no_task_without_its_owner, no_agent_without_a_seat, what_ended_says_how):
        for problem in law(step.after, seen):
            raise Violation(f"{law.__name__}: {problem} (on {step.event})")
    for problem in merged_once_and_only_what_was_reviewed(step, before, after):
        raise Violation(f"merged_once_and_only_what_was_reviewed: {problem} (on {step.event})")


def no_task_without_its_owner(team: Team, seen: Mapping[str, Seen]) -> Iterator[str]:
    """A task that waits for a member has one that is there, or one whose start is put off for a reason."""
    run = _run(team)
    put_off = limited_by(team, "") is not None or team.draining
    for task in run.tasks.values():
        for seat in task.seats:
            member = team.members.get(seat.key or "")
            if seat.presence is Presence.HERE and (member is None or member.ended):
                state = member.state if member else "not there"
                yield f"task {task.id} counts on {seat.key}, which is {state}"
            if seat.presence is Presence.ORDERED and not put_off:
                yield f"task {task.id} ordered {seat.name}, and nobody starts it"
        worker = task.worker
        if task.state is TaskState.WORKING and not (worker and worker.taken):
            yield f"task {task.id} is being worked on by nobody"
        if task.state is TaskState.REVIEWING:
            missing = [s.name for s in task.reviewers if s.verdict is None and not s.taken]
            yield from (f"task {task.id} waits for {name}, which is not there" for name in missing)
        if task.state is TaskState.STANDING_DOWN and task.over:
            yield f"all members of task {task.id} are gone, and it is still being stood down"
        if task.state is TaskState.ESCALATED and not (worker and worker.presence is Presence.ESCALATED):
            yield f"task {task.id} waits for a decision about nobody"


def no_agent_without_a_seat(team: Team, seen: Mapping[str, Seen]) -> Iterator[str]:
    """Whoever was started for a task has its seat there, and no one else has it.

    Except a member that was escalated or stuck once: it is on its way out, or a person let it go on after
    its task had ended or was handed on.
    """
    for member in team.members.values():
        task, facts = _run(team).tasks.get(member.task or ""), seen[member.key]
        excused = facts.came_back or (facts.gave_up and member.state in _LEAVING)
        if task is None or member.ended or excused:
            continue
        seat = task.seat(member.key)
        if seat is None or not seat.taken:
            yield f"{member.key} is {member.state} for task {task.id}, and has no seat there"


def what_ended_says_how(team: Team, seen: Mapping[str, Seen]) -> Iterator[str]:
    run = _run(team)
    if run.state is PhaseState.COMPLETE and any(
        t.state is not TaskState.COMPLETE for t in run.tasks.values()
    ):
        yield "the run is complete, and one of its tasks is not"
    if run.state is PhaseState.BLOCKED and not run.reason:
        yield "the run is blocked, and does not say why"
    if team.status is Status.SHUTDOWN and run.state not in _OVER:
        yield f"the team is closed, and its run is still at {run.state}"
    for task in run.tasks.values():
        if task.state is TaskState.BLOCKED and not task.reason:
            yield f"task {task.id} is blocked, and does not say why"


def merged_once_and_only_what_was_reviewed(step: Step, before: Ledger, after: Ledger) -> Iterator[str]:
    run = _run(step.after)
    for act in step.acts:
        if act.kind is not ActKind.MERGE:
            continue
        task = run.tasks[act.about]
        if task.id in before.merged:
            yield f"task {task.id} is merged a second time"
        if task.id not in after.verified:
            yield f"{act.data['commit']} of task {task.id} was never found in a clean workspace"
        for seat in task.reviewers:
            if (task.id, seat.role) not in after.passed:
                yield f"{act.data['commit']} of task {task.id} has no pass from {seat.role}"
    for task in run.tasks.values():
        if task.state is TaskState.COMPLETE and task.id not in after.merged:
            yield f"task {task.id} is complete, and was not merged"
        if task.id in after.merged and task.state in (
            TaskState.WAITING,
            TaskState.WORKING,
            TaskState.REVIEWING,
        ):
            yield f"task {task.id} was merged, and is {task.state} again"


def update(ledger: Ledger, step: Step) -> Ledger:
    """The observer's memory after a step, from the event and the tasks before and after it."""
    before, after = _run(step.before).tasks, _run(step.after).tasks
    event: object = step.event
    match event:
        case pe.TaskHappened(task=name, event=te.Merged(commit=commit)):
            if before[name].state is TaskState.MERGING and before[name].commit == commit:
                ledger = ledger._replace(merged=ledger.merged | {name})
        case ev.Reviewed(key=key, commit=commit, verdict=verdict):
            for task in before.values():
                seat = task.seat(key)
                first = seat is not None and seat.verdict is None and task.state is TaskState.REVIEWING
                if seat is not None and first and commit == task.commit and verdict == "pass":
                    ledger = ledger._replace(passed=ledger.passed | {(task.id, seat.role)})
    for task in after.values():
        if task.commit and task.commit != before[task.id].commit:
            ledger = _new_commit(ledger, step, task)
        elif not task.commit and before[task.id].commit:
            ledger = _forget(ledger, task)
    return ledger


def _new_commit(ledger: Ledger, step: Step, task: Task) -> Ledger:
    """It counts if the member that brought it was just found clean, or ended well and left nothing behind."""
    ledger = _forget(ledger, task)
    worker = step.after.members.get((task.worker and task.worker.key) or "")
    key = getattr(step.event, "key", None)
    brought = (
        worker is not None and worker.key == key and (worker.head, worker.commits > 0) == (task.commit, True)
    )
    clean = worker is not None and (worker.state is State.VERIFIED or (worker.settled and not worker.refs))
    return ledger._replace(verified=ledger.verified | {task.id}) if brought and clean else ledger


def _forget(ledger: Ledger, task: Task) -> Ledger:
    passed = frozenset(pair for pair in ledger.passed if pair[0] != task.id)
    return ledger._replace(verified=ledger.verified - {task.id}, passed=passed)


# --- coming to rest ----------------------------------------------------------------------------------------

TEMPERS = ("obliging", "silent", "failing")


def next_event(team: Team, temper: str, policy: Policy) -> ev.Event | pe.PhaseEvent | None:
    """What comes next if people do nothing more; None: nothing."""
    run = _run(team)
    if team.status is Status.SHUTDOWN:
        return None
    if temper == "silent":
        return _overdue(team, policy)
    for member in team.members.values():
        event = _of_member(member, run, temper)
        if event is not None:
            return event
    if team.close_step is not None:
        return ev.StepEnded(team.close_step, team.close_epoch, temper == "obliging", "busy")
    return _of_run(run, temper)


def _overdue(team: Team, policy: Policy) -> ev.Event | pe.PhaseEvent | None:
    """Every limit passes. A merge or a gate that takes too long is one that failed."""
    for member in team.members.values():
        if waits_s(member, policy) is not None:
            return ev.TimedOut(member.key, member.epoch)
    if team.close_step is not None:
        return ev.TimedOut(None, team.close_epoch)
    return _of_run(_run(team), "failing")


def _of_run(run: Phase, temper: str) -> pe.PhaseEvent | None:
    well = temper == "obliging"
    for task in run.tasks.values():
        if task.state is TaskState.MERGING:
            merged = te.Merged(task.attempt, task.commit)
            failed = te.MergeFailed(task.attempt, task.commit, "disk full")
            return pe.TaskHappened(NOON, task.id, merged if well else failed)
    gate = {PhaseState.VERIFYING: "verification", PhaseState.MEASURING: "complexity"}.get(run.state)
    return pe.GateEnded(NOON, gate, run.attempt, "passed" if well else "not_run", "seen") if gate else None


def _of_member(member: Member, run: Phase, temper: str) -> ev.Event | None:
    key, epoch, well = member.key, member.epoch, temper == "obliging"
    task = run.tasks.get(member.task or "")
    match member.state:
        case State.STARTING:
            return ev.Registered(key)
        case State.RUNNING if member.activity is Activity.LIMITED:
            return ev.WorkResumed(key) if well else None
        case State.RUNNING if task is not None and task.seat(key) is not None:
            return _work(member, task, well)
        case State.ASKED if member.answer is None:
            return ev.Answered(key, str(member.ask), True)
        case State.INSPECTING:
            return ev.Inspected(key, epoch, well, well, () if well else ("dirty",), "fresh", 1)
        case State.NUDGED:
            return ev.DoneSignalled(key)
        case State.SALVAGING:
            return ev.Saved(key, epoch, "ref") if well else ev.SalvageFailed(key, epoch, "disk full")
        case State.STOPPING:
            return ev.TreeEmpty(key)
        case State.KILLING if not member.stuck:
            return ev.TreeEmpty(key) if well else ev.NotEmpty(key, epoch, ("pid 7",))
        case State.GONE if not member.settled:
            return ev.LastRead(key, epoch, well, head=member.head, commits=member.commits)
    return None


def _work(member: Member, task: Task, well: bool) -> ev.Event | None:
    """A worker reports done while its task waits for that; a reviewer gives its verdict once."""
    if member.role == "worker":
        return ev.DoneSignalled(member.key) if task.state is TaskState.WORKING else None
    seat = task.seat(member.key)
    wanted = task.state is TaskState.REVIEWING and seat is not None and seat.verdict is None
    verdict = "pass" if well else "changes"
    return ev.Reviewed(member.key, task.id, verdict, "words", task.commit) if wanted else None


def check_rest(team: Team, temper: str) -> str:
    """What is wrong with a run that nothing moves any more, or ""."""
    run = _run(team)
    waits_for_people = any(e.state in UNDECIDED for e in team.escalations.values())
    stuck = any(m.stuck for m in team.members.values())
    at_work = temper == "silent" and any(m.state in (State.RUNNING, State.VERIFIED) for m in team.live())
    parked = any(m.activity in (Activity.PARKED, Activity.LIMITED) for m in team.live())
    if run.state in _OVER or waits_for_people or stuck or at_work or parked:
        return ""
    return f"nothing will come any more, and the run is at {run.state}"


def _run(team: Team) -> Phase:
    assert team.run is not None
    return team.run
