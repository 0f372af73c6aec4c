"""The engine: hears what happened, commits what follows, performs it, hears how it went.

    inputs, exits, timeouts, results ──→ hear (one transaction) ──→ pending acts ──→ threads ──→ results …

The main thread alone touches the store. Threads perform acts and put results on one queue; two more put
there that somebody rang, and that a process ended. Acts of one incarnation run one after the other; nudges
and the user's commands have lanes of their own, so one that hangs delays nobody's salvage, and no cleanup.

After a crash everything needed is in the store: `recover` looks at reality first, then the same loop goes on.
One engine drives a state directory at a time; every commit proves that it is still that one.
"""

from __future__ import annotations

import logging
import queue
import secrets
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.engine.clock import Clock
from headcount.engine.export import export, tell_complete
from headcount.engine.handles import Handles
from headcount.engine.hear import hear
from headcount.engine.job import Job, Outcome, World
from headcount.engine.lanes import Lanes
from headcount.engine.later import Later
from headcount.engine.mirror import SIGNALLED, Mirror
from headcount.engine.nudging import has_read_mail, report_lost
from headcount.engine.perform import ended, failed, perform, prove
from headcount.engine.succession import grown_old, wish_successor
from headcount.engine.writing import new_mail
from headcount.errors import FencedOut, HeadcountError, StoreError
from headcount.ports import Identity
from headcount.protocol.effects import Act, ActKind
from headcount.protocol.member import State
from headcount.protocol.team import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headcount.domain.policy import Policy
    from headcount.engine.hear import Heard
    from headcount.ports import Fence, Handle, Store, Tx
    from headcount.protocol.events import TimedOut
    from headcount.protocol.member import Member
    from headcount.protocol.team import Team

_LOG = logging.getLogger(__name__)

CHANNEL = "engine"
_THREADS = 64  # acts wait for git, the disk and the ends of processes; one look at all processes serves many
_RING_CHECK_S = 10.0  # a wake-up is a hint; this is the most that a lost one can cost
_IDLE_CHECK_S = 1.0
_LOOK_AGAIN_S = 1.0
_STORE_RETRY_S = 1.0
# Acts that make sense however far the member has moved on since.
_TIMELESS = frozenset(
    (ActKind.NOTIFY, ActKind.CLOSE_STEP, ActKind.MERGE, ActKind.ASK_REVIEW, ActKind.RUN_GATE)
)
_FACTS_FOR_CLOSING = ("start", "workspace", "proof", "finalized", "removed")


class _Result(NamedTuple):
    """An act, a look at an end, or a limit led to something; without `act`, nothing was pending for it."""

    team: str
    key: str
    outcome: Outcome
    act: Act | None = None


class _End(NamedTuple):
    """An agent's own process ended, or its keeper."""

    team: str
    key: str
    agent: bool


class _Again(NamedTuple):
    """An act changed nothing, and is to be tried again."""

    act: tuple[str, str]
    seconds: float


