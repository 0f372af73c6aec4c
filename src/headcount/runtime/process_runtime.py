"""What both runtimes share: the start as a handshake with a keeper, and all operations on process trees.

A start counts when the keeper has answered with its record. The engine keeps that record in the store. An
engine that crashed before it could do so finds the keeper's own file, and believes what the kernel
confirms.
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from headcount.errors import Bug, ProcessError
from headcount.ports import LOG_LIMIT, SpawnSpec
from headcount.runtime import containment, log
from headcount.runtime.mark import Mark, parse_mark, state_id
from headcount.runtime.processes import (
    Process,
    ProcessTable,
    find_agent,
    find_keepers,
    find_parent,
    find_server,
    is_alive,
    is_keeper_of,
    open_pidfd,
    read_process,
    wait_until_gone,
)
from headcount.runtime.proof import Held, Proof
from headcount.runtime.reaper import KEEPER, Log, boot_id
from headcount.runtime.reaper_client import MEMBERS, ForkServer, ask_keeper, wait_readable
from headcount.runtime.start_record import (
    NOBODY,
    SAID,
    TMUX_VARIABLE,
    ExitStatus,
    Identity,
    Record,
    Said,
    SpawnDirectory,
    digest,
    make_tmux_directory,
    remove_tmux_directory,
)
from headcount.runtime.tree import Members, Tree
from headcount.tree_removal import remove_tree

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

    def __init__(
        self, record: Record, directory: SpawnDirectory, table: ProcessTable, members: Members
    ) -> None:
        self.record = record
        self.directory = directory
        self.tree = Tree(record, directory, table, members)
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

    def as_dict(self) -> dict[str, Any]:
        """Return the record that the store keeps and `adopt` takes."""
        return self.record.as_dict()

    def close(self) -> None:
        """Close the descriptors; the processes do not notice."""
        for fd in (self.exit_fd, self.keeper_fd):
            if fd is not None:
                os.close(fd)
        self.exit_fd = self.keeper_fd = None


class Shared:
    """What the runtimes of one engine share: the server above all keepers, and what is known of processes."""

    def __init__(self) -> None:
        self.server = ForkServer(MEMBERS)
        self.table = ProcessTable()
        self.members = Members()
        self._cgroup_base: str | None = None
        self._tried_cgroup: Identity | None = None
        self._trying = threading.Lock()  # members start at the same time; each waits for the answer

    def cgroup_base(self) -> str | None:
        """Where members' cgroups can be made: that of the server above all keepers. None: nowhere."""
        self.server.ensure()
        with self._trying:
            if self._tried_cgroup != self.server.identity:
                self._tried_cgroup = self.server.identity
                base = containment.cgroup_of(self.server.identity.pid)
                self._cgroup_base = base if containment.can_make_cgroup(base) else None
            return self._cgroup_base


