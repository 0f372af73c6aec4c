"""All processes of one incarnation: finding, holding and ending them, and the proof that none is left.

Four kinds of evidence make a process ours, strongest first:

    descent   it is below the keeper, or below one that is ours
    record    it is the agent that the keeper recorded: pid, start time and boot
    mark      the incarnation's mark, whole, in its environment
    session   it is in the session that the recorded agent leads, while that agent is alive

No other process is ever signalled; and every signal goes through a descriptor whose process was
checked after it was opened (`census.send_signal`). What was ours once stays ours until it ends, even
if it scrubs its environment later.

A tree may fork while it is being ended. So nothing is believed after one look: holding it takes two
looks in a row at which everything stood still, and ending it goes on until the keeper has ended,
which it does only when the kernel knows no descendant. Without a keeper, two empty looks in a row
have to do, and the proof says so.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM

from headcount.runtime.census import (
    Census,
    Everyone,
    Process,
    is_alive,
    read_below,
    send_signal,
    wait_until_gone,
)
from headcount.runtime.keeper import boot_id
from headcount.runtime.proof import (
    BY_MARK_ONLY,
    BY_REBOOT,
    BY_SUBREAPER,
    Held,
    Proof,
    SeenProcess,
    describe_wait_status,
)
from headcount.runtime.spawn import Identity, Record, SpawnDirectory

_FREEZE_LIMIT_S = 2.0
_UNINTERRUPTIBLE = "D"
_SETTLE_S = 0.001  # a signalled process needs a moment before /proc shows its new state
_RECENT_S = 1.0  # how old a look at everyone may be that only adds to what is below the keeper
_ROUND_S = 0.25  # after SIGKILL, before looking again
_KEEPER_LIMIT_S = 2.0  # a keeper without children ends at once; this is patience with a busy machine


class Tree:
    """One caller at a time; the record may be of an earlier engine, or of an earlier boot."""

    def __init__(self, record: Record, directory: SpawnDirectory, census: Census) -> None:
        self.record = record
        self._directory = directory
        self._census = census
        self._seen: dict[Identity, SeenProcess] = {}
        self._sent: dict[Identity, signal.Signals] = {}
        self._gone: Proof | None = None
        self.rebooted = record.boot != boot_id()

    # --- looking

    def find(self) -> dict[Identity, Process]:
        """Everything of ours that is alive at one look, without the keeper."""
        return self._note(self._ours(self._census.fresh()))

    def _find_near(self) -> dict[Identity, Process]:
        """What is below the keeper now, and what of ours was seen elsewhere a moment ago. Enough for asking
        it to end; whoever is missed is found by the proof, for which every process is looked at."""
        if not self.keeper_alive():
            return self.find()
        ours = self._ours(self._census.recent(_RECENT_S))
        for pid, process in read_below(self.record.keeper.pid).items():
            if pid not in ours or ours[pid][0].identity != process.identity:
                ours[pid] = (process, "record" if process.identity == self.record.agent else "descent")
        return self._note(ours)

    def _note(self, ours: dict[int, tuple[Process, str]]) -> dict[Identity, Process]:
        for process, evidence in ours.values():
            self._seen.setdefault(
                process.identity, SeenProcess(process.pid, process.start, process.name, evidence)
            )
        return {process.identity: process for process, _ in ours.values()}

    def keeper_alive(self) -> bool:
        return not self.rebooted and is_alive(self.record.keeper)

    def _ours(self, everyone: Everyone) -> dict[int, tuple[Process, str]]:
        """By the strongest evidence each, with all descendants; the keeper is left out."""
        ours = self._evident(everyone)
        ask = list(ours)
        if not self.rebooted and everyone.find(self.record.keeper):
            ours.pop(self.record.keeper.pid, None)
            ask.append(self.record.keeper.pid)
        while ask:
            for child in everyone.children.get(ask.pop(), ()):
                if child.pid not in ours and child.identity != self.record.keeper:
                    ours[child.pid] = (child, "descent")
                    ask.append(child.pid)
        return ours

    def _evident(self, everyone: Everyone) -> dict[int, tuple[Process, str]]:
        agent = None if self.rebooted else everyone.find(self.record.agent)
        ours = [(agent, "record")] if agent is not None else []
        ours += [(process, "mark") for process in everyone.marked.get(self.record.mark, ())]
        if agent is not None:
            ours += [(process, "session") for process in everyone.sessions.get(agent.pid, ())]
        for identity, seen in self._seen.items():
            if (process := everyone.find(identity)) is not None:
                ours.append((process, seen.evidence))
        return {process.pid: (process, evidence) for process, evidence in reversed(ours)}

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

    def _release_vforks(self, found: dict[Identity, Process]) -> None:
        """The parent of a vfork sleeps, deaf to signals, until its child has called exec; which it cannot
        while we have stopped it. Let such a child go on for a moment; the next look stops it again."""
        waiting = {process.pid for process in found.values() if process.state == _UNINTERRUPTIBLE}
        for identity, process in found.items():
            if process.stopped and process.ppid in waiting:
                send_signal(identity, SIGCONT)

    # --- ending

    def kill(self, limit_s: float) -> Proof:
        """SIGKILL until nothing is left, or the limit is over. What forks away from the first round is
        frozen before the next: it cannot fork while it stands still."""
        deadline = time.monotonic() + limit_s
        while True:
            targets = self.find()
            self._send(targets, SIGKILL)
            wait_until_gone([self.record.keeper] if self.keeper_alive() else targets, _ROUND_S)
            proof = self.prove_gone()
            if proof.empty or time.monotonic() > deadline:
                return proof
            self.freeze(min(_FREEZE_LIMIT_S, limit_s / 4))

    def end(self, grace_s: float, limit_s: float) -> Proof:
        """SIGTERM, grace, SIGKILL, proof: the whole ladder, for whoever has no timers of its own."""
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
        """Look, and say what is alive. Signals nothing but a keeper that has nobody left to keep.

        Once proved it stays so: the ends of an agent and of its keeper are both told, and one look will do.
        """
        if self._gone is None:
            proof = self._look_for_proof()
            self._gone = proof if proof.empty else None
            return proof
        return self._gone

    def _look_for_proof(self) -> Proof:
        found = self.find()
        if not found and self.keeper_alive():
            self._see_keeper_end()
            found = self.find()
        if not found and not self._directory.emptied():
            time.sleep(_SETTLE_S)  # one that was in the middle of an exec shows no environment
            found = self.find()
        return self._proof(found)

    def _see_keeper_end(self) -> None:
        if wait_until_gone([self.record.keeper], _KEEPER_LIMIT_S) or self.find():
            return
        # Stopped from outside, or hung. Without children it has no more use.
        send_signal(self.record.keeper, SIGKILL)
        wait_until_gone([self.record.keeper], _KEEPER_LIMIT_S)

    def _proof(self, found: dict[Identity, Process]) -> Proof:
        keeper_alive = self.keeper_alive()
        alive = self._views(found)
        if keeper_alive:
            alive += (SeenProcess(*self.record.keeper, "keeper", "record"),)
        return Proof(
            empty=not alive,
            method=self._method(keeper_alive),
            at=time.time(),
            processes=self._endings(found),
            alive=alive,
        )

    def _method(self, keeper_alive: bool) -> str:
        if self.rebooted:
            return BY_REBOOT
        return BY_SUBREAPER if keeper_alive or self._directory.emptied() else BY_MARK_ONLY

    def _endings(self, found: dict[Identity, Process]) -> tuple[SeenProcess, ...]:
        if self.record.agent.pid:
            self._seen.setdefault(self.record.agent, SeenProcess(*self.record.agent, "agent", "record"))
        emptied = self._directory.emptied()
        reaped = dict(emptied.reaped) if emptied else {}
        exit_status = self._directory.exit_status()
        endings = []
        for identity, view in self._seen.items():
            if identity in found:
                ended = ""
            elif identity == self.record.agent and exit_status:
                ended = str(exit_status)
            elif identity.pid in reaped:
                ended = describe_wait_status(reaped[identity.pid])
            else:
                ended = self._last_signal(identity)
            endings.append(SeenProcess(view.pid, view.start, view.name, view.evidence, ended))
        return tuple(endings)

    def _last_signal(self, identity: Identity) -> str:
        sent = self._sent.get(identity)
        return f"seen gone after {sent.name}" if sent else "seen gone"

    def _views(self, identities: Iterable[Identity]) -> tuple[SeenProcess, ...]:
        return tuple(self._seen[identity] for identity in identities)