class Engine:
    def __init__(
        self,
        store: Store,
        world: World,
        policy_of: Callable[[Mapping[str, Any]], Policy],
        fence: Fence | None = None,
    ) -> None:
        self._store = store
        self._world = world
        self._policy_of = policy_of
        self._fence = fence
        self._clock = Clock()
        self._mirror = Mirror(world.home)
        self._queue: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._lanes = Lanes(_THREADS)
        self._handles = Handles(lambda team, key, agent: self._queue.put(_End(team, key, agent)))
        self._under_way: set[tuple[str, str]] = set()  # team's id, act's id
        self._later = Later()
        self._unheard: dict[str, list[_Result]] = {}  # by team: the turn that was to hear it broke
        self._teams: dict[str, Team] = {}  # as last committed here
        self._listening = threading.Event()
        self._stopping = threading.Event()

    # --- the loop -----------------------------------------------------------------------------------

    def run(self, until: Callable[[], bool] = lambda: False) -> None:
        """Go on until `stop` is called or `until` says so; it is asked after every turn."""
        listener = threading.Thread(target=self._listen, name="listen", daemon=True)
        listener.start()
        self._listening.wait()
        try:
            self._recover()
            while not self._stopping.is_set() and not until():
                self._turn(self._take_all(self._seconds_to_wait()))
        except FencedOut:
            pass  # another engine drives now, and does all that is left
        finally:
            self._stopping.set()
            self._lanes.close()
            self._handles.close()
            self._store.ring([CHANNEL])
            listener.join()

    def stop(self) -> None:
        self._stopping.set()
        self._queue.put(None)

    @property
    def idle(self) -> bool:
        """No team is open: nothing is left to drive."""
        return not self._teams

    def _seconds_to_wait(self) -> float | None:
        """Without a team nothing is due, but `until` wants to be asked now and then."""
        due = [s for s in (self._clock.seconds_to_next(), self._later.seconds_to_next()) if s is not None]
        return min(due) if due else _IDLE_CHECK_S if self.idle else None

    def _listen(self) -> None:
        """Whoever wrote something may be killed before it rings: so the time that passes rings as well."""
        while not self._stopping.is_set():
            try:
                self._store.listen(CHANNEL)
                self._listening.set()
                self._store.wait(CHANNEL, _RING_CHECK_S)
            except OSError as error:  # no bell, as on a full disk: slower, but nobody waits for ever
                _LOG.warning("cannot be rung: %s", error)
                self._listening.set()
                self._stopping.wait(_IDLE_CHECK_S)
            self._queue.put(None)
        self._listening.set()  # stopped before it began

    def _take_all(self, timeout_s: float | None) -> list[_Item]:
        """Wait for something, then take all that is there: one transaction hears it together."""
        items: list[_Item | None] = []
        try:
            items.append(self._queue.get(timeout=timeout_s))
            while True:
                items.append(self._queue.get_nowait())
        except queue.Empty:
            pass
        return [item for item in items if item is not None]

    def _turn(self, items: list[_Item]) -> None:
        results: dict[str, list[_Result]] = {}
        for item in items:
            if isinstance(item, _End):
                self._look_at_end(item)
            elif isinstance(item, _Again):
                self._later.put(item.act, item.seconds)
            else:
                results.setdefault(item.team, []).append(item)
        for name, timeout in self._clock.take_due():
            left = self._time_left(name, timeout)
            if left > 0:
                self._clock.postpone(name, timeout, left)
                continue
            results.setdefault(name, []).append(_Result(name, "", Outcome((timeout,))))
        self._under_way.difference_update(self._later.take_due())  # pending, and nobody's: begun anew
        try:
            self._commit_all(results)
        except StoreError as error:
            if isinstance(error, FencedOut):
                raise
            self._hear_again(results)

    def _commit_all(self, results: dict[str, list[_Result]]) -> None:
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
            except Exception:
                _LOG.exception("%s could not go on", name)
                self._unheard[name] = results[name]
            del results[name]

    def _hear_again(self, results: dict[str, list[_Result]]) -> None:
        """The disk is full, or somebody holds the database. What was done is not forgotten for it."""
        for result in (result for of_team in results.values() for result in of_team):
            self._queue.put(result)
        self._stopping.wait(_STORE_RETRY_S)
        self._queue.put(None)

    def _time_left(self, name: str, timeout: TimedOut) -> float:
        """Who works is given a limit for signs of progress (D4), and every line that it prints is one."""
        team = self._teams.get(name)
        member = team.members.get(timeout.key or "") if team is not None else None
        if team is None or member is None or member.state is not State.RUNNING:
            return 0.0
        with self._store.read() as tx:
            start = tx.fact(team.id, member.key, "start") or {}
            limit = self._policy_of(tx.team_settings(team.id)).stall_timeout_s
        handle = self._find_handle(team, member.key, start) if start.get("mark") else None
        if handle is None:
            return 0.0
        runtime = self._world.runtimes[str(start.get("runtime", "plain"))]
        return limit - runtime.silent_for_s(handle)

    def _recover(self) -> None:
        """Look at reality first: who died while nobody watched is heard of before anything is decided."""
        with self._store.read() as tx:
            found = [team for name in tx.team_names() if (team := tx.load_team(name)) is not None]
            starts = {team.name: tx.facts(team.id, "start") for team in found}
        for team in found:
            self._teams[team.name] = team
            for member in team.live():
                start = starts[team.name].get(member.key)
                if start is not None:
                    self._find_again(team, member, start)
        self._turn(self._take_all(0))

    def _find_again(self, team: Team, member: Member, start: Mapping[str, Any]) -> None:
        """Watched again, and thawed: an engine that died in the middle of a salvage left the tree frozen."""
        try:
            found = self._find_handle(team, member.key, start)
        except (HeadcountError, OSError):
            # Its record is damaged. The acts about it fail by that, and it is escalated; the rest goes on.
            _LOG.exception("%s of %s could not be found again", member.key, team.name)
            return
        if found is not None and member.activity != "paused":
            job = Job(Act(ActKind.RESUME, member.key, 0), team, self._policy_of({}), self._world, start=start)
            self._lanes.put(f"{team.id}/{member.key}", lambda: self._perform(job, perform))

    # --- committing ---------------------------------------------------------------------------------

    def _commit(self, name: str, results: list[_Result]) -> None:
        """One transaction: what was done, what it means, and what is to do next."""
        with self._store.write(self._fence) as tx:
            team = tx.load_team(name)
            if team is None or team.status is Status.SHUTDOWN:
                self._forget(name)
                return
            policy = self._policy_of(tx.team_settings(team.id))
            for result in results:
                _record(tx, team, result)
            events = [event for result in results for event in result.outcome.events]
            happened = [event for result in results for event in result.outcome.happened]
            aged = grown_old(tx, team, self._clock.grown_old(team, policy))
            events.extend(aged)
            heard = hear(tx, team, events, policy, self._world.make_start, happened)
            for request in aged:
                wish_successor(tx, heard.team, request.request_id.removesuffix("-age"), request.by)
            jobs = self._new_jobs(tx, heard.team, policy)
            signalled = tx.facts(team.id, SIGNALLED) if heard.effects or results else {}
        if heard.effects or results:
            letters = [mail for result in results for mail in result.outcome.mail]
            self._tell(heard, signalled, {f"{team.id}/{mail.to}" for mail in letters})
        self._after(heard.team, policy, results)
        for job in jobs:
            self._begin(job)

    def _tell(self, heard: Heard, signalled: Mapping[str, Mapping[str, Any]], mailboxes: set[str]) -> None:
        """Others, of what is durable already. What cannot be told now is told with the next change."""
        try:
            self._store.ring(heard.channels | mailboxes)
            self._mirror.show(heard.team, heard.effects, signalled, heard.phase)
        except OSError as error:
            _LOG.warning("what happened in %s could not be shown: %s", heard.team.name, error)

    def _after(self, team: Team, policy: Policy, results: list[_Result]) -> None:
        self._teams[team.name] = team
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
        self._teams.pop(name, None)
        self._clock.forget(name)

    def _new_jobs(self, tx: Tx, team: Team, policy: Policy) -> list[Job]:
        """The pending acts that nobody performs yet. What the members have moved on from is over."""
        jobs = []
        for act in tx.pending_acts(team.id):
            if (team.id, act.id) in self._under_way:
                continue
            if _superseded(team, act):
                tx.end_act(team.id, act.id)
                self._later.forget((team.id, act.id))
                report_lost(tx, team, act)
            else:
                jobs.append(self._job(tx, team, act, policy))
        return jobs

    def _job(self, tx: Tx, team: Team, act: Act, policy: Policy) -> Job:
        """All that the act needs, read now: the thread that performs it sees no store."""
        job = Job(act, team, policy, self._world, team.members.get(act.about))
        environment = tx.fact(team.id, "", "environment") or {}
        if act.kind in _TIMELESS:
            return replace(job, everyone=_everyone(tx, team, act), start={"env": environment})
        start = dict(tx.fact(team.id, act.about, "start") or {})
        start["env"] = {**environment, **start.get("env", {})}
        token = ""
        if act.kind is ActKind.START:
            # Its hash must be known before the process can use it. After a crash there is simply a new one.
            token = secrets.token_urlsafe(24)
            tx.add_token(Identity(team.id, act.about, team.members[act.about].role), token)
        elif act.kind is ActKind.NUDGE:
            tries, read = self._later.tries((team.id, act.id)), has_read_mail(tx, team, act.about)
            job = replace(job, tries=tries, mail_read=read)
        return replace(job, start=start, workspace=tx.fact(team.id, act.about, "workspace"), token=token)

    # --- performing ---------------------------------------------------------------------------------

    def _begin(self, job: Job) -> None:
        self._under_way.add((job.team.id, job.act.id))
        self._lanes.put(_lane(job.team, job.act), lambda: self._perform(job, perform, job.act))

    def _look_at_end(self, end: _End) -> None:
        """In the lane of the incarnation, like everything that touches its processes."""
        team = self._teams.get(end.team)
        if team is None or end.key not in team.members:
            return
        look = Act(ActKind.KILL, end.key, team.members[end.key].epoch)
        with self._store.read() as tx:
            start = tx.fact(team.id, end.key, "start") or {}
        job = Job(look, team, self._policy_of({}), self._world, team.members[end.key], start=start)
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
            handle = self._find_handle(job.team, job.act.about, job.start) if job.start.get("mark") else None
            outcome = how(replace(job, handle=handle))
        except Exception as error:
            outcome = failed(job, error)
        if outcome.again_s is not None:
            self._queue.put(_Again((job.team.id, job.act.id), outcome.again_s))
        else:
            self._queue.put(_Result(job.team.name, job.act.about, outcome, act))

    def _find_handle(self, team: Team, key: str, start: Mapping[str, Any]) -> Handle | None:
        runtime = self._world.runtimes[str(start.get("runtime", "plain"))]
        settle = bool(team.members[key].failure)
        return self._handles.find(team.name, key, runtime, str(start["mark"]), settle=settle)


