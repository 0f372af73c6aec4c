"""Find, pause and end all processes of one incarnation, and prove that none is left.

Six kinds of evidence make a process ours, strongest first:

    descent   it is below the keeper, or below a process of ours
    orphan    it came to the subreaper above the keepers when the keeper was killed (`Members`)
    namespace it is in the PID namespace that the keeper made, or below its first process
    cgroup    it is in the cgroup that has the incarnation's name
    mark      the incarnation's mark, whole, in its environment
    session   it is in the session that the agent leads, while that agent is alive and ours

headcount signals no other process, and sends every signal through a descriptor whose process it checked
after opening it (`processes.send_signal`). A process that was ours once stays ours until it ends, even if
it scrubs its environment later.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterable
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM
from typing import NamedTuple

from headcount.runtime.containment import Cgroup
from headcount.runtime.processes import (
    Process,
    ProcessTable,
    Snapshot,
    ends_its_children,
    is_alive,
    read_below,
    read_children,
    read_process,
    send_signal,
    wait_until_gone,
)
from headcount.runtime.proof import (
    BY_CGROUP,
    BY_MARK_ONLY,
    BY_NAMESPACE,
    BY_REBOOT,
    BY_SUBREAPER,
    Held,
    Proof,
    SeenProcess,
    describe_wait_status,
)
from headcount.runtime.reaper import END_ALL, KEEPER, boot_id
from headcount.runtime.start_record import NOBODY, Identity, Record, SpawnDirectory

# --- orphans ---------------------------------------------------------------------------------------------
#
# Which member owns an orphan, a process that the kernel gave to the subreaper above the keepers because
# its own keeper was killed. The children of that subreaper are the keepers, the tmux server of headcount,
# and orphans. An orphan that carries the mark of one of the members whose keeper was killed belongs to
# it. Any other orphan could belong to each of them:
#
# - headcount ends it only when it ends every member that could own it, so that no unsaved work is cut short;
# - until it has ended, no member that could own it is fully proved gone.


class Orphans(NamedTuple):
    ours: list[Process]
    doubtful: list[Process]
    """Perhaps ours, and not ours to end."""


class Members:
    """The members that one engine knows and that are not proved gone yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._records: dict[str, Record] = {}
        self._ending: set[str] = set()

    def add(self, record: Record) -> None:
        with self._lock:
            self._records[record.mark] = record

    def set_ending(self, mark: str) -> None:
        """From now on what could be its own may be ended, as far as this member is concerned."""
        with self._lock:
            self._ending.add(mark)

    def is_ending(self, mark: str) -> bool:
        with self._lock:
            return mark in self._ending

    def set_gone(self, mark: str) -> None:
        """Nothing can be its own any more."""
        with self._lock:
            self._records.pop(mark, None)
            self._ending.discard(mark)

    def find_orphans(self, record: Record) -> Orphans:
        """Return what a killed keeper of this member may have left to the subreaper above it."""
        if record.above == NOBODY or not is_alive(record.above):
            return Orphans([], [])
        with self._lock:
            known = {**self._records, record.mark: record}
            ending = set(self._ending)
        siblings = {mark: r for mark, r in known.items() if r.above == record.above and r.boot == record.boot}
        owners = {mark for mark, r in siblings.items() if not is_alive(r.keeper)} | {record.mark}
        of_ours = {who for r in siblings.values() for who in (r.keeper, r.terminal, r.init)}
        found = Orphans([], [])
        for process in _other_children(record.above, of_ours):
            could_own = {process.mark} if process.mark in owners else owners
            if record.mark not in could_own:
                continue
            # A keeper of a start that is under way, or a process that only calls itself one.
            claims_to_keep = process.name == KEEPER
            alone = could_own - ending <= {record.mark}
            (found.ours if alone and not claims_to_keep else found.doubtful).append(process)
        return found


def _other_children(above: Identity, of_ours: set[Identity]) -> list[Process]:
    found = []
    for pid in read_children(above.pid):
        process = read_process(pid, with_mark=False)
        if process is None or process.ppid != above.pid or process.dead or process.identity in of_ours:
            continue
        if (orphan := read_process(pid)) is not None and orphan.identity == process.identity:
            found.append(orphan)
    return found


# --- the tree of one incarnation --------------------------------------------------------------------


