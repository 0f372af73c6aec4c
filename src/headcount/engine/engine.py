"""The engine: hears what happened, commits what follows, performs it, hears how it went.

    inputs, exits, timeouts, results ──→ hear (one transaction) ──→ pending acts ──→ threads ──→ results …

The main thread alone touches the store. Threads perform acts and put results on one queue; two more put
there that somebody rang, and that a process ended. Acts of one incarnation run one after the other. Between
commits the engine goes by what it last committed: a store that is busy or full delays it, and nothing else.

After a crash everything needed is in the store: `recover` looks at reality first, then the same loop goes on.
One engine drives a state directory at a time; every commit proves that it is still that one.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.engine.apply import apply
from headcount.engine.clock import Clock
from headcount.engine.cycling import grown_old
from headcount.engine.handles import Handles
from headcount.engine.job import PROCESS, Job, Outcome, World
from headcount.engine.jobs import is_held, is_superseded, lane_of, make_job
from headcount.engine.lanes import Lanes
from headcount.engine.later import Later
from headcount.engine.listener import Listener
from headcount.engine.mirror import SIGNALLED, Mirror
from headcount.engine.nudging import report_lost
from headcount.engine.perform import ended, failed, perform, prove
from headcount.engine.reports import Again, End, Report, Result, record
from headcount.engine.trouble import note_put_back, say_broken, say_mended
from headcount.errors import FencedOut, HeadcountError, StoreError
from headcount.protocol.bound import ACTS_AT_ONCE
from headcount.protocol.effects import Act, ActKind
from headcount.protocol.member import Activity, State
from headcount.protocol.team import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from headcount.domain.policy import Policy
    from headcount.engine.apply import Applied
    from headcount.engine.leases import Leases
    from headcount.ports import Handle, Runtime, Store, Tx
    from headcount.protocol.events import TimedOut
    from headcount.protocol.member import Member
    from headcount.protocol.team import Team

_LOG = logging.getLogger(__name__)

_THREADS = ACTS_AT_ONCE
_IDLE_CHECK_S = 1.0
_LOOK_AGAIN_S = 1.0
_STORE_RETRY_S = 1.0
_LEAVING_CHECK_S = 0.1
_LEAVE_S = 5.0  # longer than most acts take, shorter than the patience of whoever pressed Ctrl-C


class _Known(NamedTuple):
    """A team as it was last committed here, and how its members' processes are found again."""

    team: Team
    policy: Policy
    starts: dict[str, Mapping[str, Any]]  # by incarnation: `mark`, `runtime` and `process`


class _Displaced(Exception):
    """Records, bells and the lock went with the state: nothing but the teams is as it was."""


