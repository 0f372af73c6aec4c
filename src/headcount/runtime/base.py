"""What the runtimes have in common: the start as a handshake with a keeper, and all that works on trees.

A start is believed when the record is on disk. Everything after it goes by that record, so an engine
that crashed, or never was, makes no difference: `adopt` gives the same handle.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import replace

from headcount.errors import Bug, ProcessError
from headcount.ports import SpawnSpec
from headcount.runtime import log, own_tmux
from headcount.runtime.census import (
    Census,
    Process,
    find_agent,
    find_keepers,
    is_alive,
    open_pidfd,
    send_signal,
    wait_until_gone,
)
from headcount.runtime.handshake import ask_keeper, wait_readable
from headcount.runtime.keeper import boot_id
from headcount.runtime.mark import Mark, parse_mark, state_id
from headcount.runtime.proof import Held, Proof
from headcount.runtime.said import SAID, Said
from headcount.runtime.spawn import ExitStatus, Identity, Record, SpawnDirectory
from headcount.runtime.tree import Tree

_START_TIMEOUT_S = 20.0
_EXIT_RECORD_S = 2.0  # from the agent's end to the keeper's synced record of it
_EXIT_LOOK_S = 0.005  # a keeper that others keep alive tells nobody when the record is there
_LOST_S = 10.0  # a record is lost once and for all: nobody is looked for again so soon
_CALLED_OFF_S = 2.0  # from then to the end of the keeper
_CAPTURE_BYTES = 16384
TAKEN_S = 2.0  # what is put before an agent that pauses is read at once, or not soon


class Handle:
    """One incarnation's processes. Each descriptor becomes readable at an end, and is None when that is
    past: `exit_fd` the agent's own, `keeper_fd` that of all that it started."""

    def __init__(self, record: Record, directory: SpawnDirectory, census: Census) -> None:
        self.record = record
        self.directory = directory
        self.tree = Tree(record, directory, census)
        self.exit_fd: int | None = None
        self.keeper_fd: int | None = None
        if not self.tree.rebooted:
            self._open(record)

    def __repr__(self) -> str:
        return f"Handle({self.record.mark}, pid {self.record.agent.pid})"

    def _open(self, record: Record) -> None:
        try:
            self.exit_fd = open_pidfd(record.agent)
            self.keeper_fd = open_pidfd(record.keeper)
        except OSError:
            self.close()  # there is one left, and it is needed
            raise

    def close(self) -> None:
        """Lets go of descriptors; the processes do not notice."""
        for fd in (self.exit_fd, self.keeper_fd):
            if fd is not None:
                os.close(fd)
        self.exit_fd = self.keeper_fd = None


