"""When to take checkpoints of the workspaces of living members.

Checkpoints are a habit of the performer and not a state of the protocol. No rule waits for one or learns of
one, none is in the journal, and a failure changes nothing for the member. That is why the tables and the
simulator do not have them.

There are three occasions:

- The timer: `checkpoint_s` after the last attempt. The adapter takes none if nothing changed.
- Before a nudge, a merge and a pause, in the lane of that act, so in order with it. Such an attempt has
  little time, because the act waits for it.
- With the acts of a stand-down the timer is due at once, and the act does not wait for it: a salvage of
  everything follows, or there is nothing to save.

At most `_AT_ONCE` attempts of the timer run at the same time, so that workers stay free for acts. When the
last of a round has ended, those of teams with a hub go there in one push.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from headcount.domain.findings import Workspace
from headcount.engine.job import HUB
from headcount.engine.start_act import whose_workspace
from headcount.protocol.effects import ActKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headcount.engine.job import Job
    from headcount.ports import Checkpoints, Executor

_LOG = logging.getLogger(__name__)

_AT_ONCE = 2
_HUB_LANE = "hub/checkpoints"
WHILE_AN_ACT_WAITS_S = 10.0
_TOGETHER = 0.1  # of the interval: attempts that are due so soon wake the engine once

BEFORE = {
    ActKind.NUDGE: "before a nudge",
    ActKind.MERGE: "before a merge",
    ActKind.PAUSE: "before a pause",
}
_HASTEN = {
    ActKind.NUDGE: "before a nudge",
    ActKind.INSPECT: "before an inspection",
    ActKind.SALVAGE: "before it was stopped",
    ActKind.ASK_EXIT: "before it was stopped",
}

Key = tuple[str, str]  # a team's name, and an incarnation


class Attempted(NamedTuple):
    """An attempt of the timer has ended, whether or not a checkpoint was taken."""

    key: Key


class _Timer(NamedTuple):
    job: Job
    due: float
    why: str


class Checkpointing:
    def __init__(self, checkpoints: Checkpoints, executor: Executor, clock: Callable[[], float]) -> None:
        self._checkpoints = checkpoints
        self._executor = executor
        self._clock = clock
        self._timers: dict[Key, _Timer] = {}
        self._under_way: set[Key] = set()
        self._places: dict[Key, Workspace] = {}

    @property
    def next_due(self) -> float | None:
        """When to call `begin_due`; None also while an attempt must end first, which wakes the engine."""
        if len(self._under_way) >= _AT_ONCE:
            return None
        return min((t.due for key, t in self._timers.items() if key not in self._under_way), default=None)

    def follow(self, key: Key, job: Job) -> None:
        """Take checkpoints of this incarnation from now on. `job` is the latest about it."""
        interval = job.policy.checkpoint_s
        if not interval:
            return
        known = self._timers.get(key)
        timer = _Timer(job, known.due if known else self._clock() + interval, known.why if known else "timer")
        waits = job.member is None or job.member.request is None
        if (why := _HASTEN.get(job.act.kind)) and not (waits and job.act.kind in BEFORE):
            timer = _Timer(job, self._clock(), why)
        self._timers[key] = timer

    def forget(self, key: Key, *, saved: bool) -> None:
        """Its workspace is of no interest any more: it is gone, and what it left is `saved` where it must be.

        Its copies at a hub are deleted then.
        """
        timer = self._timers.pop(key, None)
        place = self._places.pop(key, None)
        if place is None or place in self._places.values():
            return
        self._checkpoints.forget(place)
        hub = timer.job.hub if timer is not None else None
        if hub is not None and timer is not None and saved:
            limit_s = timer.job.policy.inspect_timeout_s
            self._executor.put(_HUB_LANE, partial(self._checkpoints.remove_copies, [place], hub, limit_s))

    def begin_due(self) -> None:
        now = self._clock()
        for key, timer in list(self._timers.items()):
            if len(self._under_way) >= _AT_ONCE:
                return
            early = _TOGETHER * timer.job.policy.checkpoint_s
            if timer.due <= now + early and key not in self._under_way:
                self._under_way.add(key)
                lane = f"{timer.job.team.id}/{key[1]}/checkpoint"
                self._executor.put(lane, partial(self._attempt, key, timer.job, timer.why))

    def ended(self, done: Attempted) -> None:
        self._under_way.discard(done.key)
        if timer := self._timers.get(done.key):
            interval = timer.job.policy.checkpoint_s
            self._timers[done.key] = _Timer(timer.job, self._clock() + interval, "timer")
        if not self._under_way:
            self._push()

    def _push(self) -> None:
        """Put one push for each hub into their lane; usually there is none, or one."""
        by_hub: dict[str, list[Key]] = {}
        for key, timer in self._timers.items():
            if key in self._places and timer.job.hub is not None:
                by_hub.setdefault(str(timer.job.start[HUB]), []).append(key)
        for keys in by_hub.values():
            job, places = self._timers[keys[0]].job, [self._places[key] for key in keys]
            assert job.hub is not None
            limit_s = job.policy.inspect_timeout_s
            self._executor.put(_HUB_LANE, partial(self._checkpoints.push, places, job.hub, limit_s))

    def take_with(self, lane: str, keys: Iterable[Key], why: str) -> None:
        """Put an attempt for each into the lane of an act."""
        for key in keys:
            if timer := self._timers.get(key):
                self._executor.put(lane, partial(self._take, key, timer.job, why, WHILE_AN_ACT_WAITS_S))

    # --- in a worker

    def _attempt(self, key: Key, job: Job, why: str) -> Attempted:
        self._take(key, job, why, job.policy.inspect_timeout_s)
        return Attempted(key)

    def _take(self, key: Key, job: Job, why: str, limit_s: float) -> None:
        try:
            place = self._places.get(key) or self._find(job)
            if place is not None and key in self._timers:
                self._places[key] = place
                self._checkpoints.take(place, job.policy, job.start, why, limit_s)
        except Exception:
            # Whatever it is: it must not keep the act that waits for it, or the next attempt, from beginning.
            _LOG.debug("no checkpoint of %s of %s", key[1], key[0], exc_info=True)

    def _find(self, job: Job) -> Workspace | None:
        if job.workspace is not None:
            return Workspace.from_dict(job.workspace)
        # Its start may be at it: to complete it now would take git's lock away from there.
        return job.world.workspaces.find(*whose_workspace(job), job.start, finish=False)
