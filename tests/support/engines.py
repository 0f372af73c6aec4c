"""The engines of a simulated run: the real driver and the real performer, on a simulated executor and clock.

An engine can crash between any two writes to the store, between any two calls of an adapter, and with acts
under way. A second one can take over while the first still runs: that one must notice, and do nothing more.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.engine.driver import Driver
from headcount.engine.job import Again, Job, Result, World
from headcount.engine.leases import Leases
from headcount.engine.performer import Performer
from headcount.errors import FencedOut
from headcount.ports import Exited
from headcount.protocol.effects import ActKind
from tests.support.fake_runtime import FakeRuntime
from tests.support.fake_workspaces import FakeHub, FakeWorkspaces
from tests.support.onlooker import Found, Violation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headcount.ports import Handle
    from tests.support.fake_runtime import FakeTree
    from tests.support.simulator import Run

HOME = "/home"
logging.getLogger("headcount.engine.driver").setLevel(logging.ERROR)  # a store is busy on purpose here
_TIMELESS = (ActKind.NOTIFY, ActKind.CLOSE_STEP, ActKind.MERGE, ActKind.ASK_REVIEW, ActKind.RUN_GATE)
_DELAY_S = 400.0


class Crashed(BaseException):
    """The engine's process was killed here. Nothing in it runs any more, not even what `finally` says."""


class SimulatedEngine:
    def __init__(self, run: Run) -> None:
        self.run = run
        self.alive = True
        self.began = run.now
        self.executor = SimulatedExecutor(self)
        self.watch = SimulatedWatch(self)
        run.engine = self
        leases = Leases(run.store, "simulated", run.clock, ttl_s=3600)
        for name in [run.team.name]:
            leases.fence(name)
        runtimes: Any = {"plain": FakeRuntime(run.machine)}
        workspaces: Any = FakeWorkspaces(run.repository)
        hub = FakeHub(run.repository)
        world = World(
            HOME, runtimes, workspaces, run.judge, run.commands, run.files, self.executor,
            find_hub=lambda url: hub,
        )  # fmt: skip
        self.performer = Performer(world, self.watch, run.clock)
        self.driver = Driver(run.store, self.performer, run.policy_of, run.make_start, run.clock, leases)
        self._turn_at = float("inf")
        self._turns = 0
        self._rung = True

    def ring(self, seconds: float) -> None:
        """Another process wrote to the store, and rings; or `seconds` later time does."""
        self.run.after(seconds, self._ring)

    def _ring(self) -> None:
        self._rung = True
        self.wake()

    def wake(self, seconds: float = 0.0) -> None:
        at = self.run.now + seconds
        if self.alive and at < self._turn_at:
            self._turn_at = at
            self._turns += 1
            self.run.after(seconds, lambda number=self._turns: self._turn(number))  # type: ignore[misc]

    def _turn(self, number: int) -> None:
        if not self.alive or number != self._turns:
            return
        self._turn_at = float("inf")
        try:
            with self.run.acting(self):
                rung, self._rung = self._rung, False
                deadline = self.driver.turn(self.performer.poll(), rung)
        except Crashed:
            self.crash()
            return
        except FencedOut:
            if self.run.engine is self:
                raise Violation("I13: the engine that holds the lease was fenced out") from None
            self.run.tell("engine", "notices that another engine drives")
            self.alive = False
            return
        if self.driver._broken:
            raise Violation("broken: a bug of the engine holds up the team")
        due = [at for at in (deadline, self.performer.next_due) if at is not None]
        if due:
            self.wake(max(0.0, min(due) - self.run.now))

    def crash(self) -> None:
        """Its acts under way may have been performed; no report of them will ever arrive."""
        self.alive = False
        self.run.tell("engine", "crashes")
        self.executor.crash()
        self.run.crashed(self)


class _Item(NamedTuple):
    lane: str
    work: Any  # a partial of the performer's own
    begins: float
    early: bool  # performed when it begins; otherwise when it ends


