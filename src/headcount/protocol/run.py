"""Combine a team and its run: pass what happened to members on to tasks, and orders back."""

# The team's rules (`team_step.py`) do not know tasks. The tasks' rules (`task_step.py`, `phase.py`) know
# members only as seats. `Composition` passes typed events (`happened.py`) from the first to the second,
# and orders from the second to the first, until nothing follows.
#
# The order of work in `settle` matters:
#
# 1. Everything that happened is passed on to the tasks.
# 2. Stand-down requests of tasks that were withdrawn with another request are repeated.
# 3. Starts that a usage limit held back are made.
# 4. Only then the next task begins, so a slot is free before another task takes it (I4).
#
# Cycling works without a run too. The successor is ordered in the step in which its predecessor is proved
# gone. The task that has a seat for it orders it, or else `_follow` does.
#
# There is no table here. What is translated into what is the `match` in `_translate`; what an order
# becomes is the `match` in `_carry_out`.

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Final

from headcount.protocol import events as ev
from headcount.protocol import happened as hp
from headcount.protocol import phase_events as pe
from headcount.protocol import task_events as te
from headcount.protocol.effects import Act, ActKind, Collected, Note, PrepareStart, Ready, SetStatus
from headcount.protocol.member import State as MemberState
from headcount.protocol.phase import State as PhaseState
from headcount.protocol.phase import open_phase, step_phase
from headcount.protocol.schedule import Roster, may_start, stalled
from headcount.protocol.shutdown import ASKABLE
from headcount.protocol.task import Presence
from headcount.protocol.task import State as TaskState
from headcount.protocol.task_turn import listed, spawn_order, stand_down_order
from headcount.protocol.team import UNDECIDED, Status, limited_by
from headcount.protocol.team_step import step_team

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headcount.domain.policy import Policy
    from headcount.protocol.member import Member
    from headcount.protocol.phase import Phase
    from headcount.protocol.phase_events import PhaseEffect
    from headcount.protocol.task import Seat, Task
    from headcount.protocol.task_events import TaskEffect
    from headcount.protocol.team import Team

_OVER: Final = (PhaseState.COMPLETE, PhaseState.BLOCKED)
_STOOD_DOWN: Final = "the team was stood down"


