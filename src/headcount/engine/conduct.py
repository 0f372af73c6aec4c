"""The lead's loop: what happens to members becomes what happens to tasks, and back, in one transaction.

    the team's step ──notes──→ task events ──→ step_phase ──orders──→ the team's step …

A team that runs tasks has a *phase*, stored as a fact beside it. Whatever the team's rules decided in this
transaction is translated for the tasks' rules; what those order (start a worker, stand three down, send back)
is heard by the team's rules at once. So a crash sees both or neither, and nothing is ever ordered twice.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headcount.domain import prompts
from headcount.engine.succession import (
    is_cycled,
    open_handover,
    seat_desk,
    take_workspace,
    with_handover,
)
from headcount.engine.writing import first_mail, utc_now
from headcount.protocol import events as ev
from headcount.protocol import phase_events as pe
from headcount.protocol import task_events as te
from headcount.protocol.effects import Act, ActKind, Note
from headcount.protocol.member import State as MemberState
from headcount.protocol.phase import State as PhaseState
from headcount.protocol.phase import step_phase
from headcount.protocol.phase_codec import phase_as_json, phase_from_json
from headcount.protocol.schedule import Roster, may_start, stalled
from headcount.protocol.shutdown import ASKABLE
from headcount.protocol.step import step
from headcount.protocol.task import Presence
from headcount.protocol.task import State as TaskState
from headcount.protocol.task_turn import listed, spawn_order, stand_down_order
from headcount.protocol.team import Status, limited_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TypeAlias

    from headcount.domain.policy import Policy
    from headcount.ports import Tx
    from headcount.protocol.effects import Effect
    from headcount.protocol.member import Member
    from headcount.protocol.phase import Phase
    from headcount.protocol.task import Seat
    from headcount.protocol.team import Team

_OVER = (PhaseState.COMPLETE, PhaseState.BLOCKED)
PHASE = "phase"
ROSTER = "roster"

if TYPE_CHECKING:
    # (team, member, how it is to be started) -> its `start` fact; chosen in `app`
    MakeStart: TypeAlias = Callable[[Team, Member, Mapping[str, Any]], Mapping[str, Any]]
    _Translated: TypeAlias = Iterable[tuple[str, te.TaskEvent]]


class Conductor:
    """One transaction of a run. `effects` grows; each is looked at once."""

    def __init__(
        self, tx: Tx, team: Team, effects: list[Effect], policy: Policy, make_start: MakeStart
    ) -> None:
        raw = tx.fact(team.id, "", PHASE)
        assert raw is not None
        self._tx = tx
        self.team = team
        self.effects = effects
        self._policy = policy
        self._make_start = make_start
        self._stored = phase_from_json(raw)
        self.phase: Phase = self._stored
        self._roster: Mapping[str, Any] = tx.fact(team.id, "", ROSTER) or {}
        self._looked_at = 0

    def conduct(self, happened: Iterable[pe.PhaseEvent]) -> None:
        """Go on until nothing follows any more, then store the phase."""
        for event in happened:
            self._hear(event)
            if isinstance(event, pe.TaskHappened) and isinstance(event.event, te.Merged):
                self._require_merged(event.task)
        while self._translate_next() or self._ask_again() or self._start_held() or self._begin_next():
            pass
        self._look_at_cleanup()
        if self.team.status is Status.SHUTDOWN and self.phase.state not in _OVER:
            # Somebody stood the team down under the run. Nothing of it will go on, not even a merge.
            self._hear(pe.AbortRun(utc_now(), "the team was stood down"))
            if self.phase.state is PhaseState.TASKS:
                self._hear(pe.NothingMoves(utc_now(), "the team was stood down"))
        why = stalled(self.phase, self._who_is_there(), self._policy)
        if why is not None and not self._somebody_decides() and not moves_by_itself(self.team):
            self._hear(pe.NothingMoves(utc_now(), why))
        if self.phase is not self._stored:
            self._tx.put_fact(self.team.id, "", PHASE, phase_as_json(self.phase))

    def order(self, effects: Iterable[object]) -> None:
        """Carry out what the phase's rules want, in its order."""
        for effect in effects:
            _ORDERS[type(effect)](self, effect)

    def _hear(self, event: pe.PhaseEvent) -> None:
        self.phase, effects = step_phase(self.phase, event, self._policy)
        self.order(effects)

    def _task_hears(self, task_id: str, event: te.TaskEvent) -> None:
        self._hear(pe.TaskHappened(utc_now(), task_id, event))

    def _team_hears(self, event: ev.Event) -> None:
        self.team, effects = step(self.team, event, self._policy)
        self.effects.extend(effects)

    # --- from the team to its tasks -----------------------------------------------------------------------

    def _translate_next(self) -> bool:
        if self._looked_at >= len(self.effects):
            return False
        effect = self.effects[self._looked_at]
        self._looked_at += 1
        if isinstance(effect, Note) and effect.kind in _TRANSLATE:
            for key, event in _TRANSLATE[effect.kind](self, effect):
                task = self._task_of(key)
                if task is not None:
                    self._task_hears(task, event)
        return True

    def _task_of(self, key: str) -> str | None:
        member = self.team.members.get(key)
        return member.task if member is not None and member.task in self.phase.tasks else None

    def _require_merged(self, task_id: str) -> None:
        """From here on a commit of its worker that is not merged is one that nobody reviewed."""
        worker = self.phase.tasks[task_id].worker
        if worker is not None and worker.key is not None and self._roster["require_merged"]:
            start = self._tx.fact(self.team.id, worker.key, "start") or {}
            self._tx.put_fact(self.team.id, worker.key, "start", {**start, "require_merged": True})

    def head_of(self, key: str) -> tuple[str, int]:
        """The commit that its workspace stood at when it was last read, and how many are its own."""
        findings = self._tx.fact(self.team.id, key, "findings") or {}
        return str(findings.get("head") or ""), int(findings.get("commits_ahead") or 0)

    def is_cycled(self, member: Member) -> bool:
        return is_cycled(self._tx, self.team, member)

    def seat_of(self, member: Member) -> Seat | None:
        task = self.phase.tasks.get(member.task or "")
        return task.seat(member.key) if task is not None else None

    def finished(self, member: Member) -> bool:
        """A plain program knows no done signal: that it ended well and left nothing lying about is one."""
        ended = self._tx.fact(self.team.id, member.key, "exit") or {}
        return member.already_gone and not member.refs and ended.get("code") == 0

    # --- from the tasks to the team -----------------------------------------------------------------------

    def spawn(self, order: ev.Spawn) -> None:
        """At a usage limit it stays ordered, and is started when the limit is over (`_start_held`)."""
        if limited := limited_by(self.team):
            self.effects.append(Note("held", order.name, {"task": order.task, "limited": limited}))
            return
        before = self.team.generations.get(order.name, 0)
        count = len(self.effects)
        self._team_hears(order)
        member = self.team.latest(order.name)
        if member is None or member.generation == before:
            refusals = (e for e in self.effects[count:] if isinstance(e, Note) and e.kind == "refused")
            why = next((str(e.data["why"]) for e in refusals), "refused")
            self._task_hears(str(order.task), te.SpawnRefused(order.name, why))
            return
        self._prepare(member)
        self._task_hears(str(order.task), te.Spawned(order.name, member.key))

    def _prepare(self, member: Member) -> None:
        """What the engine needs to start it: the definition's plan for its name, with this task in it."""
        task = self.phase.tasks[str(member.task)]
        about = self._roster["tasks"][task.id]
        plan = dict(self._roster["plans"][self._plan_name(member)])
        plan["model"] = plan.get("model") or about.get("model")
        seat = next(seat for seat in task.seats if seat.name == member.name)
        if member.role == "worker":
            # What whoever worked on it before has left; else what has been merged so far.
            base = task.base or self._roster["integration"]
            plan.update(base=base, prompt=prompts.for_worker(plan["prompt"], task, about))
        else:
            prompt = prompts.for_reviewer(plan["prompt"], task, about, seat)
            plan.update(base=task.commit, detached=True, prompt=prompt)
            self._tx.put_fact(self.team.id, member.key, "reviewing", {"commit": task.commit})
        note = open_handover(self._tx, self.team.id, seat_desk(task.id, seat.role, seat.name))
        plan["prompt"] = with_handover(plan["prompt"], note)
        if seat.follows:
            take_workspace(self._tx, self.team, seat.follows, member)
        self._tx.put_fact(self.team.id, member.key, "start", self._make_start(self.team, member, plan))
        self.effects.append(first_mail(member, str(plan["prompt"])))

    def _plan_name(self, member: Member) -> str:
        """A reviewer that stands in for another (`spec-2`) is started like the one that it stands in for."""
        plans = self._roster["plans"]
        if member.name in plans:
            return member.name
        return str(next(name for role, name in self._roster["reviewers"] if role == member.role))

    def stand_down(self, order: ev.StandDown) -> None:
        self._team_hears(order)

    def send_back(self, order: ev.ChangesRequested) -> None:
        """Its done signal had put the task into review on the list, which nothing else takes back."""
        self._team_hears(order)
        task = self._task_of(order.key)
        if task is not None:
            self._show_on_list(task)

    def escalate(self, order: te.Escalate) -> None:
        self._team_hears(ev.RefusedForGood(order.key, order.reason))

    def set_status(self, order: te.SetStatus) -> None:
        self._show_on_list(order.task)

    def _show_on_list(self, task_id: str) -> None:
        """As it stands now. An order that was given before this one (a start) may have moved the task on, and
        was carried out with all that follows: what this one says is older, and would take its owner away."""
        now = listed(self.phase.tasks[task_id])
        for task in self._tx.tasks(self.team.id):
            if task.id == task_id:
                self._tx.save_task(replace(task, status=now.status, owner=now.owner, reason=now.reason))

    def merge(self, order: te.Merge) -> None:
        branch = self._roster["integration"]
        data = {"tag": order.commit, "commit": order.commit, "branch": branch}
        self.effects.append(Act(ActKind.MERGE, order.task, order.attempt, data))

    def ask_review(self, order: te.AskReview) -> None:
        about = self._roster["tasks"][order.task]
        text = prompts.another_round(self.phase.tasks[order.task], about)
        tag = f"{order.key}:{order.commit}"
        data: dict[str, object] = {"tag": tag, "key": order.key, "commit": order.commit, "text": text}
        self.effects.append(Act(ActKind.ASK_REVIEW, order.task, order.attempt, data))

    def run_gate(self, order: pe.RunGate) -> None:
        data: dict[str, object] = {
            "tag": order.gate,
            "branch": self._roster["integration"],
            "base": self._roster["base"],
            "gates": {name: getattr(order.gates, name) for name in _GATE_FIELDS},
        }
        self.effects.append(Act(ActKind.RUN_GATE, "", order.attempt, data))

    def clean_up(self, order: pe.CleanUp) -> None:
        if self.team.status is not Status.SHUTDOWN:
            request_id = f"{self.team.id}-cleanup-{order.attempt}-{order.tries}"
            self._team_hears(ev.StandDown(request_id, None, "Run complete", by="lead"))

    def note(self, note: Note) -> None:
        self.effects.append(note)

    # --- what follows from everything together ------------------------------------------------------------

    def _who_is_there(self) -> Roster:
        return who_is_there(self.team, self._roster)

    def _begin_next(self) -> bool:
        if self.team.draining or self.team.status is Status.SHUTDOWN:
            return False
        for task_id, begin in may_start(self.phase, self._who_is_there(), self._policy).items():
            self._task_hears(task_id, begin)
            return True
        return False

    def _ask_again(self) -> bool:
        """A task's request that had joined the team's went with that when somebody else refused it."""
        for seat in (seat for task in self.phase.tasks.values() for seat in task.seats):
            if seat.request and seat.presence is Presence.HERE and self._is_free(seat.key):
                self._team_hears(stand_down_order(seat))
                return not self._is_free(seat.key)
        return False

    def _is_free(self, key: str | None) -> bool:
        member = self.team.members.get(key or "")
        return member is not None and member.state in ASKABLE and member.request is None

    def _start_held(self) -> bool:
        """Whoever was ordered during a usage limit; or nobody any more, where its task wants nobody."""
        for task in self.phase.tasks.values():
            held = next((seat for seat in task.seats if seat.presence is Presence.ORDERED), None)
            if held is None:
                continue
            if task.state is TaskState.STANDING_DOWN or self.team.status is Status.SHUTDOWN:
                why = "it was held by a usage limit, and is no longer wanted"
                self._task_hears(task.id, te.SpawnRefused(held.name, why))
                return True
            if limited_by(self.team) is None and not self.team.draining:
                self.spawn(spawn_order(task, held))
                return True
        return False

    def _somebody_decides(self) -> bool:
        return any(e.state in ("open", "parked") for e in self.team.escalations.values())

    def _look_at_cleanup(self) -> None:
        """The team's own end is the cleanup's result; a team that waits for a decision has not ended yet."""
        while self.phase.state is PhaseState.CLEANING_UP:
            tries = len(self.phase.cleanups) + 1
            if self.team.status is Status.SHUTDOWN:
                detail = "; ".join(self.team.warnings)
                self._hear(pe.CleanupEnded(utc_now(), self.phase.attempt, tries, not detail, detail))
            elif self.team.status in (Status.ESCALATED, Status.STUCK):
                alive = tuple(m.name for m in self.team.live())
                why = f"the team is {self.team.status}"
                self._hear(pe.CleanupEnded(utc_now(), self.phase.attempt, tries, False, why, alive))
            else:
                return


