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

from headcount.runtime.census import Census, Process, is_alive, send_signal, wait_until_gone
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
        self.rebooted = record.boot != boot_id()

    # --- looking

    def find(self) -> dict[Identity, Process]:
        """Everything of ours that is alive at one look, without the keeper."""
        everyone = self._census.fresh()
        ours = self._below(self._evident(everyone), everyone)
        for process, evidence in ours.values():
            self._seen.setdefault(
                process.identity, SeenProcess(process.pid, process.start, process.name, evidence)
            )
        return {process.identity: process for process, _ in ours.values()}

    def keeper_alive(self) -> bool:
        return not self.rebooted and is_alive(self.record.keeper)

    def _evident(self, everyone: dict[int, Process]) -> dict[int, tuple[Process, str]]:
        agent = everyone.get(self.record.agent.pid)
        agent_alive = not self.rebooted and agent is not None and agent.identity == self.record.agent
        ours: dict[int, tuple[Process, str]] = {}
        for process in everyone.values():
            if agent_alive and process is agent:
                ours[process.pid] = (process, "record")
            elif process.mark == self.record.mark:
                ours[process.pid] = (process, "mark")
            elif agent_alive and process.session == self.record.agent.pid:
                ours[process.pid] = (process, "session")
            elif process.identity in self._seen:
                ours[process.pid] = (process, self._seen[process.identity].evidence)
        return ours

    def _below(
        self, ours: dict[int, tuple[Process, str]], everyone: dict[int, Process]
    ) -> dict[int, tuple[Process, str]]:
        """Add all descendants of the keeper and of what is ours already; leave the keeper out."""
        children: dict[int, list[Process]] = {}
        for process in everyone.values():
            children.setdefault(process.ppid, []).append(process)
        keeper = everyone.get(self.record.keeper.pid)
        ask = list(ours)
        if keeper is not None and not self.rebooted and keeper.identity == self.record.keeper:
            ours.pop(keeper.pid, None)
            ask.append(keeper.pid)
        while ask:
            for child in children.get(ask.pop(), ()):
                if child.pid not in ours and child.identity != self.record.keeper:
                    ours[child.pid] = (child, "descent")
                    ask.append(child.pid)
        return ours

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
        targets = self.find()
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
        if self.wait_empty(grace_s):
            return self.prove_gone()
        return self.kill(limit_s)

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
        """Look, and say what is alive. Signals nothing but a keeper that has nobody left to keep."""
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