_Item = _Result | _End | _Again


def _record(tx: Tx, team: Team, result: _Result) -> None:
    for (about, name), value in result.outcome.facts.items():
        tx.put_fact(team.id, about, name, value)
    tx.note(team.id, result.outcome.notes)
    for mail in result.outcome.mail:
        tx.post(new_mail(team, mail))
    if result.act is not None:
        tx.end_act(team.id, result.act.id)


def _everyone(tx: Tx, team: Team, act: Act) -> dict[str, Any]:
    """For acts that are not about one incarnation: what is known of all."""
    everyone: dict[str, Any] = {name: tx.facts(team.id, name) for name in _FACTS_FOR_CLOSING}
    if act.data.get("step") == "archive":
        tell_complete(tx, team)
        everyone["export"] = export(tx, team)
    return everyone


def _lane(team: Team, act: Act) -> str:
    about = act.data["key"] if act.kind is ActKind.ASK_REVIEW else act.about  # it moves that one's workspace
    lane = f"{team.id}/{about}"
    if act.kind in (ActKind.NUDGE, ActKind.NOTIFY, ActKind.RUN_GATE, ActKind.CLOSE_STEP):
        lane += f"/{act.kind}/{act.data.get('step', '')}"
    return lane


def _superseded(team: Team, act: Act) -> bool:
    if act.kind is ActKind.CLOSE_STEP:
        return act.epoch != team.close_epoch
    if act.kind is ActKind.RESUME:  # whoever was asked since must be awake to answer
        return team.members[act.about].activity == "paused"
    return act.kind not in _TIMELESS and team.members[act.about].epoch != act.epoch