_FREEZE_LIMIT_S = 2.0
_UNINTERRUPTIBLE = "D"
_SETTLE_S = 0.001  # a signalled process needs a moment before /proc shows its new state
_RECENT_S = 1.0  # how old a pass over /proc may be that only adds to what is below the keeper
_ROUND_S = 0.25  # after SIGKILL, before looking again
_KEEPER_LIMIT_S = 2.0  # a keeper without children ends at once; this allows for a busy machine

Found = dict[Identity, Process]


class Tree:
    """One caller at a time; the record may be of an earlier engine, or of an earlier boot."""

    def __init__(
        self, record: Record, directory: SpawnDirectory, table: ProcessTable, members: Members
    ) -> None:
        self.record = record
        self._directory = directory
        self._table = table
        self._members = members
        self._seen: dict[Identity, SeenProcess] = {}
        self._sent: dict[Identity, signal.Signals] = {}
        self._gone: Proof | None = None
        self._sealed = False
        self.rebooted = record.boot != boot_id()
        cgroup = Cgroup(record.cgroup)
        self._cgroup = cgroup if cgroup.belongs_to(record.mark) and not self.rebooted else None

    # --- finding

    def find(self) -> Found:
        """Everything of ours that is alive, without the keeper."""
        return self._note(self._with_kernel_lists(self._ours(self._table.fresh())))

    def _find_near(self) -> Found:
        """What is below the keeper now, and what a recent pass over /proc found elsewhere. Enough for asking
        it to end; the proof looks at every process."""
        if not self.keeper_alive():
            return self.find()
        return self._note(self._with_kernel_lists(self._ours(self._table.recent(_RECENT_S))))

    def _with_kernel_lists(self, ours: dict[int, tuple[Process, str]]) -> dict[int, tuple[Process, str]]:
        """Add what the kernel's lists of children name: a pass over /proc misses what forks all the time."""
        for process in self._cgroup.processes() if self._cgroup is not None else ():
            ours.setdefault(process.pid, (process, "cgroup"))
        roots: list[Process] = []
        if self.keeper_alive():
            below = read_below(self.record.keeper.pid)
        elif self.rebooted or self._is_sealed():
            return ours
        else:
            roots = self._members.find_orphans(self.record).ours
            below = {pid: p for root in roots for pid, p in read_below(root.pid).items()}
        for process in roots:
            ours[process.pid] = (process, "orphan")
        for pid, process in below.items():
            if pid not in ours or ours[pid][0].identity != process.identity:
                ours[pid] = (process, "descent")
        return ours

    def _note(self, ours: dict[int, tuple[Process, str]]) -> Found:
        for process, evidence in ours.values():
            self._seen.setdefault(
                process.identity, SeenProcess(process.pid, process.start, process.name, evidence)
            )
        return {process.identity: process for process, _ in ours.values()}

    def keeper_alive(self) -> bool:
        return not self.rebooted and is_alive(self.record.keeper)

    def _ours(self, everyone: Snapshot) -> dict[int, tuple[Process, str]]:
        """By the strongest evidence each, with all descendants; the keeper is left out."""
        ours = {process.pid: (process, "mark") for process in everyone.marked.get(self.record.mark, ())}
        for identity, seen in self._seen.items():
            if (process := everyone.find(identity)) is not None:
                ours[process.pid] = (process, seen.evidence)
        init = None if self.rebooted else everyone.find(self.record.init)
        if init is not None:
            ours[init.pid] = (init, "namespace")
        keeper = None if self.rebooted else everyone.find(self.record.keeper)
        if keeper is not None:
            ours.pop(keeper.pid, None)
        self._add_descendants(everyone, ours, [keeper.pid] if keeper is not None else [])
        agent = None if self.rebooted else everyone.find(self.record.agent)
        if agent is not None and agent.pid in ours:
            for process in everyone.sessions.get(agent.pid, ()):
                ours.setdefault(process.pid, (process, "session"))
            self._add_descendants(everyone, ours, [])
        return ours

    def _add_descendants(
        self, everyone: Snapshot, ours: dict[int, tuple[Process, str]], roots: list[int]
    ) -> None:
        ask = [*ours, *roots]
        while ask:
            for child in everyone.children.get(ask.pop(), ()):
                if child.pid not in ours and child.identity != self.record.keeper:
                    ours[child.pid] = (child, "descent")
                    ask.append(child.pid)

    # --- signalling

    def _send(self, targets: Iterable[Identity], number: signal.Signals) -> int:
        sent = 0
        for identity in targets:
            if send_signal(identity, number):
                self._sent[identity] = number
                sent += 1
        return sent

    def terminate(self) -> int:
        """SIGTERM to each, once; how many it reached. A stopped one is continued, or it could not obey."""
        targets = self._find_near()
        sent = self._send(targets, SIGTERM)
        for identity in targets:
            send_signal(identity, SIGCONT)
        return sent

    def signal_agent(self, number: signal.Signals) -> bool:
        """False when it is gone, or when nothing but a record says that it is ours."""
        if self.rebooted or self.record.agent not in self._find_near():
            return False
        return send_signal(self.record.agent, number)

    def freeze(self, limit_s: float = _FREEZE_LIMIT_S) -> Held:
        return self._hold(SIGSTOP, True, limit_s)

    def thaw(self, limit_s: float = _FREEZE_LIMIT_S) -> Held:
        return self._hold(SIGCONT, False, limit_s)

    def _hold(self, number: signal.Signals, want_stopped: bool, limit_s: float) -> Held:
        deadline = time.monotonic() + limit_s
        quiet_looks = 0
        while True:
            found = self.find()
            others = [identity for identity, process in found.items() if process.stopped != want_stopped]
            quiet_looks = 0 if others else quiet_looks + 1
            if quiet_looks == 2 or (others and time.monotonic() > deadline):
                return Held(not others, self._views(found), self._views(others))
            for identity in others:
                send_signal(identity, number)
            if want_stopped:
                self._release_vforks(found)
            if others:
                time.sleep(_SETTLE_S)

    def _release_vforks(self, found: Found) -> None:
        """The parent of a vfork sleeps, deaf to signals, until its child has called exec; which it cannot
        while we have stopped it. Let such a child run for a moment; the next round stops it again."""
        waiting = {process.pid for process in found.values() if process.state == _UNINTERRUPTIBLE}
        for identity, process in found.items():
            if process.stopped and process.ppid in waiting:
                send_signal(identity, SIGCONT)

    # --- ending

    def kill(self, limit_s: float) -> Proof:
        """SIGKILL until nothing is left, or the limit is over. What forks away from the first round is
        frozen before the next: it cannot fork while it stands still."""
        self._members.set_ending(self.record.mark)
        deadline = time.monotonic() + limit_s
        while True:
            targets = self.find()
            if self._cgroup is not None:
                self._cgroup.kill()
            self._send(targets, SIGKILL)
            if self.keeper_alive():
                # The keeper is the parent of whatever forks away: it sees each at once, and kills faster
                # than we.
                if ends_its_children(self.record.keeper):
                    send_signal(self.record.keeper, END_ALL)
                send_signal(self.record.keeper, SIGCONT)  # the member may have stopped it
                wait_until_gone([self.record.keeper], _ROUND_S)
            else:
                self._kill_orphans(min(deadline, time.monotonic() + _ROUND_S))
                wait_until_gone(targets, _ROUND_S)
            proof = self.prove_gone()
            # What could be another's too is ended as soon as that one is being ended.
            waits = proof.doubt and self._members.find_orphans(self.record).doubtful
            if (proof.empty and not waits) or time.monotonic() > deadline:
                return proof
            self.freeze(min(_FREEZE_LIMIT_S, limit_s / 4))

    def _kill_orphans(self, deadline: float) -> None:
        """Close together, without a pass over /proc in between: one that forks and exits is hard to hit."""
        while (orphans := self._members.find_orphans(self.record).ours) and time.monotonic() < deadline:
            self._note({process.pid: (process, "orphan") for process in orphans})
            self._send((process.identity for process in orphans), SIGKILL)

    def end(self, grace_s: float, limit_s: float) -> Proof:
        """SIGTERM, grace, SIGKILL, proof: the whole ladder, for callers that have no timers of their own."""
        self.terminate()
        if self.wait_empty(grace_s) and (proof := self.prove_gone()).empty:
            return proof
        return self.kill(limit_s)

    def wait_keeper(self, timeout_s: float) -> bool:
        """True as soon as the keeper has ended."""
        return not self.keeper_alive() or wait_until_gone([self.record.keeper], timeout_s)

    def wait_empty(self, timeout_s: float) -> bool:
        """True as soon as the tree seems empty; only `prove_gone` makes it a fact."""
        deadline = time.monotonic() + timeout_s
        if self.keeper_alive():
            return wait_until_gone([self.record.keeper], timeout_s)
        while found := self.find():
            if not wait_until_gone(found, max(0.0, deadline - time.monotonic())):
                return False
        return True

    # --- proving

    def prove_gone(self) -> Proof:
        """Look, and name what is alive. Signals nothing but a keeper that has no children.

        A full proof stays one: the ends of an agent and of its keeper are both reported, and one will do.
        """
        if self._gone is not None:
            return self._gone
        found = self.find()
        if not found and self.keeper_alive():
            self._see_keeper_end()
            found = self.find()
        if not found and not self._is_sealed():
            time.sleep(_SETTLE_S)  # one that was in the middle of an exec shows no environment
            found = self.find()
        keeper_alive = self.keeper_alive()
        alive = self._views(found)
        if keeper_alive:
            alive += (SeenProcess(*self.record.keeper, "keeper", "record"),)
        method, doubt, doubtful = self._method(keeper_alive)
        if not self._members.is_ending(self.record.mark):
            # Ended by `kill`, if it can be. Until somebody has tried, it counts as alive.
            alive += tuple(SeenProcess(p.pid, p.start, p.name, "orphan") for p in doubtful)
        proof = Proof(not alive, method, time.time(), self._endings(found), alive, doubt)
        if proof.empty and not proof.doubt:
            self._members.set_gone(self.record.mark)
            self._gone = proof
        if proof.empty and self._cgroup is not None:
            self._cgroup.remove()
        return proof

    def _see_keeper_end(self) -> None:
        """A keeper without children ends at once. One that was stopped from outside is continued. One that
        hangs is killed, but never while it has a child: its end would hide that child."""
        keeper = self.record.keeper
        send_signal(keeper, SIGCONT)
        if wait_until_gone([keeper], _KEEPER_LIMIT_S) or read_children(keeper.pid) or self.find():
            return
        if not read_children(keeper.pid):
            send_signal(keeper, SIGKILL)
            wait_until_gone([keeper], _KEEPER_LIMIT_S)

    def _method(self, keeper_alive: bool) -> tuple[str, str, list[Process]]:
        """How it is proved, what is in doubt, and which processes cause the doubt."""
        if self.rebooted:
            return BY_REBOOT, "", []
        if self.record.init != NOBODY:
            return BY_NAMESPACE, "", []
        method, doubt, doubtful = self._method_of_subreapers(keeper_alive)
        if self._cgroup is None or self._cgroup.is_populated():
            return method, doubt, doubtful
        # A process of the same user can leave its cgroup. Only a subreaper knows that none did.
        return BY_CGROUP, doubt and f"its cgroup is empty, but {doubt}", doubtful

    def _method_of_subreapers(self, keeper_alive: bool) -> tuple[str, str, list[Process]]:
        if keeper_alive or self._is_sealed():
            return BY_SUBREAPER, "", []
        if not is_alive(self.record.above):
            known = self.record.above != NOBODY
            why = "its keeper and the process above it were killed" if known else "its keeper was killed"
            return BY_MARK_ONLY, f"{why}: what it started without its environment may be alive", []
        if doubtful := self._members.find_orphans(self.record).doubtful:
            names = ", ".join(f"{process.name} ({process.pid})" for process in doubtful)
            return BY_MARK_ONLY, f"its keeper was killed, and {names} may be a process that it left", doubtful
        return BY_SUBREAPER, "", []

    def _is_sealed(self) -> bool:
        """Whether the keeper itself recorded that nothing was left: nobody else knows the secret."""
        if not self._sealed and self.record.seals:
            emptied = self._directory.emptied()
            self._sealed = emptied is not None and emptied.seal in self.record.seals
        return self._sealed

    def _endings(self, found: Found) -> tuple[SeenProcess, ...]:
        seen = dict(self._seen)
        if self.record.agent.pid:
            seen.setdefault(self.record.agent, SeenProcess(*self.record.agent, "agent", "record"))
        emptied = self._directory.emptied()
        reaped = dict(emptied.reaped) if emptied else {}
        exit_status = self._directory.exit_status()
        endings = []
        for identity, view in seen.items():
            if identity in found:
                ended = ""
            elif identity == self.record.agent and exit_status:
                ended = str(exit_status)
            elif identity.pid in reaped:
                ended = describe_wait_status(reaped[identity.pid])
            else:
                sent = self._sent.get(identity)
                ended = f"seen gone after {sent.name}" if sent else "seen gone"
            endings.append(SeenProcess(view.pid, view.start, view.name, view.evidence, ended))
        return tuple(endings)

    def _views(self, identities: Iterable[Identity]) -> tuple[SeenProcess, ...]:
        return tuple(self._seen[identity] for identity in identities)
