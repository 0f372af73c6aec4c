"""Every reachable state of a small run: its team, its tasks and its phase together, by the one law `step`.

    python -m tests.support.run_explorer                       every variant, whole
    python -m tests.support.run_explorer --variant review      one of them
    python -m tests.support.run_explorer --states 20000        a slice of each

The team's own explorer (`explorer.py`) visits members without a run. Here a state is a team with its run, in
a normal form (`run_normal.py`), with what an observer remembers. In each state every event is tried that the
world, the members and people can bring about. Every invariant is checked on every step, and from every state
the run must come to rest (`run_laws.py`). The whole is explored breadth first, so the way to a violation is a
shortest one. A slice takes the next state at random, by a fixed seed, so that it goes deep.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing import get_context

from headcount.domain.policy import Policy
from headcount.domain.settings import Gates
from headcount.protocol import events as ev
from headcount.protocol import phase_events as pe
from headcount.protocol import task_events as te
from headcount.protocol.member import Member
from headcount.protocol.phase import Crew, Phase
from headcount.protocol.phase import State as PhaseState
from headcount.protocol.step import step
from headcount.protocol.task import State as TaskState
from headcount.protocol.task import Task
from headcount.protocol.team import Status, Team
from tests.support.invariants import I4_the_next_task_waits, check
from tests.support.onlooker import Step, Violation, remember
from tests.support.possible import Choices, possible_for
from tests.support.run_laws import NOON, TEMPERS, check_rest, check_run, next_event, update
from tests.support.run_normal import Ledger, Situation, key_of, normal
from tests.support.window import watched

AnyEvent = ev.Event | pe.PhaseEvent

FRESH = "fresh"  # a commit that no task has seen
GATES = {PhaseState.VERIFYING: "verification", PhaseState.MEASURING: "complexity"}
_POLICY = Policy(
    max_attempts=1, max_waits=1, review_rounds=1, task_restarts=1, tasks_at_once=1, max_members=4
)
_OFTEN = 20_000


@dataclass(frozen=True, slots=True)
class Variant:
    """A crew, its tasks, and what people and members do besides the work."""

    name: str
    about: str
    tasks: tuple[Task, ...] = (Task("1"),)
    workers: tuple[str, ...] = ("ada",)
    reviewers: tuple[tuple[str, str], ...] = ()
    policy: Policy = _POLICY
    people: frozenset[str] = frozenset()  # of abort, retry, down, force, name, cycle
    limits: bool = False
    left_out: tuple[type, ...] = ()


_TWO = (Task("1"), Task("2"))
_SPEC = (("spec-reviewer", "spec"),)
_ENDED = frozenset(("abort", "retry", "down"))
_SHORT = replace(_POLICY, review_rounds=0, task_restarts=0)
_CALM = (ev.NotEmpty, ev.SalvageFailed)

VARIANTS = (
    Variant("alone", "one worker, no reviewer; aborted, retried, stood down", people=_ENDED),
    Variant("forced", "one worker, stood down by name or force", people=frozenset(("force", "name", "down"))),
    Variant("cycled", "one worker that is cycled, or stood down", people=frozenset(("cycle", "down"))),
    Variant(
        "limited", "a worker and a reviewer, with usage limits", reviewers=_SPEC, limits=True, policy=_SHORT,
        left_out=_CALM,
    ),
    Variant(
        "policy", "two workers; the policy decides escalations", (Task("1"), Task("2", ("1",))),
        ("ada", "ben"), policy=replace(_SHORT, on_escalation="force-kill"),
    ),
    Variant("handed", "two workers; decisions hand tasks over", _TWO, ("ada", "ben"), left_out=_CALM),
    Variant("review", "a worker and a reviewer", reviewers=_SPEC, left_out=_CALM),
    Variant(
        "ended", "a worker and a reviewer; aborted, retried, stood down", reviewers=_SPEC, people=_ENDED,
        policy=_SHORT, left_out=(*_CALM, ev.TimedOut),
    ),
)  # fmt: skip


def first_team(variant: Variant) -> Team:
    crew = Crew(variant.workers, variant.reviewers, "integration", "c0")
    opened = pe.RunOpened(NOON, variant.tasks, Gates(verify="make"), crew)
    team, _ = step(Team("t"), opened, variant.policy)
    return team


# --- what may happen next ----------------------------------------------------------------------------------


def possible(team: Team, variant: Variant) -> Iterator[AnyEvent]:
    if team.status is Status.SHUTDOWN:
        return
    for event in _everything(team, variant):
        if not isinstance(event, variant.left_out):
            yield event


def _everything(team: Team, variant: Variant) -> Iterator[AnyEvent]:
    run = team.run
    assert run is not None
    yield from _of_people(team, run, variant)
    yield from _of_the_run(run)
    if team.close_step is not None:
        yield ev.StepEnded(team.close_step, team.close_epoch, True)
        yield ev.StepEnded(team.close_step, team.close_epoch, False, "busy")
        yield ev.TimedOut(None, team.close_epoch)
    choices = Choices(idle=False, limits=variant.limits)
    for member in team.members.values():
        for event in possible_for(member, team, variant.policy, choices):
            yield from _with_commits(event, member, run)
        yield from _verdicts(member, run)


def _of_people(team: Team, run: Phase, variant: Variant) -> Iterator[AnyEvent]:
    wanted = variant.people
    asked = team.team_request()
    if "abort" in wanted and not run.aborted:
        yield pe.AbortRun(NOON, "enough", "operator")
    if "retry" in wanted and run.state is PhaseState.BLOCKED:
        yield pe.RetryRun(NOON, run.attempt)
    if "down" in wanted and (asked is None or any(m.stuck for m in team.members.values())):
        yield ev.StandDown("r-team")
    if "force" in wanted and (asked is None or not asked.force):
        yield ev.StandDown("r-force", force=True)
    if asked is None:
        for member in team.members.values():
            if "name" in wanted:
                yield ev.StandDown("r-named", (member.name,))
            if "cycle" in wanted:
                yield ev.StandDown("r-cycle", (member.name,), cycling=True)


def _of_the_run(run: Phase) -> Iterator[AnyEvent]:
    if run.state in GATES:
        for verdict in ("passed", "failed", "not_run"):
            yield pe.GateEnded(NOON, GATES[run.state], run.attempt, verdict, "seen")
    for task in run.tasks.values():
        if task.state is TaskState.MERGING:
            for result in (
                te.Merged(task.attempt, task.commit),
                te.Conflicted(task.attempt, task.commit, ("a file",)),
                te.MergeFailed(task.attempt, task.commit, "disk full"),
            ):
                yield pe.TaskHappened(NOON, task.id, result)


def _with_commits(event: ev.Event, member: Member, run: Phase) -> Iterator[AnyEvent]:
    """Where a workspace is read: nothing was committed, something new, or what was sent back."""
    task = run.tasks.get(member.task or "")
    works = task is not None and member.role == "worker"
    match event:
        case ev.Inspected(clean=True, spotless=True) if works and task is not None:
            yield event
            yield replace(event, head=FRESH, commits=1)
            if task.sent_back:
                yield replace(event, head=task.sent_back, commits=1)
        case ev.Inspected(clean=True) if member.role == "worker":
            yield replace(event, head=FRESH, commits=1)
        case ev.Saved() if works:
            yield event
            yield replace(event, ref=None, head=FRESH, commits=1)
        case ev.LastRead(ok=True):
            yield replace(event, head=member.head, commits=member.commits)
        case ev.Exited():
            yield replace(event, code=0)
            yield replace(event, code=1)
        case _:
            yield event


def _verdicts(member: Member, run: Phase) -> Iterator[AnyEvent]:
    task = run.tasks.get(member.task or "")
    if task is None or member.role == "worker" or not member.live or not task.commit:
        return
    for verdict in ("pass", "changes"):
        yield ev.Reviewed(member.key, task.id, verdict, "words", task.commit)
    yield ev.Reviewed(member.key, task.id, "pass", "", "another")


# --- the exploration ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class Report:
    variant: str
    states: int = 0
    steps: int = 0
    whole: bool = False
    seconds: float = 0.0
    ends: dict[str, int] = field(default_factory=dict)
    rows: set[tuple[str, str]] = field(default_factory=set)  # of the task's and the phase's table, as taken

    def __str__(self) -> str:
        ends = ", ".join(f"{count:,} {name}" for name, count in sorted(self.ends.items()))
        extent = "all" if self.whole else "the first"
        return (
            f"{self.variant:8} {extent} {self.states:,} states, {self.steps:,} steps "
            f"in {self.seconds:.0f} s; runs ended: {ends}"
        )


class Explorer:
    def __init__(self, variant: Variant, story: Sequence[AnyEvent] = ()) -> None:
        """From the first state, or from where a story leads; all epochs are 1 there."""
        self.variant = variant
        self.report = Report(variant.name)
        self._known: dict[object, int] = {}
        self._situations: dict[int, Situation] = {}
        self._parents: list[int] = []
        self._events: list[AnyEvent | None] = []
        self._ahead: deque[int] = deque()
        # For each temper: where each state leads if people do nothing more, or -1 where nothing follows.
        self._leads: list[dict[int, int]] = [{} for _ in TEMPERS]
        first = normal(first_team(variant), {}, Ledger())
        for event in story:
            first = self._take(-1, first, event)
        self._add(first, -1, None)

    def run(self, max_states: int | None = None, tell: Callable[[Report], object] | None = None) -> Report:
        report, began = self.report, time.perf_counter()
        rng = random.Random(1)
        while self._ahead and (max_states is None or report.states < max_states):
            if max_states is not None:
                self._ahead.rotate(rng.randrange(len(self._ahead)))
            self._explore(self._ahead.popleft())
            if tell is not None and report.states % _OFTEN == 0:
                report.seconds = time.perf_counter() - began
                tell(report)
        report.whole = not self._ahead
        self._check_all_come_to_rest()
        report.seconds = time.perf_counter() - began
        return report

    def _explore(self, state: int) -> None:
        here, report = self._situations[state], self.report
        report.states += 1
        ways: dict[AnyEvent, int] = {}
        for event in possible(here.team, self.variant):
            ways[event] = self._add(self._take(state, here, event), state, event)
        report.steps += len(ways)
        self._lead_on(state, ways)
        run = here.team.run
        if run is not None and run.state in (PhaseState.COMPLETE, PhaseState.BLOCKED):
            report.ends[run.state] = report.ends.get(run.state, 0) + 1
        del self._situations[state]

    def _take(self, state: int, here: Situation, event: AnyEvent) -> Situation:
        try:
            steps: list[Step] = []
            with watched(steps):
                after, ready = step(here.team, event, self.variant.policy)
            seen = dict(here.seen)
            for inner in steps:
                seen = remember(seen, inner)
                check(inner, seen)
                for problem in I4_the_next_task_waits(inner, seen, self.variant.policy.tasks_at_once):
                    raise Violation(f"I4_the_next_task_waits: {problem}")
            taken = Step(here.team, event, after, ready)  # type: ignore[arg-type]
            ledger = update(here.ledger, taken)
            check_run(taken, seen, here.ledger, ledger)
        except Exception as problem:
            raise Violation(f"{problem}\nafter:\n  {self._story(state, event)}") from problem
        for note in ready.entries:
            if note.kind in ("task_moved", "phase_moved"):
                self.report.rows.add((str(note.data["from"]), str(note.data["cue"])))
        return normal(after, seen, ledger)

    # --- from each state everything comes to rest

    def _lead_on(self, state: int, ways: Mapping[AnyEvent, int]) -> None:
        here = self._situations[state]
        for temper, leads in zip(TEMPERS, self._leads, strict=True):
            event = next_event(here.team, temper, self.variant.policy)
            if event is None:
                leads[state] = -1
                if problem := check_rest(here.team, temper):
                    raise Violation(f"{problem}, {temper}\nafter:\n  {self._story(state)}")
            else:
                known = ways.get(event)
                leads[state] = (
                    self._add(self._take(state, here, event), state, event) if known is None else known
                )

    def _check_all_come_to_rest(self) -> None:
        """A way to rest may lead out of the slice that was explored."""
        for leads in self._leads:
            ends = {-1}
            for state in reversed(list(leads)):
                way = [state]
                while (following := leads[way[-1]]) not in ends:
                    if following in way:
                        raise Violation(f"it goes round and round\nafter:\n  {self._story(following)}")
                    if following not in leads:
                        self._lead_on(following, {})
                    way.append(following)
                ends.update(way)

    def _add(self, situation: Situation, parent: int, event: AnyEvent | None) -> int:
        key = key_of(situation)
        if key in self._known:
            return self._known[key]
        state = self._known[key] = len(self._parents)
        self._situations[state] = situation
        self._parents.append(parent)
        self._events.append(event)
        self._ahead.append(state)
        return state

    def _story(self, state: int, *more: AnyEvent) -> str:
        events: list[AnyEvent] = []
        while state >= 0:
            event = self._events[state]
            events += [event] if event is not None else []
            state = self._parents[state]
        return "\n  ".join(map(str, [*reversed(events), *more]))


def explore(
    variant: Variant, max_states: int | None = None, tell: Callable[[Report], object] | None = None
) -> Report:
    return Explorer(variant).run(max_states, tell)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.run_explorer",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--states", type=int, help="stop each variant after so many states")
    parser.add_argument("--variant", choices=[v.name for v in VARIANTS], action="append")
    parser.add_argument("--jobs", type=int, default=2, help="variants at once")
    options = parser.parse_args(argv)
    chosen = [v for v in VARIANTS if not options.variant or v.name in options.variant]
    states = steps = 0
    with get_context("spawn").Pool(options.jobs) as pool:
        reports = pool.imap(_explore_one, [(v, options.states) for v in chosen])
        for variant, report in zip(chosen, reports, strict=True):
            if isinstance(report, str):
                print(f"{variant.name}: {report}")
                return 1
            states, steps = states + report.states, steps + report.steps
            print(f"{report}  ({variant.about})", flush=True)
    print(f"{states:,} states, {steps:,} steps; no violation")
    return 0


def _explore_one(job: tuple[Variant, int | None]) -> Report | str:
    try:
        return explore(*job, tell=lambda report: print(report, file=sys.stderr, flush=True))
    except Violation as problem:
        return str(problem)


if __name__ == "__main__":
    sys.exit(main())