class Engine:
    def __init__(
        self,
        store: Store,
        world: World,
        policy_of: Callable[[Mapping[str, Any]], Policy],
        leases: Leases | None = None,
    ) -> None:
        self._store = store
        self._world = world
        self._policy_of = policy_of
        self._leases = leases
        self._clock = Clock()
        self._mirror = Mirror(world.home)
        self._queue: queue.SimpleQueue[Report | None] = queue.SimpleQueue()
        self._lanes = Lanes(_THREADS)
        self._handles = Handles(lambda team, key, agent: self._queue.put(End(team, key, agent)))
        self._under_way: set[tuple[str, str]] = set()  # team's id, act's id
        self._later = Later()
        self._unheard: dict[str, list[Result]] = {}  # by team: the turn that was to hear it broke
        self._known: dict[str, _Known] = {}
        self._stopping = threading.Event()
        self._leaving = threading.Event()
        self.hangs = False
        self.displaced = False  # the state had been removed: it is back, and wants an engine that begins anew

    # --- the loop -----------------------------------------------------------------------------------

    def run(self, until: Callable[[], bool] = lambda: False) -> None:
        """Go on until `stop` is called or `until` says so; it is asked after every turn."""
        listener = Listener(self._store, lambda: self._queue.put(None))
        try:
            self._recover()
            while not self._stopping.is_set() and not until():
                self._turn(self._take_all(self._seconds_to_wait()))
        except FencedOut as error:  # another engine drives now, and does all that is left
            if error.code == "state-gone":
                self._end_all()
        except _Displaced:
            self.displaced = True
        except KeyboardInterrupt:
            self._leaving.set()
            raise
        finally:
            self._stopping.set()
            self._finish()
            listener.close()

    def stop(self) -> None:
        """Soon: what is under way is let finish."""
        self._stopping.set()
        self._queue.put(None)

    def leave(self) -> None:
        """Now: what is under way has seconds to finish, and is left to the next engine otherwise."""
        self._leaving.set()
        self.stop()

    @property
    def idle(self) -> bool:
        """No team is open, and nothing is under way: nothing is left to drive."""
        return not self._known and not self._lanes.busy

    def _finish(self) -> None:
        """`hangs` afterwards, when something is still under way: then the descriptors of the members stay
        open, and whoever holds the lock keeps it for as long as this process lives."""
        self.hangs = True
        while self.hangs and not self._leaving.is_set():
            self.hangs = not self._lanes.close(_LEAVING_CHECK_S)
        if self.hangs:
            self._world.commands.end()
            self.hangs = not self._lanes.close(_LEAVE_S)
        if not self.hangs:
            self._handles.close()

    def _seconds_to_wait(self) -> float | None:
        """Without a team nothing is due, but `until` wants to be asked now and then: what is under way may
        end without a word."""
        renewal = self._leases.next_due() if self._leases is not None else None
        seconds = (
            self._clock.seconds_to_next(), self._later.seconds_to_next(),
            None if renewal is None else max(0.0, renewal - time.monotonic()),
        )  # fmt: skip
        due = [s for s in seconds if s is not None]
        return min(due) if due else None if self._known else _IDLE_CHECK_S

    def _take_all(self, timeout_s: float | None) -> list[Report]:
        """Wait for something, then take all that is there: one transaction hears it together."""
        items: list[Report | None] = []
        try:
            items.append(self._queue.get(timeout=timeout_s))
            while True:
                items.append(self._queue.get_nowait())
        except queue.Empty:
            pass
        return [item for item in items if item is not None]

    def _turn(self, items: list[Report]) -> None:
        results: dict[str, list[Result]] = {}
        for item in items:
            if isinstance(item, End):
                self._look_at_end(item)
            elif isinstance(item, Again):
                self._later.put(item.act, item.seconds)
            else:
                results.setdefault(item.team, []).append(item)
        for name, timeout in self._clock.take_due():
            left = self._time_left(name, timeout)
            if left > 0:
                self._clock.postpone(name, timeout, left)
                continue
            results.setdefault(name, []).append(Result(name, "", Outcome((timeout,))))
        self._under_way.difference_update(self._later.take_due())  # pending, and nobody's: begun anew
        try:
            self._look_for_state()
            if self._leases is not None:
                self._leases.renew()
            self._commit_all(results)
            if self._leases is not None:
                self._leases.release_all(but=self._known)
        except StoreError as error:
            if isinstance(error, FencedOut):
                raise
            self._hear_again(results)

    def _look_for_state(self) -> None:
        """Where it was put back, what was heard in this turn is done again, as after a crash."""
        if not self._store.put_back():
            return
        self._put_back_records()
        with self._store.read() as tx:
            names = tx.team_names()
        for name in names:
            with self._write(name) as tx:
                note_put_back(tx, name)
        raise _Displaced

    def _put_back_records(self) -> None:
        for key, runtime, handle in self._all_held():
            try:
                runtime.put_back(handle)
            except (HeadcountError, OSError):
                _LOG.exception("the records of %s could not be put back", key)

    def _end_all(self) -> None:
        """The repository was removed, and every workspace with it: nobody can ask for them any more, and
        nothing is left that could be saved."""
        for key, runtime, handle in self._all_held():
            try:
                runtime.kill(handle)
            except (HeadcountError, OSError):
                _LOG.exception("%s could not be ended", key)

    def _all_held(self) -> Iterator[tuple[str, Runtime, Handle]]:
        for known in self._known.values():
            for key, start in known.starts.items():
                handle = self._handles.held(known.team.name, key)
                if handle is not None:
                    yield key, self._runtime(start), handle

    def _commit_all(self, results: dict[str, list[Result]]) -> None:
        """`results` keeps what could not be committed.

        What breaks about one team must not leave all others without an engine: it is tried again with the
        next turn, and nothing that was done for it is forgotten.
        """
        with self._store.read() as tx:
            names = tx.team_names()
        for name in names:
            results[name] = [*self._unheard.pop(name, ()), *results.get(name, ())]
            try:
                self._commit(name, results[name])
            except StoreError:
                raise
            except Exception as error:
                _LOG.exception("%s could not go on", name)
                self._unheard[name] = results.pop(name)
                with self._write(name) as tx:
                    say_broken(tx, name, error)
            results.pop(name, None)

    def _hear_again(self, results: dict[str, list[Result]]) -> None:
        """The disk is full, or somebody holds the database. What was done is not forgotten for it."""
        for result in (result for of_team in results.values() for result in of_team):
            self._queue.put(result)
        self._stopping.wait(_STORE_RETRY_S)
        self._queue.put(None)

    def _time_left(self, name: str, timeout: TimedOut) -> float:
        """Who works is given a limit for signs of progress (D4), and every line that it prints is one. A
        start has its time from when it begins: of a large team, many wait for their turn."""
        known = self._known.get(name)
        member = known.team.members.get(timeout.key or "") if known is not None else None
        if known is None or member is None:
            return 0.0
        if member.state is State.STARTING:
            under_way = self._lanes.seconds_under_way(f"{known.team.id}/{member.key}")
            return 0.0 if under_way is None else known.policy.starting_timeout_s - under_way
        if member.state is not State.RUNNING:
            return 0.0
        start = known.starts.get(member.key)
        handle = self._find_handle(known.team, member.key, start) if start is not None else None
        if start is None or handle is None:
            return 0.0
        return known.policy.stall_timeout_s - self._runtime(start).silent_for_s(handle)

    def _recover(self) -> None:
        """Look at reality first: who died while nobody watched is heard of before anything is decided."""
        while not self._stopping.is_set():
            try:
                self._look_for_state()
                self._load_all()
                break
            except StoreError as error:
                _LOG.warning("the teams could not be read: %s", error)
                self._stopping.wait(_STORE_RETRY_S)
        for known in self._known.values():
            for member in known.team.live():
                if member.key in known.starts:
                    self._find_again(known.team, member, known.starts[member.key])
        self._turn(self._take_all(0))

    def _load_all(self) -> None:
        with self._store.read() as tx:
            for name in tx.team_names():
                team = tx.load_team(name)
                if team is not None:
                    policy = self._policy_of(tx.team_settings(team.id))
                    processes = tx.facts(team.id, PROCESS)
                    starts = {
                        key: _how_to_find(start, processes.get(key, {}))
                        for key, start in tx.facts(team.id, "start").items()
                    }
                    self._known[name] = _Known(team, policy, starts)

    def _find_again(self, team: Team, member: Member, start: Mapping[str, Any]) -> None:
        """Watched again, and thawed: an engine that died in the middle of a salvage left the tree frozen."""
        try:
            found = self._find_handle(team, member.key, start)
        except (HeadcountError, OSError):
            # Its record is damaged. The acts about it fail by that, and it is escalated; the rest goes on.
            _LOG.exception("%s of %s could not be found again", member.key, team.name)
            return
        if found is not None and member.activity is not Activity.PAUSED:
            job = Job(Act(ActKind.RESUME, member.key, 0), team, self._policy_of({}), self._world, start=start,
                      process=start[PROCESS])  # fmt: skip
            self._lanes.put(f"{team.id}/{member.key}", lambda: self._perform(job, perform))

    # --- committing ---------------------------------------------------------------------------------

    def _write(self, name: str) -> AbstractContextManager[Tx]:
        """Every write proves that the lease of its team still holds."""
        return self._store.write(self._leases.fence(name) if self._leases else None, team=name)

    def _commit(self, name: str, results: list[Result]) -> None:
        """One transaction: what was done, what it means, and what is to do next."""
        with self._write(name) as tx:
            team = tx.load_team(name)
            if team is None or team.status is Status.SHUTDOWN:
                self._forget(name)
                return
            policy = self._policy_of(tx.team_settings(team.id))
            say_mended(tx, team)
            for result in results:
                record(tx, team, result)
            events = [event for result in results for event in result.outcome.events]
            aged = grown_old(tx, team, self._clock.grown_old(team, policy))
            events.extend(aged.values())
            applied = apply(tx, team, events, policy, self._world.make_start)
            jobs = self._new_jobs(tx, applied.team, policy)
            changed = bool(applied.ready or results)
            signalled = tx.facts(team.id, SIGNALLED) if changed else {}
        if changed:
            letters = [mail for result in results for mail in result.outcome.mail]
            self._notify(applied, signalled, {f"{team.id}/{mail.to}" for mail in letters})
        self._clock.asked_for_age(team.id, aged)
        self._after(applied.team, policy, results)
        for job in jobs:
            self._begin(job)

    def _notify(
        self, applied: Applied, signalled: Mapping[str, Mapping[str, Any]], mailboxes: set[str]
    ) -> None:
        """Notify others about what was just committed. If that fails, the next change notifies them."""
        try:
            self._store.ring(applied.channels | mailboxes)
            self._mirror.show(applied.team, applied.ready.happened, signalled)
        except Exception:  # what is committed must not be applied again for it
            _LOG.exception("what happened in %s could not be shown", applied.team.name)

    def _after(self, team: Team, policy: Policy, results: list[Result]) -> None:
        starts = self._known[team.name].starts if team.name in self._known else {}
        self._known[team.name] = _Known(team, policy, starts)
        self._clock.watch(team, policy)
        for result in results:
            if result.act is not None:
                self._under_way.discard((team.id, result.act.id))
                self._later.forget((team.id, result.act.id))
            if result.outcome.handle is not None:
                self._handles.hold(team.name, result.key, result.outcome.handle)
        for member in team.members.values():
            if member.settled:
                self._handles.drop(team.name, member.key)
        if team.status is Status.SHUTDOWN:
            self._forget(team.name)

    def _forget(self, name: str) -> None:
        self._known.pop(name, None)
        self._clock.forget(name)

    def _new_jobs(self, tx: Tx, team: Team, policy: Policy) -> list[Job]:
        """The pending acts that nobody performs yet. What the members have moved on from is over."""
        jobs = []
        for act in tx.pending_acts(team.id):
            who, over = (team.id, act.id), is_superseded(team, act)
            if is_held(team, act) or (who in self._under_way and not (over and self._later.drop(who))):
                continue
            if over:
                tx.end_act(team.id, act.id)
                self._under_way.discard(who)
                self._later.forget(who)
                report_lost(tx, team, act)
            else:
                jobs.append(make_job(tx, team, act, policy, self._world, self._later.tries(who)))
        return jobs

    # --- performing ---------------------------------------------------------------------------------

    def _begin(self, job: Job) -> None:
        self._under_way.add((job.team.id, job.act.id))
        if job.start.get("mark") and job.team.name in self._known:
            self._known[job.team.name].starts[job.act.about] = _how_to_find(job.start, job.process)
        self._lanes.put(lane_of(job.team, job.act), lambda: self._perform(job, perform, job.act))

    def _look_at_end(self, end: End) -> None:
        """In the lane of the incarnation, like everything that touches its processes."""
        known = self._known.get(end.team)
        if known is None or end.key not in known.starts:
            return
        team, member = known.team, known.team.members[end.key]
        look = Act(ActKind.KILL, end.key, member.epoch)  # about the same processes, but it signals none
        start = known.starts[end.key]
        job = Job(look, team, known.policy, self._world, member, start=start, process=start[PROCESS])
        how = self._until_seen(ended if end.agent else prove)
        self._lanes.put(f"{team.id}/{end.key}", lambda: self._perform(job, how))

    def _until_seen(self, how: Callable[[Job], Outcome]) -> Callable[[Job], Outcome]:
        """An end is reported once. If it cannot be looked at (no descriptor left), it is tried again."""

        def look(job: Job) -> Outcome:
            while True:
                try:
                    return how(job)
                except (HeadcountError, OSError) as error:
                    if self._stopping.wait(_LOOK_AGAIN_S):
                        raise error

        return look

    def _perform(self, job: Job, how: Callable[[Job], Outcome], act: Act | None = None) -> None:
        """In a thread. A bug must not leave the act pending for ever."""
        try:
            start = {**job.start, PROCESS: job.process}
            handle = self._find_handle(job.team, job.act.about, start) if job.start.get("mark") else None
            outcome = how(replace(job, handle=handle))
        except Exception as error:
            outcome = failed(job, error)
        if outcome.again_s is not None:
            self._queue.put(Again((job.team.id, job.act.id), outcome.again_s))
        else:
            self._queue.put(Result(job.team.name, job.act.about, outcome, act))

    def _find_handle(self, team: Team, key: str, start: Mapping[str, Any]) -> Handle | None:
        settle = bool(team.members[key].failure)
        return self._handles.find(
            team.name, key, self._runtime(start), str(start["mark"]), start[PROCESS], settle=settle
        )

    def _runtime(self, start: Mapping[str, Any]) -> Runtime:
        return self._world.runtimes[str(start.get("runtime", "plain"))]


def _how_to_find(start: Mapping[str, Any], process: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**{name: start[name] for name in ("mark", "runtime") if name in start}, PROCESS: process}