def who_is_there(team: Team, roster: Mapping[str, Any]) -> Roster:
    members = team.members.values()
    return Roster(
        workers=tuple(roster["workers"]),
        reviewers=tuple((role, name) for role, name in roster["reviewers"]),
        unavailable=frozenset(m.name for m in members if not m.settled),
        alive=sum(m.live for m in members),
        limited=limited_by(team),
    )


def moves_by_itself(team: Team) -> bool:
    """Somebody of a task is at work, or on the way out: what follows from that comes without a decision."""
    return any(member.task and not member.ended for member in team.members.values())


_GATE_FIELDS = ("verify", "max_file_lines", "max_function_lines", "max_total_lines")

_ORDERS: dict[type, Callable[[Conductor, Any], None]] = {
    ev.Spawn: Conductor.spawn,
    ev.StandDown: Conductor.stand_down,
    ev.ChangesRequested: Conductor.send_back,
    te.Escalate: Conductor.escalate,
    te.SetStatus: Conductor.set_status,
    te.Merge: Conductor.merge,
    te.AskReview: Conductor.ask_review,
    pe.RunGate: Conductor.run_gate,
    pe.CleanUp: Conductor.clean_up,
    pe.Publish: lambda _, __: None,  # the mirror is written from the stored phase after every commit
    Note: Conductor.note,
}


