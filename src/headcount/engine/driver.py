"""The driver: reads what was reported and what is due, commits what follows, begins the acts that follow.

    inputs, results, limits ──→ turn: one transaction a team ──→ pending acts ──→ performer ──→ results …

It has no thread, descriptor or file of its own. It touches the store; the performer touches everything else.
All that it must remember is in the store: a new driver first finds the living members again, then performs
the acts that are still pending. In memory it keeps what it saw with its last commit, the acts that are under
way, limits, and retries.

Three rules decide whether two drivers could do harm:

- An act begins only after a transaction that has proved the lease and in which the act is pending.
- A result ends its act in the transaction that applies its events. Without that commit the act is repeated.
- A driver that lost its lease raises `FencedOut` with its next write, and begins nothing more.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.engine.apply import apply
from headcount.engine.cycling import grown_old
from headcount.engine.deadlines import Limits, RetryQueue
from headcount.engine.job import PROCESS, Again, Job, Outcome, Result
from headcount.engine.pending_acts import (
    Given,
    is_held,
    is_superseded,
    make_job,
    read_given,
    report_undelivered,
)
from headcount.engine.state_files import waits_for_verdict
from headcount.engine.writing import BROKEN, SIGNALLED, write_result
from headcount.errors import FencedOut, OutcomeUnknown, StoreError
from headcount.protocol.bound import start_s
from headcount.protocol.effects import Act, ActKind, Note
from headcount.protocol.member import Activity, State
from headcount.protocol.team import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractContextManager

    from headcount.domain.policy import Policy
    from headcount.engine.apply import Applied
    from headcount.engine.job import Report
    from headcount.engine.leases import Leases
    from headcount.engine.ordered_starts import MakeStart
    from headcount.engine.performer import Performer
    from headcount.ports import Store, Tx
    from headcount.protocol.events import TimedOut
    from headcount.protocol.member import Member
    from headcount.protocol.team import Team

_LOG = logging.getLogger(__name__)

ENGINE_CHANNEL = "engine"
STORE_RETRY_S = 1.0


class _Known(NamedTuple):
    """A team as it was last committed or read here."""

    team: Team
    given: Given


class Displaced(Exception):
    """Begin anew, as after a crash: the state had been removed and is there again, and records and the lock
    went with it; or nobody knows whether the last commit is stored."""


class Driver:
    def __init__(
        self,
        store: Store,
        performer: Performer,
        policy_of: Callable[[Mapping[str, Any]], Policy],
        make_start: MakeStart,
        clock: Callable[[], float],
        leases: Leases | None = None,
    ) -> None:
        self._store = store
        self._performer = performer
        self._policy_of = policy_of
        self._make_start = make_start
        self._clock = clock
        self._leases = leases
        self._limits = Limits(clock)
        self._retries = RetryQueue(clock)
        self._recovered = False
        self._rung = True  # others may have written to the store since it was last read
        self._known: dict[str, _Known] = {}
        self._results: dict[str, list[Result]] = {}  # by team: reported, and not committed yet
        self._due: dict[str, None] = {}  # teams with something else to commit or to begin, in order
        self._under_way: set[tuple[str, str]] = set()  # team's id, act's id
        self._broken: set[str] = set()  # teams that a bug of ours holds up
        self._trouble = ""  # the last error of a store that is not available

    @property
    def teams(self) -> frozenset[str]:
        """The names of the open teams."""
        return frozenset(self._known)

    @property
    def idle(self) -> bool:
        """No team is open, and nothing is under way."""
        return self._recovered and not self._known and not self._performer.busy

    def turn(self, reports: Iterable[Report], rung: bool = True) -> float | None:
        """Commit all that was reported and is due, and begin what follows.

        `rung`: another process may have written to the store, so every team is read for inputs and acts.
        Returns when to call again at the latest, on the given clock; None without a deadline. A store that is
        busy or full delays a turn and loses nothing. After `FencedOut` or `Displaced` this driver ends.
        """
        self._take(reports)
        self._rung = self._rung or rung
        try:
            self._restore_state()
            if self._leases is not None:
                self._leases.renew()
            if not self._recovered:
                self._recover()
            self._take_due()
            if self._rung:
                self._read_all()
                self._rung = False
            self._commit_all()
            if self._leases is not None:
                self._leases.release_all(but=self._known)
        except FencedOut:
            raise
        except OutcomeUnknown as error:
            _LOG.warning("the engine begins anew: %s", error)
            raise Displaced from error
        except StoreError as error:
            if str(error) != self._trouble:  # once, and not every second until it is over
                _LOG.warning("the store is not available: %s", error)
            self._trouble = str(error)
            return self._clock() + STORE_RETRY_S
        self._trouble = ""
        renewal = self._leases.next_due() if self._leases is not None else None
        deadlines = (self._limits.next_due(), self._retries.next_due(), renewal)
        return min((due for due in deadlines if due is not None), default=None)

    def _take(self, reports: Iterable[Report]) -> None:
        for report in reports:
            if isinstance(report, Again):
                self._retries.put(report.act, report.seconds)
            else:
                self._results.setdefault(report.team, []).append(report)

    def _take_due(self) -> None:
        for name, timeout in self._limits.take_due():
            left = self._time_left(name, timeout) if timeout is not None else 0.0
            if timeout is None:
                self._due[name] = None
            elif left > 0:
                self._limits.postpone(name, timeout, left)
            else:
                self._results.setdefault(name, []).append(Result(name, "", Outcome((timeout,))))
        for act in self._retries.take_due():  # pending, and not under way: it is begun again
            self._under_way.discard(act)
            self._due[act[0].partition("#")[0]] = None

    def _time_left(self, name: str, timeout: TimedOut) -> float:
        """The rest of a limit that counts from something that only the performer knows.

        The limit of a member at work counts from its last sign of progress (D4), and every line that it
        prints is one. The limit of a start counts from when it begins, and has time for the checkouts of all
        others that start now: they share a disk.
        """
        known = self._known.get(name)
        member = known.team.members.get(timeout.key or "") if known is not None else None
        if known is None or member is None:
            return 0.0
        if member.state is State.STARTING:
            under_way = self._performer.seconds_under_way(known.team, member.key)
            everyone = [m for team in self._known.values() for m in team.team.members.values()]
            starting = sum(m.state is State.STARTING for m in everyone)
            return 0.0 if under_way is None else start_s(known.given.policy, starting) - under_way
        if member.state is not State.RUNNING:
            return 0.0
        silent = self._performer.silent_for_s(known.team, member)
        return 0.0 if silent is None else known.given.policy.stall_timeout_s - silent

    # --- after a crash, and after the state was removed ---------------------------------------------

    def _recover(self) -> None:
        """Find the living members again: an agent that died while no engine ran is reported at once.

        The leases come first: an engine that is still running elsewhere commits nothing from then on.
        """
        with self._store.read() as tx:
            names = tx.team_names()
        if self._leases is not None:
            for name in names:
                self._leases.fence(name)
        with self._store.read() as tx:
            found = [self._load(tx, name) for name in tx.team_names()]
        for known, starts, processes in found:
            self._known[known.team.name] = known
            for member in known.team.live():
                if member.key in starts:
                    self._find_again(known, member, starts[member.key], processes.get(member.key, {}))
        self._recovered = True

    def _load(self, tx: Tx, name: str) -> tuple[_Known, dict[str, Any], dict[str, Any]]:
        team = tx.load_team(name)
        assert team is not None
        if tx.fact(team.id, "", BROKEN):
            self._broken.add(name)
        known = _Known(team, read_given(tx, team.id, self._policy_of))
        return known, tx.facts(team.id, "start"), tx.facts(team.id, PROCESS)

    def _find_again(
        self, known: _Known, member: Member, start: Mapping[str, Any], process: Mapping[str, Any]
    ) -> None:
        """An engine that died in the middle of a salvage left the tree frozen: it is resumed."""
        act = Act(ActKind.RESUME, member.key, member.epoch)
        policy, world = known.given.policy, self._performer.world
        start = {**start, **known.given.for_every_job}
        job = Job(act, known.team, policy, world, member, start=start, process=process)
        self._performer.recover(job, resume=member.activity is not Activity.PAUSED)

    def _restore_state(self) -> None:
        """Put a removed state back. Acts reported in this turn are performed again, as after a crash."""
        if not self._store.put_back():
            return
        self._performer.put_back_records()
        with self._store.read() as tx:
            names = tx.team_names()
        for name in names:
            with self._write(name) as tx:
                team = tx.load_team(name)
                if team is not None:
                    tx.note(team.id, [Note("state_put_back", "", {})])
        raise Displaced

    # --- committing ---------------------------------------------------------------------------------

    def _write(self, name: str) -> AbstractContextManager[Tx]:
        """Every write proves that the lease of its team still holds."""
        return self._store.write(self._leases.fence(name) if self._leases is not None else None, team=name)

    def _read_all(self) -> None:
        """Find the teams that have something to commit or to begin, and forget those that are closed."""
        with self._store.read() as tx:
            names = tx.team_names()
            self._due |= dict.fromkeys(name for name in names if self._is_due(tx, name))
        for name in self._known.keys() - set(names):
            self._forget(name)

    def _commit_all(self) -> None:
        """A bug about one team must not stop the others: its results are kept for the next turn."""
        for name in self._due | dict.fromkeys(self._results):
            results = self._results.get(name, [])
            self._due.pop(name, None)
            try:
                self._commit(name, results)
            except StoreError:
                self._due[name] = None
                raise
            except Exception as error:
                _LOG.exception("the team %s could not be driven", name)
                self._report_broken(name, error)
            else:
                self._results.pop(name, None)

    def _is_due(self, tx: Tx, name: str) -> bool:
        """Whether there is anything to write or to begin. A turn opens no write transaction without that."""
        team = tx.load_team(name)
        if team is None:
            return False
        given = self._read_policy(tx, team)
        if self._results.get(name) or name in self._broken:
            return True
        aged = self._limits.grown_old(team, given.policy)
        if aged or tx.has_inputs(team.id) or any(self._sort_acts(tx, team)):
            return True
        self._watch(team, given)  # a front end may have moved it to a state that only waits
        return False

    def _given(self, tx: Tx, team: Team) -> Given:
        known = self._known.get(team.name)
        if known is not None and known.team.id == team.id:
            return known.given
        return read_given(tx, team.id, self._policy_of)

    def _read_policy(self, tx: Tx, team: Team) -> Given:
        """Read the policy again: the operator can change it. Limits that are running follow it."""
        given = self._given(tx, team)
        policy = self._policy_of(tx.team_settings(team.id))
        if policy == given.policy:
            return given
        given = given._replace(policy=policy)
        self._limits.change(team, policy)
        self._known[team.name] = _Known(team, given)
        return given

    def _commit(self, name: str, results: list[Result]) -> None:
        """One transaction: what was done, what it means, and what is to do next."""
        with self._write(name) as tx:
            team = tx.load_team(name)
            if team is None or team.status is Status.SHUTDOWN:
                self._forget(name)
                return
            given = self._given(tx, team)
            if name in self._broken:
                tx.put_fact(team.id, "", BROKEN, {})
            for result in results:
                write_result(tx, team, result)
            events = [event for result in results for event in result.outcome.events]
            aged = grown_old(tx, team, self._limits.grown_old(team, given.policy))
            events.extend(aged.values())
            applied = apply(tx, team, events, given.policy, self._make_start)
            jobs = self._new_jobs(tx, applied.team, given)
            changed = bool(applied.ready or results)
            signalled = tx.facts(team.id, SIGNALLED) if changed and waits_for_verdict(applied.team) else {}
        self._broken.discard(name)
        for result in results:
            if result.act is not None:
                self._under_way.discard((team.id, result.act.id))
                self._retries.forget((team.id, result.act.id))
        if changed:
            self._notify(applied, signalled, [mail.to for result in results for mail in result.outcome.mail])
        self._limits.asked_for_age(team.id, aged)
        self._watch(applied.team, given)
        for job in jobs:
            self._under_way.add((team.id, job.act.id))
            self._performer.begin(job)

    def _new_jobs(self, tx: Tx, team: Team, given: Given) -> list[Job]:
        """End the acts that are superseded; the jobs of those that are to begin."""
        over, new = self._sort_acts(tx, team)
        for act in over:
            tx.end_act(team.id, act.id)
            self._under_way.discard((team.id, act.id))
            self._retries.drop((team.id, act.id))
            self._retries.forget((team.id, act.id))
            report_undelivered(tx, team, act)
        world, tries = self._performer.world, self._retries.tries
        return [make_job(tx, team, act, given, world, tries((team.id, act.id))) for act in new]

    def _sort_acts(self, tx: Tx, team: Team) -> tuple[list[Act], list[Act]]:
        """The pending acts that are superseded, and those that are to begin. An act that is under way ends by
        itself; one that only waits for a retry can be superseded."""
        over: list[Act] = []
        new: list[Act] = []
        for act in tx.pending_acts(team.id):
            if is_held(team, act):
                continue
            who, superseded = (team.id, act.id), is_superseded(team, act)
            if who in self._under_way and not (superseded and self._retries.waits(who)):
                continue
            (over if superseded else new).append(act)
        return over, new

    def _notify(
        self, applied: Applied, signalled: Mapping[str, Mapping[str, Any]], mailboxes: Iterable[str]
    ) -> None:
        """Notify others about what was just committed. If that fails, the next change notifies them."""
        boxes = {f"{applied.team.id}/{box}" for box in mailboxes}
        try:
            self._store.ring((applied.channels | boxes) - {ENGINE_CHANNEL})
            self._performer.write_files(applied.team, applied.ready.happened, signalled)
        except Exception:  # what is committed must not be applied again for it
            _LOG.exception("what happened in %s could not be shown", applied.team.name)

    def _watch(self, team: Team, given: Given) -> None:
        self._known[team.name] = _Known(team, given)
        self._limits.watch(team, given.policy)
        for member in team.members.values():
            if member.settled:
                self._performer.drop(team, member.key)
        if team.status is Status.SHUTDOWN:
            self._forget(team.name)

    def _forget(self, name: str) -> None:
        self._known.pop(name, None)
        self._due.pop(name, None)
        self._results.pop(name, None)
        self._broken.discard(name)
        self._limits.forget(name)

    def _report_broken(self, name: str, error: Exception) -> None:
        """For `status`: a log is read only by someone who knows that there is something in it."""
        self._broken.add(name)
        with self._write(name) as tx:
            team = tx.load_team(name)
            if team is not None and tx.fact(team.id, "", BROKEN) != {"error": repr(error)}:
                tx.put_fact(team.id, "", BROKEN, {"error": repr(error)})