class ProcessRuntime:
    """`connect` starts a keeper for a directory, and returns the connection to it."""

    def __init__(
        self,
        state_directory: str,
        shared: Shared | None = None,
        start_timeout_s: float = _START_TIMEOUT_S,
    ) -> None:
        self.state_directory = os.path.realpath(state_directory)
        self.state_id = state_id(self.state_directory)
        self.shared = shared or Shared()
        self._table = self.shared.table
        self._start_timeout_s = start_timeout_s
        self._run_directory = f"{self.state_directory}/run"
        self._swept_base = ""
        os.makedirs(self._run_directory, mode=0o700, exist_ok=True)

    def connect(self, spec: SpawnSpec, home: str, timeout_s: float) -> socket.socket:
        raise NotImplementedError

    # --- starting

    def start(self, spec: SpawnSpec) -> Handle:
        """Start it, or find it started: the same mark never runs twice. Raises when nothing runs."""
        directory = self._directory(spec.mark)
        seal = spec.seal or secrets.token_bytes(16)
        known: dict[str, Any] = {"seals": [*spec.seals, digest(seal)], "hold": spec.hold}
        if directory.known() is None:
            # Before its cgroup: one without a directory was left by a start that was killed.
            os.makedirs(directory.path, mode=0o700, exist_ok=True)
            sockets = make_tmux_directory(self.state_directory, spec.mark)
            spec = replace(spec, env={**spec.env, TMUX_VARIABLE: sockets})
            try:
                more = {"seal": seal.hex(), **self._contain(spec, known)}
                reply, record = ask_keeper(spec, more, directory, self.connect, self._start_timeout_s)
            except (ProcessError, OSError):
                if self._call_off(spec.mark, directory):
                    containment.Cgroup(known.get("cgroup", "")).remove()
                    raise
                reply, record = "started", None  # in spite of the error
            if reply != "started":
                containment.Cgroup(known.get("cgroup", "")).remove()  # stays if anything is in it
                self._refuse(spec, directory, reply)
            elif record is not None:
                return self._handle(self._complete(record, known), directory)
        handle = self.adopt(spec.mark, known) or self._adopt_unrecorded(spec.mark, known)
        if handle is None:
            raise ProcessError(f"Did not start {spec.mark}", "it was called off", code="start-failed")
        return handle

    def _contain(self, spec: SpawnSpec, known: dict[str, Any]) -> dict[str, Any]:
        """What the keeper has to do for the containment, chosen by what the machine can do."""
        if spec.containment == containment.SUBREAPER:
            return {}
        base = self.shared.cgroup_base()
        namespace = spec.containment != containment.CGROUP and containment.can_make_namespace()
        chosen = containment.choose(spec.containment, spec.argv, base is not None, namespace)
        if chosen == containment.CGROUP:
            assert base is not None
            if base != self._swept_base:
                self._swept_base = base
                containment.remove_left(base, self._is_over)
            cgroup = containment.Cgroup.of(base, spec.mark)
            cgroup.create()
            known["cgroup"] = cgroup.path
            return {"cgroup": cgroup.path}
        return {"namespace": chosen == containment.NAMESPACE}

    def remove_left_cgroups(self) -> list[str]:
        """Remove empty cgroups of starts that were killed or called off; return their paths."""
        base = containment.cgroup_of()
        return containment.remove_left(base, self._is_over) if base is not None else []

    def _is_over(self, mark: str) -> bool:
        """Whether a start of this state directory has ended, was called off, or was killed early."""
        parsed = parse_mark(mark)
        if parsed is None or parsed.state != self.state_id:
            return False
        directory = self._directory(mark)
        if not os.path.isdir(directory.path) or directory.is_called_off():
            return True
        return directory.exit_status() is not None

    def adopt(self, mark: str, known: Mapping[str, Any] | None = None) -> Handle | None:
        """The handle of a start that happened; None without one. `known`: what the store has of it."""
        self._refuse_anothers(mark)
        directory = self._directory(mark)
        record = self._recorded(directory, known or {}) or self._see_again(mark, directory, _LOST_S, known)
        return self._handle(record, directory) if record else None

    def _handle(self, record: Record, directory: SpawnDirectory) -> Handle:
        handle = Handle(record, directory, self._table, self.shared.members)
        self.shared.members.add(record)
        return handle

    def _recorded(self, directory: SpawnDirectory, known: Mapping[str, Any]) -> Record | None:
        """What the store knows, or what the file says and the kernel confirms."""
        if "keeper" in known:
            record = Record.from_dict(known)
            if record.boot != boot_id() or not is_alive(record.keeper) or _is_named_keeper(record.keeper):
                return record
            return replace(record, keeper=NOBODY)
        told = directory.known()
        if told is None or told.boot != boot_id():
            return told and replace(told, seals=tuple(known.get("seals", ())), hold=known.get("hold", ""))
        keeper = told.keeper
        if is_alive(keeper) and not is_keeper_of(keeper, directory.path):
            keeper = self._keepers().get(os.path.basename(directory.path), NOBODY)
        agent = told.agent
        if is_alive(agent) and not _is_evident(agent, told.mark, keeper):
            agent = find_agent(self._table.fresh(), keeper, told.mark) or NOBODY
        init = told.init if _is_below(told.init, keeper) or not is_alive(told.init) else NOBODY
        return self._complete(replace(told, keeper=keeper, agent=agent, init=init), known)

    def _complete(self, record: Record, known: Mapping[str, Any]) -> Record:
        """Add what the kernel knows of the keeper's place."""
        alive = is_alive(record.keeper)
        return replace(
            record,
            above=find_server(record.keeper.pid) if alive else NOBODY,
            terminal=find_parent(record.keeper.pid) if alive and record.pane else NOBODY,
            cgroup=known.get("cgroup") or self._find_cgroup(record),
            seals=tuple(known.get("seals", ())),
            hold=known.get("hold", ""),
        )

    def _find_cgroup(self, record: Record) -> str:
        """Where the keeper's member would have one: beside the keeper."""
        base = containment.cgroup_of(record.keeper.pid) if is_alive(record.keeper) else None
        cgroup = containment.Cgroup.of(base or "", record.mark)
        return cgroup.path if base and os.path.isdir(cgroup.path) else ""

    def _see_again(
        self, mark: str, directory: SpawnDirectory, within_s: float, known: Mapping[str, Any] | None
    ) -> Record | None:
        """The record of one that runs, if its file was removed or damaged: it would pass for ended."""
        ended = directory.is_called_off() or directory.exit_status()
        if ended or mark not in self._table.recent(within_s).marked:
            return None
        keeper = self._keepers().get(mark)
        agent = find_agent(self._table.fresh(), keeper, mark) if keeper else None
        if keeper is None or agent is None:
            return None
        return self._complete(Record(mark, agent, keeper, boot_id(), time.time()), known or {})

    def adopt_by_mark(self, mark: str, known: Mapping[str, Any] | None = None) -> Handle:
        """For processes without a record: by mark, and by the keeper, if that is still there."""
        self._refuse_anothers(mark)
        keeper = self._keepers().get(mark, NOBODY)
        record = self._complete(Record(mark, NOBODY, keeper, boot_id(), time.time()), known or {})
        return self._handle(record, self._directory(mark))

    def put_back(self, handle: Handle) -> None:
        """Write its record again after it was removed while the member runs."""
        handle.directory.put_back(handle.record)

    def _refuse_anothers(self, mark: str) -> None:
        """A copy of a state directory has the records of the original's members; they are not its own (I10).
        The members of one that was moved have moved with it."""
        parsed = parse_mark(mark)
        if parsed is None or parsed.state == self.state_id:
            return
        everyone = self._table.fresh()
        homes = [
            home for home in find_keepers(everyone) if os.path.basename(home) == mark and os.path.isdir(home)
        ]
        if f"{self._run_directory}/{mark}" not in homes and (homes or mark in everyone.marked):
            raise ProcessError(
                f"Did not touch {mark}",
                f"it is alive, and of another state directory than {self.state_directory}",
                ("Stand it down where it was started, from which this directory was copied",),
                code="another-state",
            )

    def _adopt_unrecorded(self, mark: str, known: Mapping[str, Any]) -> Handle | None:
        """It runs, and its record is gone: somebody has removed it at once."""
        directory = self._directory(mark)
        if (record := self._see_again(mark, directory, 0.0, known)) is not None:
            return self._handle(record, directory)
        handle = self.adopt_by_mark(mark, known)
        if handle.tree.find():
            return handle
        handle.close()
        return None

    def _call_off(self, mark: str, directory: SpawnDirectory) -> bool:
        """True when the start has not happened and never will. That no record is there proves nothing."""
        return directory.cancel() and not self._runs(mark)

    def _runs(self, mark: str) -> bool:
        """Something of it, or a keeper that does not end as one does whose start was called off."""
        if mark in self._table.fresh().marked:
            return True
        keeper = self._keepers().get(mark)
        return keeper is not None and not wait_until_gone([keeper], _CALLED_OFF_S)

    def _keepers(self) -> dict[str, Identity]:
        """Those of this state directory that are alive, by mark, whatever is left of their records."""
        return {
            os.path.basename(home): keeper
            for home, keeper in find_keepers(self._table.fresh()).items()
            if os.path.dirname(home) == self._run_directory
        }

    def cancel(self, mark: str, known: Mapping[str, Any] | None = None) -> Handle | None:
        """Settle a start that may or may not have happened: the handle, or None, and then it never will."""
        handle = self.adopt(mark, known)
        if handle is None:
            self._directory(mark).cancel()
            handle = self.adopt(mark, known)
        return handle

    def log_before_start(self, mark: str, data: bytes) -> None:
        """Put this in front of what a start will print. It stays if the start never happens."""
        directory = self._directory(mark)
        os.makedirs(directory.path, mode=0o700, exist_ok=True)
        log = Log(directory.path, LOG_LIMIT)
        log.write(data)
        log.close()

    def discard(self, mark: str, log_to: str = "") -> None:
        """Remove the records and the log, or move the log to the directory `log_to`.

        Refused while it lives: without a record, only the mark is left.
        """
        directory = self._directory(mark)
        record = directory.record()
        if record and record.boot == boot_id() and (is_alive(record.agent) or is_alive(record.keeper)):
            raise ProcessError(f"Did not remove the records of {mark}", "it is alive", code="still-alive")
        if log_to and os.path.isdir(directory.path):
            log.move_log(directory.path, log_to)
        remove_tree(directory.path)

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
        for text, processes in self._table.fresh().marked.items():
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
        """Show `text` to the agent. Return True only if the agent was seen to take it.

        False means "not yet": it is busy, or has not read the text. A repeat with the same `tag`, by any
        process, does not show it again (E10). Unless `urgent`, a busy agent is not disturbed (E11).
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

        Waits at most `limit_s`, because the next step is due then.
        """
        if text is None:
            return handle.tree.signal_agent(signal.SIGTERM)
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
            remove_tmux_directory(self.state_directory, handle.record.mark)
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
        """Members, keepers and the server above them continue; that server ends with the last of them."""
        self.shared.server.close()


def _is_named_keeper(identity: Identity) -> bool:
    process = read_process(identity.pid, with_mark=False)
    return process is not None and process.name == KEEPER


def _is_below(init: Identity, keeper: Identity) -> bool:
    return is_alive(init) and _is_named_keeper(init) and find_parent(init.pid) == keeper != NOBODY


def _is_evident(agent: Identity, mark: str, keeper: Identity) -> bool:
    """Whether it carries the mark, or is the keeper's child."""
    process = read_process(agent.pid)
    return process is not None and (process.mark == mark or process.ppid == keeper.pid != 0)


def wait_for(condition: Callable[[], bool], timeout_s: float, step_s: float = 0.01) -> bool:
    """For what tells nobody when it changes: a screen, the level of a pipe."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(step_s)
    return True