def _verified(on: Conductor, note: Note) -> _Translated:
    """Clean after its own done signal. Whoever is clean because it was asked to leave has not said so."""
    if note.data["to"] == str(MemberState.VERIFIED):
        commit, commits = on.head_of(note.about)
        yield note.about, te.WorkVerified(note.about, commit, commits)


def _left(on: Conductor, note: Note) -> _Translated:
    member = on.team.members[note.about]
    commit, commits = on.head_of(note.about)
    salvage = member.refs[-1] if member.refs else None
    outcome = "stuck" if member.stuck else "clean" if on.finished(member) else member.outcome
    cycled = on.is_cycled(member)
    by = "" if cycled else _stood_down_by(on, member)
    yield note.about, te.MemberLeft(note.about, outcome, salvage, commit, commits, by, cycled)


def _stood_down_by(on: Conductor, member: Member) -> str:
    """Who, if it was not the task itself that wanted it gone."""
    seat = on.seat_of(member)
    if member.request is None or (seat is not None and seat.request == member.request):
        return ""
    request = on.team.requests.get(member.request)
    return request.by if request is not None and request.by != "lead" else ""


def _escalated(on: Conductor, note: Note) -> _Translated:
    """Not when a policy has decided it in the same step: it is being stopped, and holds its slot (I4)."""
    if on.team.members[note.about].state is not MemberState.ESCALATED:
        return
    issues: Any = note.data["issues"]
    yield note.about, te.MemberEscalated(note.about, "; ".join(issues))