class Composition:
    """One step in progress. `_passed_on` counts the events that were passed on to the run."""

    def __init__(self, team: Team, policy: Policy, now: str) -> None:
        self._before = team
        self._team = team
        self._policy = policy
        self._now = now
        self._out = Collected()
        self._passed_on = 0
        self._shown: set[str] = set()  # tasks to list even if they did not change

    def apply_to_team(self, event: ev.Event) -> None:
        self._team, ready = step_team(self._team, event, self._policy)
        out = self._out
        out.happened += ready.happened
        out.entries += ready.entries
        out.mail += ready.mail
        out.released += ready.released
        out.sealed += ready.sealed
        out.acts += ready.acts

    def apply_to_run(self, event: pe.PhaseEvent) -> None:
        effects: tuple[PhaseEffect | TaskEffect, ...]
        if isinstance(event, pe.RunOpened):
            run, effects = open_phase(
                self._team.name, event.tasks, event.gates, event.at, self._policy, event.crew
            )
        elif self._team.run is None:
            self._out.note("phase_late", "", event=type(event).__name__)
            return
        else:
            run, effects = step_phase(self._team.run, event, self._policy)
        self._team = replace(self._team, run=run)
        for effect in effects:
            self._carry_out(effect)
        if isinstance(event, pe.TaskHappened) and isinstance(event.event, te.Merged):
            self._require_merged(run.tasks[event.task])

    def settle(self) -> tuple[Team, Ready]:
        """Repeat until nothing follows, and return the new team with everything to do."""
        if self._team.run is None:
            while self._pass_on_next():
                pass
            return self._team, self._out.ready()
        # Each returns whether it did something. Then the loop starts again: see the order above.
        while self._pass_on_next() or self._ask_again() or self._start_held() or self._begin_next():
            pass
        # Three things end a run that its own tasks cannot end: cleanup, a foreign stand-down, a standstill.
        self._end_cleanup()
        if self._team.status is Status.SHUTDOWN and self._run.state not in _OVER:
            # The team was stood down under the run. Nothing of the run continues, not even a merge.
            self.apply_to_run(pe.AbortRun(self._now, _STOOD_DOWN))
            if self._run.state is PhaseState.TASKS:
                self.apply_to_run(pe.NothingMoves(self._now, _STOOD_DOWN))
        self._block_if_nothing_moves()
        self._list_tasks()
        return self._team, self._out.ready()

    @property
    def _run(self) -> Phase:
        assert self._team.run is not None
        return self._team.run

    def _apply_to_task(self, task_id: str, event: te.TaskEvent) -> None:
        self.apply_to_run(pe.TaskHappened(self._now, task_id, event))

    # --- from the team to its tasks ---------------------------------------------------------------------

    def _pass_on_next(self) -> bool:
        if self._passed_on >= len(self._out.happened):
            return False
        event = self._out.happened[self._passed_on]
        self._passed_on += 1
        for key, told in self._translate(event):
            task = self._task_of(key)
            if task is not None:
                self._apply_to_task(task.id, told)
                self._release_if_unseated(task, told)
            elif isinstance(event, hp.MemberGone):
                self._follow(self._team.members[key])
        return True

    def _release_if_unseated(self, task: Task, told: te.TaskEvent) -> None:
        """Release a member whose task has ended or was handed on: it needs no review."""
        seat = task.seat(told.key) if isinstance(told, te.WorkVerified) else None
        if isinstance(told, te.WorkVerified) and (seat is None or seat.presence is not Presence.HERE):
            self.apply_to_team(ev.Released(told.key))

    def _translate(self, event: hp.Happened) -> Iterator[tuple[str, te.TaskEvent]]:
        match event:
            case hp.MemberMoved(key=key, after=MemberState.VERIFIED):
                # Only a done signal leads to `verified`. A member that was asked to leave is not done.
                member = self._team.members[key]
                yield key, te.WorkVerified(key, member.head, member.commits)
            case hp.MemberGone(key=key) | hp.MemberStuck(key=key):
                yield key, self._left(self._team.members[key])
            case hp.MemberEscalated(key=key, issues=issues) | hp.StillEscalated(key=key, issues=issues):
                # If a policy decided in the same step, the member is being stopped and keeps its slot (I4).
                if self._team.members[key].state is MemberState.ESCALATED:
                    yield key, te.MemberEscalated(key, "; ".join(issues))
            case hp.EscalationDecided(key=key, decision="wait" | "human"):
                yield key, te.MemberBack(key)
            case hp.EscalationDecided(key=key, decision="reassign", by=by):
                yield key, te.Reassigned(key, by)
            case hp.RequestRejected(request=request, rejected_by=rejections):
                for name, reason in rejections:
                    member_ = self._team.latest(name)
                    if member_ is not None:
                        yield member_.key, te.Refused(member_.key, self._refused(member_, request), reason)
            case hp.ReviewGiven(key=key):
                yield key, te.Reviewed(key, event.commit, event.verdict, event.words)

    def _left(self, member: Member) -> te.MemberLeft:
        # A plain program has no done signal. A clean exit with code 0 counts as one.
        finished = member.already_gone and not member.refs and member.exit_code == 0
        outcome = "stuck" if member.stuck else "clean" if finished else member.outcome
        salvage = member.refs[-1] if member.refs else None
        by = "" if member.cycled else self._stood_down_by(member)
        return te.MemberLeft(member.key, outcome, salvage, member.head, member.commits, by, member.cycled)

    def _task_of(self, key: str) -> Task | None:
        """Return the task of the run that this member was started for."""
        member = self._team.members.get(key)
        if member is None or member.task is None or self._team.run is None:
            return None
        return self._team.run.tasks.get(member.task)

    def _seat_of(self, member: Member) -> Seat | None:
        task = self._task_of(member.key)
        return task.seat(member.key) if task is not None else None

    def _stood_down_by(self, member: Member) -> str:
        """Return who stood it down, or "" if its task did."""
        seat = self._seat_of(member)
        if member.request is None or (seat is not None and seat.request == member.request):
            return ""
        request = self._team.requests.get(member.request)
        return request.by if request is not None and request.by != te.LEAD else ""

    def _refused(self, member: Member, request: str) -> str:
        """Return the task's own request id, also if that request had joined another."""
        seat = self._seat_of(member)
        joined = seat is not None and seat.request and seat.request not in self._team.requests
        return seat.request if seat is not None and joined else request

    # --- from the tasks to the team -----------------------------------------------------------------------

    def _carry_out(self, effect: PhaseEffect | TaskEffect) -> None:
        match effect:
            case Note():
                self._out.entries.append(effect)
            case ev.Spawn():
                self._spawn(effect)
            case ev.StandDown():
                self.apply_to_team(effect)
            case ev.ChangesRequested():
                # The done signal had set the listed task to in_review. List it again with its real status.
                self.apply_to_team(effect)
                task = self._task_of(effect.key)
                self._shown |= {task.id} if task is not None else set()
            case te.Escalate():
                self.apply_to_team(ev.RefusedForGood(effect.key, effect.reason))
            case te.Merge():
                data: dict[str, object] = {"tag": effect.commit, "commit": effect.commit}
                data["branch"] = self._run.crew.integration
                self._act(ActKind.MERGE, effect.task, effect.attempt, data)
            case te.AskReview():
                tag = f"{effect.key}:{effect.commit}"
                data = {"tag": tag, "key": effect.key, "commit": effect.commit}
                self._act(ActKind.ASK_REVIEW, effect.task, effect.attempt, data)
            case pe.RunGate():
                crew, gates = self._run.crew, asdict(effect.gates)
                self._act(ActKind.RUN_GATE, "", effect.attempt, {
                    "tag": effect.gate, "branch": crew.integration, "base": crew.base, "gates": gates,
                })  # fmt: skip
            case pe.CleanUp():
                self._clean_up(effect)
            case SetStatus():
                self._shown.add(effect.task)  # as it is at the end of the step

    def _act(self, kind: ActKind, about: str, epoch: int, data: dict[str, object]) -> None:
        self._out.acts.append(Act(kind, about, epoch, data))

    def _spawn(self, order: ev.Spawn) -> None:
        """Start a member for a seat. At a usage limit the order is kept for `_start_held`."""
        if limited := limited_by(self._team):
            self._out.note("held", order.name, task=order.task, limited=limited)
            return
        task_id = str(order.task)
        member, why = self._start(order)
        if member is None:
            self._apply_to_task(task_id, te.SpawnRefused(order.name, why))
            return
        task = self._run.tasks[task_id]
        seat = next(seat for seat in task.seats if seat.name == member.name)
        self._out.starts.append(PrepareStart(member.key, task, seat.follows))
        self._apply_to_task(task_id, te.Spawned(order.name, member.key))

    def _start(self, order: ev.Spawn) -> tuple[Member | None, str]:
        """Return the new incarnation, or None and the reason."""
        before, count = self._team.generations.get(order.name, 0), len(self._out.happened)
        self.apply_to_team(order)
        member = self._team.latest(order.name)
        if member is not None and member.generation != before:
            return member, ""
        refusals = (e for e in self._out.happened[count:] if isinstance(e, hp.Refused))
        return None, next((e.why for e in refusals), "refused")

    def _clean_up(self, order: pe.CleanUp) -> None:
        if self._team.status is not Status.SHUTDOWN:
            request_id = f"{self._team.id}-cleanup-{order.attempt}-{order.tries}"
            self.apply_to_team(ev.StandDown(request_id, None, "Run complete", by=te.LEAD))

    def _require_merged(self, task: Task) -> None:
        """Count later commits of its worker as unsaved: they were not reviewed."""
        if task.worker is not None and task.worker.key is not None and self._run.crew.require_merged:
            self._out.merged_only.append(task.worker.key)

    # --- cycling outside a run ----------------------------------------------------------------------------

    def _follow(self, last: Member) -> None:
        """Order the successor of a cycled member. The start is refused while the team is stood down."""
        if last.cycled:
            successor, _ = self._start(ev.Spawn(last.name, last.role, last.task, by=last.cycle_by))
            if successor is not None:
                self._out.starts.append(PrepareStart(successor.key, None, last.key))

    # --- what follows from everything together ------------------------------------------------------------

    def _begin_next(self) -> bool:
        if self._team.draining or self._team.status is Status.SHUTDOWN:
            return False
        # One at a time: beginning a task changes slots and names for the next.
        for task_id, begin in may_start(self._run, roster_of(self._team), self._policy).items():
            self._apply_to_task(task_id, begin)
            return True
        return False

    def _ask_again(self) -> bool:
        """Repeat a task's request that had joined another one, if that one was refused."""
        for seat in (seat for task in self._run.tasks.values() for seat in task.seats):
            if seat.request and seat.presence is Presence.HERE and self._is_free(seat.key):
                self.apply_to_team(stand_down_order(seat))
                return not self._is_free(seat.key)
        return False

    def _is_free(self, key: str | None) -> bool:
        member = self._team.members.get(key or "")
        return member is not None and member.state in ASKABLE and member.request is None

    def _start_held(self) -> bool:
        """Make a start that a usage limit held back, or drop it if the task no longer needs it."""
        for task in self._run.tasks.values():
            held = next((seat for seat in task.seats if seat.presence is Presence.ORDERED), None)
            if held is None:
                continue
            if task.state is TaskState.STANDING_DOWN or self._team.status is Status.SHUTDOWN:
                why = "it was held by a usage limit, and is no longer wanted"
                self._apply_to_task(task.id, te.SpawnRefused(held.name, why))
                return True
            if limited_by(self._team) is None and not self._team.draining:
                self._spawn(spawn_order(task, held))
                return True
        return False

    def _block_if_nothing_moves(self) -> None:
        why = stalled(self._run, roster_of(self._team), self._policy)
        # An open escalation is not a standstill: a person may decide it at any time.
        undecided = any(e.state in UNDECIDED for e in self._team.escalations.values())
        if why is not None and not undecided and not moves_by_itself(self._team):
            self.apply_to_run(pe.NothingMoves(self._now, why))

    def _end_cleanup(self) -> None:
        """End the cleanup of the run with the result of the team's own stand-down.

        It waits for the decision about an escalated member: another try would only find the same.
        """
        while self._run.state is PhaseState.CLEANING_UP:
            tries = len(self._run.cleanups) + 1
            if self._team.status is Status.SHUTDOWN:
                detail = "; ".join(self._team.warnings)
                ended = pe.CleanupEnded(self._now, self._run.attempt, tries, not detail, detail)
            elif self._team.status is Status.STUCK:
                alive, why = tuple(m.name for m in self._team.live()), "the team is stuck"
                ended = pe.CleanupEnded(self._now, self._run.attempt, tries, False, why, alive)
            else:
                return
            self.apply_to_run(ended)

    def _list_tasks(self) -> None:
        """List tasks as they are at the end of the step, if they changed or were requested."""
        before = self._before.run.tasks if self._before.run is not None else {}
        for task in self._run.tasks.values():
            old = before.get(task.id)
            if task.id in self._shown or old is None or listed(old) != listed(task):
                self._out.listed.append(listed(task))


def roster_of(team: Team) -> Roster:
    """Return the workers and reviewers of a run, and which of them are there."""
    assert team.run is not None
    members: Iterable[Member] = team.members.values()
    return Roster(
        workers=team.run.crew.workers,
        reviewers=team.run.crew.reviewers,
        unavailable=frozenset(m.name for m in members if not m.settled),
        alive=sum(m.live for m in members),
        limited=limited_by(team),
    )


def moves_by_itself(team: Team) -> bool:
    """Return whether a member of a task is working or leaving, so that the run continues by itself."""
    return any(member.task and not member.ended for member in team.members.values())
