"""Every state that a task can get into, with a world beside it that remembers what really happened.

The checks read the world, never the task's own account of itself: who was started, who is there, which
verdicts came from whom for which commit, what was merged.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from headcount.domain.policy import Policy
from headcount.protocol import task_events as te
from headcount.protocol.events import ChangesRequested, Spawn, StandDown
from headcount.protocol.task import ENDS, Presence, State, Task
from headcount.protocol.task_step import step_task

if TYPE_CHECKING:
    from collections.abc import Iterator

POLICY = Policy(review_rounds=1, task_restarts=1)
REVIEWERS = (("spec-reviewer", "spec"), ("code-quality-reviewer", "quality"))
WORKERS = ("alice", "bob")
THERE = ("ordered", "here", "refusing")
OUTCOMES = ("already_gone", "forced", "stuck")


@dataclass(frozen=True)
class World:
    # name -> ordered, here, refusing, escalated, stuck, gone
    members: dict[str, str] = field(default_factory=dict)
    generations: dict[str, int] = field(default_factory=dict)
    asked: frozenset[str] = frozenset()  # keys with a request out
    requests: tuple[str, ...] = ()
    verified: frozenset[str] = frozenset()  # commits that a clean worker brought in this attempt
    verdicts: dict[tuple[str, str], str] = field(default_factory=dict)  # (key, commit) -> the first
    merged: frozenset[str] = frozenset()
    aborted: bool = False

    def key(self, name: str) -> str:
        return f"{name}#{self.generations[name]}"


class Broken(AssertionError):
    """A law does not hold; the trace is the shortest way to it."""


def explore(
    workers: tuple[str, ...], reviewers: tuple[tuple[str, str], ...], left_out: tuple[type, ...] = ()
) -> dict[Any, set[Any]]:
    """All states that one attempt can reach, breadth first; raises `Broken` where a law fails."""
    start = (Task("t"), World())
    graph: dict[Any, set[Any]] = {}
    seen = {canonical(*start)}
    front = [start]
    while front:
        following = []
        for task, world in front:
            if task.state in ENDS:
                continue
            here = graph.setdefault(canonical(task, world), set())
            for event in events(task, world, workers, reviewers):
                if isinstance(event, left_out):
                    continue
                after = advance(task, world, event)
                name = canonical(*after)
                here.add(name)
                if name not in seen:
                    seen.add(name)
                    following.append(after)
        front = following
    return graph


def canonical(task: Task, world: World) -> Any:
    """What decides the future: not which life of a member it is, nor how a commit is called."""
    alive = tuple(sorted((n, p) for n, p in world.members.items() if p != "gone"))
    if task.state in ENDS:
        return task.state, alive
    seats = tuple(
        (s.name, s.presence, s.verdict, bool(s.request), s.refusals, s.key is None) for s in task.seats
    )
    return (
        task.state, task.rounds, task.restarts, task.reassigned, bool(task.aborted), task.aim,
        bool(task.commit), bool(task.sent_back), task.commit in world.verified, seats, alive, world.aborted,
    )  # fmt: skip


def events(
    task: Task, world: World, workers: tuple[str, ...], reviewers: tuple[tuple[str, str], ...]
) -> Iterator[te.TaskEvent]:
    free = [name for name in workers if world.members.get(name, "gone") == "gone"]
    if free and all(world.members.get(name, "gone") == "gone" for _, name in reviewers):
        yield te.Begin(1, free[0], reviewers)
    yield te.Abort("enough")
    for name, presence in world.members.items():
        yield from _about(task, world, name, presence)
    if task.state is State.MERGING:
        yield te.Merged(task.attempt, task.commit)
        yield te.Conflicted(task.attempt, task.commit, ("a",))
        yield te.MergeFailed(task.attempt, task.commit, "disk")


def _about(task: Task, world: World, name: str, presence: str) -> Iterator[te.TaskEvent]:
    if presence == "ordered":
        yield te.Spawned(name, f"{name}#{world.generations.get(name, 0) + 1}")
        yield te.SpawnRefused(name, "full")
    if presence in ("ordered", "gone"):
        return
    key = world.key(name)
    fresh = f"c{task.attempt}{task.rounds}{task.restarts}"
    if presence == "here":
        if name in WORKERS:
            yield te.WorkVerified(key, fresh, 1)
            yield te.WorkVerified(key, task.sent_back or fresh, 1)
            yield te.WorkVerified(key, "none", 0)
        elif task.commit:
            yield te.Reviewed(key, task.commit, "pass")
            yield te.Reviewed(key, task.commit, "changes", "no")
            yield te.Reviewed(key, "another", "pass")
        yield te.MemberEscalated(key)
        if key in world.asked:
            yield te.Refused(key, next(r for r in reversed(world.requests) if f"/{key}/" in r))
    if presence == "refusing":  # it is escalated next, or a policy decides that at once, and it is stopped
        yield te.MemberEscalated(key)
    if presence == "escalated":
        yield te.MemberBack(key)
        yield te.Reassigned(key)
    if presence in ("here", "refusing", "escalated", "stuck"):
        for outcome in OUTCOMES:
            yield te.MemberLeft(key, outcome)
        yield te.MemberLeft(key, "clean", commit=fresh, commits=1)
        yield te.MemberLeft(key, "clean", by="operator")
        yield te.MemberLeft(key, "clean", commit=fresh, commits=1, cycled=True)
        yield te.MemberLeft(key, "forced", salvage="refs/s", cycled=True)


def advance(task: Task, world: World, event: te.TaskEvent) -> tuple[Task, World]:
    """One step of both, and the laws between them."""
    world = _happen(world, task, event)
    after, effects = step_task(task, event, POLICY)
    for effect in effects:
        world = _perform(world, after, effect, event)
    _check(task, after, world, event)
    return after, world


def _happen(world: World, task: Task, event: te.TaskEvent) -> World:
    match event:
        case te.Spawned(name=name):
            generation = {**world.generations, name: world.generations.get(name, 0) + 1}
            return replace(world, members={**world.members, name: "here"}, generations=generation)
        case te.SpawnRefused(name=name):
            return replace(world, members={**world.members, name: "gone"})
        case te.MemberLeft(key=key, outcome=outcome):
            world = _put(world, key, "stuck" if outcome == "stuck" else "gone")
            worked = key.split("#")[0] in WORKERS and not event.cycled
            brings = outcome == "clean" and event.commits and worked
            return replace(world, verified=world.verified | {event.commit}) if brings else world
        case te.MemberEscalated(key=key):
            return _put(world, key, "escalated")
        case te.MemberBack(key=key):
            return replace(_put(world, key, "here"), asked=world.asked - {key})
        case te.Refused(key=key):
            return replace(world, asked=world.asked - {key})
        case te.WorkVerified(commit=commit, commits=commits) if commits:
            return replace(world, verified=world.verified | {commit})
        case te.Reviewed(key=key, commit=commit, verdict=verdict):
            return replace(world, verdicts={(key, commit): verdict, **world.verdicts})
        case te.Merged(commit=commit):
            return replace(world, merged=world.merged | {commit})
        case te.Abort() if task.state not in ENDS:
            return replace(world, aborted=True)
    return world


def _put(world: World, key: str, presence: str) -> World:
    return replace(world, members={**world.members, key.split("#")[0]: presence})


def _perform(world: World, task: Task, effect: Any, event: te.TaskEvent) -> World:
    match effect:
        case Spawn(name=name, role=role):
            _law(world.members.get(name, "gone") == "gone", f"{name} is started while it is there", event)
            _law(not world.aborted, "somebody is started after an abort", event)
            roles = {seat.name: seat.role for seat in task.seats}
            _law(roles[name] == role, "started in another role than its seat's", event)
            return replace(world, members={**world.members, name: "ordered"})
        case StandDown(request_id=request, names=names, reason=reason):
            (name,) = names or ()
            _law(world.members[name] == "here", f"{name} is asked and is not there", event)
            _law(request not in world.requests, f"request {request} comes twice", event)
            wanted = "Task complete" if name in WORKERS else "Review complete"
            _law(reason == wanted, f"{name} is told {reason}", event)
            asked = world.asked | {world.key(name)}
            return replace(world, requests=(*world.requests, request), asked=asked)
        case ChangesRequested(key=key):
            name = key.split("#")[0]
            _law(name in WORKERS and world.key(name) == key, f"changes sent to {key}", event)
            _law(world.members[name] == "here", f"changes sent to {key}, who is not there", event)
        case te.AskReview(key=key):
            _law(
                world.members[key.split("#")[0]] == "here",
                f"a review asked of {key}, who is not there",
                event,
            )
        case te.Merge(commit=commit):
            _law(commit in world.verified, f"{commit} is merged and was never verified with commits", event)
            for seat in task.reviewers:
                passed = world.verdicts.get((seat.said_by, commit)) == "pass"
                _law(seat.said_by.split("#")[0] == seat.name, f"{seat.said_by} passed for {seat.name}", event)
                _law(passed, f"{commit} is merged without a pass from {seat.name}", event)
        case te.Escalate(key=key):
            return _put(world, key, "refusing")
    return world


def _check(before: Task, after: Task, world: World, event: te.TaskEvent) -> None:
    if after.state in (*ENDS, State.WAITING) and before.state not in (*ENDS, State.WAITING):
        there = [s.name for s in after.seats if world.members.get(s.name) in THERE]
        _law(not there, f"I4: {after.state} while {there} are there", event)
    if after.state is State.COMPLETE:
        _law(after.commit in world.merged, "complete, and nothing was merged", event)
    if after.state is State.BLOCKED:
        _law(bool(after.reason), "E5: blocked, and nobody knows why", event)
    if after.state is State.STANDING_DOWN:
        mine = [s for s in after.seats if s.key and world.members[s.name] == "here"]
        asked = all(s.key in world.asked for s in mine)
        _law(asked, "standing down, and somebody who is there was not asked", event)
    if isinstance(event, te.MemberLeft) and event.cycled:
        _check_cycle(before, after, event)
    _law(after.rounds <= POLICY.review_rounds, "more rounds than the policy allows", event)
    _law(after.restarts <= POLICY.task_restarts, "more restarts than the policy allows", event)
    left = before.state is State.COMPLETE and after.state is not State.COMPLETE
    _law(not left, "what is complete is complete no more", event)


def _check_cycle(before: Task, after: Task, event: te.MemberLeft) -> None:
    """Whoever was there is followed at once while its task goes on, and never where no slot was held (I4)."""
    seat = before.seat(event.key)
    ordered = {s.name for s in after.seats if s.presence is Presence.ORDERED}
    fresh = ordered - {s.name for s in before.seats if s.presence is Presence.ORDERED}
    _law(not fresh or before.holds_slot, f"{fresh} start in a slot that was given up", event)
    if seat is not None and seat.presence is Presence.HERE and before.staffed:
        _law(fresh == {seat.name}, f"{event.key} was cycled at work, and nobody follows", event)
        _law(after.restarts == before.restarts, "a cycle counts as a loss", event)


def _law(holds: bool, text: str, event: te.TaskEvent) -> None:
    if not holds:
        raise Broken(f"{text} (at {event})")


def dead_ends(graph: dict[Any, set[Any]]) -> set[Any]:
    """The states from which no end can be reached any more."""
    back: dict[Any, set[Any]] = {}
    for state, followers in graph.items():
        for follower in followers:
            back.setdefault(follower, set()).add(state)
    reached = {state for state in back if state[0] in ENDS}
    front = list(reached)
    while front:
        for state in back.get(front.pop(), ()):
            if state not in reached:
                reached.add(state)
                front.append(state)
    return set(graph) - reached