def _decided(on: Conductor, note: Note) -> _Translated:
    if note.data["decision"] in ("wait", "human"):  # it is at work again, with a person's help or without
        yield note.about, te.MemberBack(note.about)
    elif note.data["decision"] == "reassign":
        yield note.about, te.Reassigned(note.about, str(note.data["by"]))


def _rejected(on: Conductor, note: Note) -> _Translated:
    rejections: Any = note.data["rejected_by"]
    for name, reason in rejections:
        member = on.team.latest(name)
        if member is not None:
            yield member.key, te.Refused(member.key, _refused_request(on, member, note), reason)


def _refused_request(on: Conductor, member: Member, note: Note) -> str:
    """The task's own, also where that had joined another: somebody was cycling it, or standing it down."""
    seat = on.seat_of(member)
    joined = seat is not None and seat.request and seat.request not in on.team.requests
    return seat.request if seat is not None and joined else str(note.data["request"])


def _reviewed(on: Conductor, note: Note) -> _Translated:
    said = note.data
    yield note.about, te.Reviewed(note.about, str(said["commit"]), str(said["verdict"]), str(said["words"]))


_TRANSLATE: dict[str, Callable[[Conductor, Note], _Translated]] = {
    "moved": _verified,
    "gone": _left,
    "stuck": _left,
    "escalated": _escalated,
    "decided": _decided,
    "rejected": _rejected,
    "reviewed": _reviewed,
}