class SimulatedExecutor:
    """Lanes on virtual time. An act takes effect when it begins or when it ends, and reports at its end."""

    def __init__(self, engine: SimulatedEngine) -> None:
        self._engine = engine
        self._run = engine.run
        self._lanes: dict[str, deque[_Item]] = {}
        self._free_at: dict[str, float] = {}
        self._done: list[Any] = []

    @property
    def busy(self) -> bool:
        return bool(self._lanes) or bool(self._done)

    @property
    def free_at(self) -> float:
        """When all that is under way has ended."""
        return max((self._free_at[lane] for lane in self._lanes), default=0.0)

    def put(self, lane: str, work: Any) -> None:
        run = self._run
        self._check(work)
        act = _act_of(work)
        takes = run.rng.uniform(0.05, 2.0)
        if act is not None and run.fault("delay", act.kind):
            takes += _DELAY_S
        begins = max(run.now, self._free_at.get(lane, 0.0))
        self._free_at[lane] = begins + takes
        item = _Item(lane, work, begins, run.rng.random() < 0.5)
        self._lanes.setdefault(lane, deque()).append(item)
        done: list[Any] = []
        if item.early:
            run.after(begins - run.now, lambda: self._perform(item, done))
        run.after(begins + takes - run.now, lambda: self._finish(item, done))

    def _check(self, work: Any) -> None:
        """Laws about what a driver may begin; the driver has just committed, so the run's team is current."""
        act, run = _act_of(work), self._run
        if act is None:
            return
        if run.engine is not self._engine:
            raise Found(Violation(f"I13: an engine that lost its lease begins {act.kind} for {act.about}"))
        if act.kind not in (*_TIMELESS, ActKind.RESUME) and run.team.members[act.about].epoch != act.epoch:
            raise Found(Violation(f"superseded: {act.kind} for {act.about} begins after it has moved on"))
        run.pending_idle.pop(act.id, None)

    def _perform(self, item: _Item, done: list[Any]) -> None:
        if not self._engine.alive:
            return
        run, act = self._run, _act_of(item.work)
        fails = act is not None and run.fault("fail", act.kind)
        twice = act is not None and run.fault("double", act.kind)
        if act is not None:
            run.tell(act.about or "team", f"{act.kind}{' fails' if fails else ''}")
        try:
            with run.acting(self._engine, failing=fails):
                done.append(item.work())
                if twice:  # as when an engine died before it could report it
                    done[:] = [item.work()]
        except Crashed:
            self._engine.crash()
        for report in done:
            if isinstance(report, Result) and any(n.kind == "act_failed" for n in report.outcome.notes):
                raise Violation(f"bug: {report.outcome.notes}")

    def _finish(self, item: _Item, done: list[Any]) -> None:
        if not self._engine.alive:
            return
        if not item.early:
            self._perform(item, done)
        if not self._engine.alive:
            return
        lane = self._lanes[item.lane]
        lane.remove(item)
        if not lane:
            del self._lanes[item.lane]
        self._done.extend(done)
        if any(isinstance(report, Again) for report in done):
            job: Job = item.work.args[0]
            self._run.pending_idle[job.act.id] = self._run.now
        self._engine.wake()

    def finished(self) -> list[Any]:
        done, self._done = self._done, []
        return done

    def seconds_under_way(self, lane: str) -> float | None:
        items = self._lanes.get(lane)
        return max(0.0, self._run.now - items[0].begins) if items else None

    def holds(self, lane: str) -> bool:
        return lane in self._lanes

    def map(self, work: Callable[[Any], Any], items: Sequence[Any], at_once: int) -> list[Any]:
        return [work(item) for item in items]

    def close(self, within_s: float | None = None) -> bool:
        return not self._lanes

    def crash(self) -> None:
        for lane in self._lanes.values():
            item = lane[0]
            if not item.early and item.begins <= self._run.now and self._run.rng.random() < 0.5:
                try:
                    item.work()
                except Crashed:
                    continue
        self._lanes.clear()


def _act_of(work: Any) -> Any:
    """The act of a piece of work that a driver began; None for what the performer does by itself."""
    return work.args[2] if len(work.args) == 3 and isinstance(work.args[0], Job) else None


class SimulatedWatch:
    def __init__(self, engine: SimulatedEngine) -> None:
        self._engine = engine
        self._held: dict[tuple[str, str], Handle] = {}
        self._ends: list[Exited] = []

    def held(self, team: str, key: str) -> Handle | None:
        return self._held.get((team, key))

    def hold(self, team: str, key: str, handle: Handle) -> Handle:
        if (team, key) in self._held:
            return self._held[team, key]
        self._held[team, key] = handle
        if handle.exit_fd is None:
            self._report(Exited(team, key, True))
        return handle

    def drop(self, team: str, key: str) -> None:
        self._held.pop((team, key), None)

    def ends(self) -> list[Exited]:
        ends, self._ends = self._ends, []
        return ends

    def see_end(self, tree: FakeTree, agent: bool) -> None:
        for (team, key), handle in self._held.items():
            if getattr(handle, "tree", None) is tree:
                self._report(Exited(team, key, agent))

    def _report(self, end: Exited) -> None:
        self._ends.append(end)
        self._engine.wake(0.01)

    def close(self) -> None:
        self._held.clear()
