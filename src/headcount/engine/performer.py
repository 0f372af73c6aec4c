"""The performer: performs the acts that a driver begins, in workers of the executor, and reports results.

It owns all that is outside the store: runtimes and the handles of living members, workspaces, commands of
users, and files. Acts of one incarnation are performed one after the other. It also sees the ends of
processes by itself, inspects what is left of them, and reports that like the result of an act.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from headcount.engine import held_environment
from headcount.engine.checkpointing import BEFORE, Attempted, Checkpointing
from headcount.engine.job import Again, Job, Outcome, Report, Result
from headcount.engine.member_acts import ended, failed, perform, prove
from headcount.engine.pending_acts import lane_of
from headcount.engine.state_files import StateFiles
from headcount.errors import HeadcountError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from headcount.engine.job import World
    from headcount.ports import Exited, ExitWatch, Handle, Runtime
    from headcount.protocol.effects import Act
    from headcount.protocol.happened import Happened
    from headcount.protocol.member import Member
    from headcount.protocol.team import Team

_LOG = logging.getLogger(__name__)

INSPECT_AGAIN_S = 1.0


class _NotSeen(NamedTuple):
    """An end that could not be inspected, because no descriptor was left for example."""

    end: Exited


class Performer:
    def __init__(self, world: World, watch: ExitWatch, clock: Callable[[], float]) -> None:
        self.world = world
        self._executor = world.executor
        self._watch = watch
        self._clock = clock
        self._files = StateFiles(world.home, world.files)
        # By team and incarnation: the last job about it, by which its processes are found.
        self._started: dict[tuple[str, str], Job] = {}
        self._not_seen: list[tuple[float, Exited]] = []  # when to inspect it again
        taker = world.checkpoints
        self._checkpointing = Checkpointing(taker, world.executor, clock) if taker is not None else None

    @property
    def busy(self) -> bool:
        return self._executor.busy or bool(self._not_seen)

    @property
    def next_due(self) -> float | None:
        """When `poll` must be called although nothing ended."""
        due = [at for at, _ in self._not_seen]
        if self._checkpointing is not None and (at := self._checkpointing.next_due) is not None:
            due.append(at)
        return min(due, default=None)

    def begin(self, job: Job) -> None:
        lane = lane_of(job.team, job.act)
        self._note_started(job)
        self._take_checkpoints_before(lane, job)
        self._put(lane, job, perform, job.act)

    def _note_started(self, job: Job) -> None:
        if job.start.get("mark"):
            key = job.team.name, job.act.about
            self._started[key] = job
            if self._checkpointing is not None:
                self._checkpointing.follow(key, job)

    def _take_checkpoints_before(self, lane: str, job: Job) -> None:
        """Before an act about a member, or about a task: then of the members that work on it."""
        why = BEFORE.get(job.act.kind)
        if why is None or self._checkpointing is None:
            return
        about = job.act.about
        members = [m for m in job.team.members.values() if about in (m.key, m.task)]
        # The request to stand down comes with a nudge, and a stand-down waits for no checkpoint.
        keys = [(job.team.name, m.key) for m in members if m.request is None]
        self._checkpointing.take_with(lane, keys, why)

    def recover(self, job: Job, *, resume: bool) -> None:
        """Find a member's processes again after a crash, and watch them; `resume` thaws them."""
        self._note_started(job)
        try:
            found = self._find_handle(job)
        except (HeadcountError, OSError):
            # Its record is damaged. The acts about it fail by that, and it is escalated.
            _LOG.exception("%s of %s could not be found again", job.act.about, job.team.name)
            return
        if found is not None and resume:
            self._put(lane_of(job.team, job.act), job, perform)

    def poll(self) -> list[Report]:
        """Return what was done since the last call."""
        reports: list[Report] = []
        for done in self._executor.finished():
            if isinstance(done, _NotSeen):
                self._not_seen.append((self._clock() + INSPECT_AGAIN_S, done.end))
                continue
            if done is None:
                continue  # a checkpoint with an act
            if isinstance(done, Attempted):
                assert self._checkpointing is not None
                self._checkpointing.ended(done)
                continue
            if isinstance(done, Result) and done.outcome.handle is not None:
                self._watch.hold(done.team, done.key, done.outcome.handle)
            reports.append(done)
        due = [end for at, end in self._not_seen if at <= self._clock()]
        self._not_seen = [(at, end) for at, end in self._not_seen if at > self._clock()]
        for end in [*due, *self._watch.ends()]:
            self._inspect_end(end)
        if self._checkpointing is not None:
            self._checkpointing.begin_due()
        return reports

    def seconds_under_way(self, team: Team, key: str) -> float | None:
        return self._executor.seconds_under_way(f"{team.id}/{key}")

    def silent_for_s(self, team: Team, member: Member) -> float | None:
        """Since when it has printed nothing; None if it cannot be found."""
        job = self._started.get((team.name, member.key))
        handle = self._find_handle(job) if job is not None else None
        return job.runtime.silent_for_s(handle) if job is not None and handle is not None else None

    def drop(self, team: Team, key: str) -> None:
        """A member is settled: no act about its processes follows."""
        self._watch.drop(team.name, key)
        self._started.pop((team.name, key), None)
        if self._checkpointing is not None:
            member = team.members.get(key)
            saved = member is not None and member.settled and not (member.unread or member.here)
            self._checkpointing.forget((team.name, key), saved=saved)

    def write_files(
        self, team: Team, happened: Iterable[Happened], signalled: Mapping[str, Mapping[str, Any]]
    ) -> None:
        self._files.write(team, happened, signalled)

    # --- when the state is gone, or this engine leaves ---------------------------------------------------

    def put_back_records(self) -> None:
        for key, runtime, handle in self._all_held():
            try:
                runtime.put_back(handle)
            except (HeadcountError, OSError):
                _LOG.exception("the records of %s could not be put back", key)

    def end_all(self) -> None:
        """The repository was removed with every workspace: nothing is left that could be saved."""
        for key, runtime, handle in self._all_held():
            try:
                runtime.kill(handle)
            except (HeadcountError, OSError):
                _LOG.exception("%s could not be ended", key)

    def _all_held(self) -> Iterator[tuple[str, Runtime, Handle]]:
        for (team, key), job in self._started.items():
            handle = self._watch.held(team, key)
            if handle is not None:
                yield key, job.runtime, handle

    # --- performing ---------------------------------------------------------------------------------------

    def _put(self, lane: str, job: Job, how: Callable[[Job], Outcome], act: Act | None = None) -> None:
        self._executor.put(lane, partial(self._perform, job, how, act))

    def _perform(self, job: Job, how: Callable[[Job], Outcome], act: Act | None) -> Report:
        """In a worker. A bug must not leave the act pending for ever."""
        try:
            env = {**held_environment.read(job.held), **job.start.get("env", {})}
            start = {**job.start, "env": env}
            outcome = how(replace(job, handle=self._find_handle(job), start=start))
        except Exception as error:
            outcome = failed(job, error)
        if outcome.again_s is not None:
            return Again((job.team.id, job.act.id), outcome.again_s)
        return Result(job.team.name, job.act.about, outcome, act)

    def _inspect_end(self, end: Exited) -> None:
        """In the lane of the incarnation, like everything that touches its processes."""
        job = self._started.get((end.team, end.key))
        if job is not None:
            self._executor.put(f"{job.team.id}/{end.key}", partial(self._inspect_tree, job, end))

    def _inspect_tree(self, job: Job, end: Exited) -> Report | _NotSeen:
        """An end is reported once. If it cannot be inspected, that is tried again."""
        try:
            outcome = (ended if end.agent else prove)(replace(job, handle=self._find_handle(job)))
        except (HeadcountError, OSError):
            return _NotSeen(end)
        return Result(end.team, end.key, outcome)

    def _find_handle(self, job: Job) -> Handle | None:
        """The handle of a start that happened. One that failed is settled: it can never happen any more."""
        mark = str(job.start.get("mark") or "")
        if not mark:
            return None
        team, key = job.team.name, job.act.about
        held = self._watch.held(team, key)
        if held is not None:
            return held
        find = job.runtime.cancel if job.team.members[key].failure else job.runtime.adopt
        handle = find(mark, job.process)
        return self._watch.hold(team, key, handle) if handle is not None else None