class ProcessRuntime:
    """Give `launch` a directory, and it starts a keeper there."""

    def __init__(self, state_directory: str, start_timeout_s: float = _START_TIMEOUT_S) -> None:
        self.state_directory = os.path.realpath(state_directory)
        self.state_id = state_id(self.state_directory)
        self.census = Census()
        self._start_timeout_s = start_timeout_s
        self._run_directory = f"{self.state_directory}/run"
        os.makedirs(self._run_directory, mode=0o700, exist_ok=True)

    def launch(self, spec: SpawnSpec, home: str) -> None:
        raise NotImplementedError

    # --- starting

    def start(self, spec: SpawnSpec) -> Handle:
        """Start it, or find it started: the same mark never runs twice. Raises when nothing runs."""
        directory = self._directory(spec.mark)
        if directory.known() is None:
            sockets = own_tmux.make_directory(self.state_directory, spec.mark)
            spec = replace(spec, env={**spec.env, own_tmux.VARIABLE: sockets})
            try:
                reply = ask_keeper(spec, directory, self.launch, self._start_timeout_s)
            except (ProcessError, OSError):
                if self._call_off(spec.mark, directory):
                    raise
                reply = "started"  # in spite of the error
            if reply != "started":
                self._refuse(spec, directory, reply)
        handle = self.adopt(spec.mark) or self._adopt_unrecorded(spec.mark)
        if handle is None:
            raise ProcessError(f"Did not start {spec.mark}", "it was called off", code="start-failed")
        return handle

    def adopt(self, mark: str) -> Handle | None:
        """The handle of a start that happened, whoever asked for it; None when there was none."""
        self._refuse_anothers(mark)
        directory = self._directory(mark)
        record = directory.known() or self._see_again(mark, directory, _LOST_S)
        return Handle(record, directory, self.census) if record else None

    def _see_again(self, mark: str, directory: SpawnDirectory, within_s: float) -> Record | None:
        """The record of one that runs, when it was removed or damaged: else it would be taken for one that
        has ended, and be ended for that."""
        ended = directory.is_called_off() or directory.exit_status()
        if ended or mark not in self.census.recent(within_s).marked:
            return None
        keeper = self._keepers().get(mark)
        agent = find_agent(self.census.fresh(), keeper, mark) if keeper else None
        return Record(mark, agent, keeper, boot_id(), time.time()) if keeper and agent else None

    def adopt_by_mark(self, mark: str) -> Handle:
        """For processes of which no record is left: by mark, and by the keeper, if that is still there."""
        self._refuse_anothers(mark)
        nobody = Identity(0, 0)
        directory = self._directory(mark)
        keeper = self._keepers().get(mark, nobody)
        return Handle(Record(mark, nobody, keeper, boot_id(), time.time()), directory, self.census)

    def put_back(self, handle: Handle) -> None:
        """Its records were removed while it runs: what they said of its start is known here."""
        handle.directory.put_back(handle.record)

    def _refuse_anothers(self, mark: str) -> None:
        """A copy of a state directory has the records of the original's members; they are not its own (I10).
        One that was moved, they have moved with."""
        parsed = parse_mark(mark)
        if parsed is None or parsed.state == self.state_id:
            return
        everyone = self.census.fresh()
        homes = [home for home in find_keepers(everyone) if os.path.basename(home) == mark]
        if f"{self._run_directory}/{mark}" not in homes and (homes or mark in everyone.marked):
            raise ProcessError(
                f"Did not touch {mark}",
                f"it is alive, and of another state directory than {self.state_directory}",
                ("Stand it down where it was started, from which this directory was copied",),
                code="another-state",
            )

    def _adopt_unrecorded(self, mark: str) -> Handle | None:
        """It runs, and its record is gone: somebody has removed it at once."""
        directory = self._directory(mark)
        if (record := self._see_again(mark, directory, 0.0)) is not None:
            return Handle(record, directory, self.census)
        handle = self.adopt_by_mark(mark)
        if handle.tree.find():
            return handle
        handle.close()
        return None

    def _call_off(self, mark: str, directory: SpawnDirectory) -> bool:
        """True when the start has not happened and never will. That no record is there proves nothing."""
        return directory.cancel() and not self._runs(mark)

    def _runs(self, mark: str) -> bool:
        """Something of it, or a keeper that does not end as one does whose start was called off."""
        if mark in self.census.fresh().marked:
            return True
        keeper = self._keepers().get(mark)
        return keeper is not None and not wait_until_gone([keeper], _CALLED_OFF_S)

    def _keepers(self) -> dict[str, Identity]:
        """Those of this state directory that are alive, by mark, whatever is left of their records."""
        return {
            os.path.basename(home): keeper
            for home, keeper in find_keepers(self.census.fresh()).items()
            if os.path.dirname(home) == self._run_directory
        }

    def cancel(self, mark: str) -> Handle | None:
        """Settle a start of which nobody knows how far it came: it can no longer happen, or here it is."""
        handle = self.adopt(mark)
        if handle is None:
            self._directory(mark).cancel()
            handle = self.adopt(mark)
        return handle

    def discard(self, mark: str) -> None:
        """Remove the records and the log. Refused while it lives: without a record, only the mark is left."""
        directory = self._directory(mark)
        record = directory.record()
        if record and record.boot == boot_id() and (is_alive(record.agent) or is_alive(record.keeper)):
            raise ProcessError(f"Did not remove the records of {mark}", "it is alive", code="still-alive")
        shutil.rmtree(directory.path, ignore_errors=True)

    def _directory(self, mark: str) -> SpawnDirectory:
        if parse_mark(mark) is None or "/" in mark:
            raise Bug(f"{mark!r} is not a mark", code="invalid-mark")
        return SpawnDirectory(f"{self._run_directory}/{mark}")

    def _refuse(self, spec: SpawnSpec, directory: SpawnDirectory, reply: str) -> None:
        """No "started": whatever the keeper is still about to do, it must not succeed unnoticed."""
        if not self._call_off(spec.mark, directory) and directory.exit_status() is None:
            return
        exit_status = directory.exit_status()
        why = exit_status.error if exit_status and exit_status.error else reply
        raise ProcessError(
            f"Did not start {spec.argv[0]}",
            why or f"its keeper did not answer within {self._start_timeout_s:g} s",
            (f"Run it by hand in {spec.cwd}",),
            code="start-failed",
        )

    # --- looking

    def alive(self, handle: Handle) -> bool:
        """Is the agent itself alive: its process, not its terminal, nor what it has left behind."""
        return not handle.tree.rebooted and is_alive(handle.record.agent)

    def processes(self, handle: Handle) -> tuple[Process, ...]:
        return tuple(handle.tree.find().values())

    def exit_status(self, handle: Handle) -> ExitStatus | None:
        """None while it runs. After its end the keeper's record is a moment away."""
        deadline = time.monotonic() + _EXIT_RECORD_S
        while not self.alive(handle):
            status = handle.directory.exit_status()
            if status is not None:
                return status
            if handle.tree.wait_keeper(_EXIT_LOOK_S) or time.monotonic() > deadline:
                return handle.directory.exit_status() or ExitStatus(None, None, time.time())
        return None

    def wait_exit(self, handle: Handle, timeout_s: float) -> ExitStatus | None:
        """None when it still runs after `timeout_s`. Many at once: select on their `exit_fd`."""
        if handle.exit_fd is not None:
            wait_readable(handle.exit_fd, timeout_s)
        return self.exit_status(handle)

    def capture(self, handle: Handle) -> str:
        """What it shows: plain text, the newest at the end."""
        return log.plain_text(log.read_tail(handle.directory.path, _CAPTURE_BYTES))

    def silent_for_s(self, handle: Handle) -> float:
        """Since when it has printed nothing; since its start, if it never did."""
        return max(0.0, time.time() - max(log.last_written(handle.directory.path), handle.record.at))

    def list_marked(self) -> dict[str, list[Process]]:
        """Every process of this state directory that is alive, by mark: those that carry it, and, where
        none does any more, what lives below a recorded keeper."""
        marked: dict[str, list[Process]] = {}
        for text, processes in self.census.fresh().marked.items():
            mark = parse_mark(text)
            if mark is not None and mark.state == self.state_id:
                marked[text] = processes
        for kept in self._keepers():
            if kept not in marked and (below := self._below_keeper(kept)):
                marked[kept] = below
        return marked

    def _below_keeper(self, mark: str) -> list[Process]:
        handle = self.adopt_by_mark(mark)
        handle.close()
        return list(handle.tree.find().values())

    def list_started(self) -> list[Mark]:
        """Every start that left records here."""
        names = sorted(os.listdir(self._run_directory))
        return [mark for name in names if (mark := parse_mark(name)) is not None]

    # --- acting

    def nudge(self, handle: Handle, text: str, *, urgent: bool = False, tag: str = "") -> bool:
        """Put `text` before the agent. True only when it was seen to take it.

        False is "not yet": it is busy, or has not read it so far. Asked again with the same `tag`, what was
        put there once is not put there again, whoever asks (E10); unless `urgent`, nobody is disturbed (E11).
        """
        said = Said(handle.directory.file(SAID))
        if tag and said.taken(tag):
            return True
        line = log.plain_text(text.encode()).strip("\n")
        try:
            if not self.alive(handle):
                return False
            if not (tag and said.waits(tag)) and not self.put_in_front(handle, line, urgent):
                return False
            said.put(tag)
            taken = self.was_taken(handle, line)
        except ProcessError:
            return False  # its terminal went away meanwhile
        if taken:
            said.took(tag)
        return taken

    def put_in_front(self, handle: Handle, text: str, urgent: bool) -> bool:
        """Where the agent will read it; False when it did not get there, and nothing of it is left there."""
        raise NotImplementedError

    def was_taken(self, handle: Handle, text: str, limit_s: float = TAKEN_S) -> bool:
        """Whether what was put there has been read, after a moment at most."""
        raise NotImplementedError

    def request_exit(self, handle: Handle, text: str | None = None, limit_s: float = 10.0) -> bool:
        """Its own way to exit: `text` as if typed, or else SIGTERM to the agent alone.

        What follows is due after `limit_s`, so nothing is waited for any longer, taken or not.
        """
        if text is None:
            return not handle.tree.rebooted and send_signal(handle.record.agent, signal.SIGTERM)
        line = log.plain_text(text.encode()).strip("\n")
        return self.alive(handle) and self.type_exit(handle, line, limit_s)

    def type_exit(self, handle: Handle, line: str, limit_s: float) -> bool:
        return self.put_in_front(handle, line, True) and self.was_taken(handle, line, min(limit_s, TAKEN_S))

    def terminate(self, handle: Handle) -> int:
        """SIGTERM to the whole tree; does not wait."""
        return handle.tree.terminate()

    def kill(self, handle: Handle, limit_s: float = 10.0) -> Proof:
        return self._released(handle, handle.tree.kill(limit_s))

    def stop(self, handle: Handle, grace_s: float, limit_s: float = 10.0) -> Proof:
        """SIGTERM, grace, SIGKILL, proof."""
        return self._released(handle, handle.tree.end(grace_s, limit_s))

    def _released(self, handle: Handle, proof: Proof) -> Proof:
        """Remove what only living processes need."""
        if proof.empty:
            own_tmux.remove_directory(self.state_directory, handle.record.mark)
        return proof

    def pause(self, handle: Handle) -> Held:
        return handle.tree.freeze()

    def resume(self, handle: Handle) -> Held:
        return handle.tree.thaw()

    def wait_empty(self, handle: Handle, timeout_s: float) -> bool:
        return handle.tree.wait_empty(timeout_s)

    def prove_gone(self, handle: Handle) -> Proof:
        return self._released(handle, handle.tree.prove_gone())

    def close(self) -> None:
        """Ends what the runtime itself needs; members and keepers go on."""


def wait_for(condition: Callable[[], bool], timeout_s: float, step_s: float = 0.01) -> bool:
    """For what tells nobody when it changes: a screen, the level of a pipe."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(step_s)
    return True
