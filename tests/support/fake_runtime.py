"""A runtime without processes, for the simulator and for tests of the engine.

It passes the same conformance suite as the real ones. What an agent does is said in words of its
command line: `("fake", "stray", "ignore-term")`.

    exit=N         ends at once with code N
    ignore-exit    does not end when it is asked to exit
    ignore-term    does not end on SIGTERM
    ignore-kill    survives SIGKILL, as a process in the kernel's uninterruptible sleep does
    stray          has started a child that outlives it and ignores SIGTERM; twice: two
    say=TEXT       has printed TEXT
    deaf           takes no nudge
    missing        cannot be run
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from signal import SIGKILL, SIGTERM
from typing import Any

from headcount.errors import ProcessError
from headcount.ports import SpawnSpec
from headcount.runtime.mark import parse_mark
from headcount.runtime.processes import Process
from headcount.runtime.proof import BY_MARK_ONLY, BY_SUBREAPER, Held, Proof, SeenProcess
from headcount.runtime.start_record import ExitStatus, Identity, Record


@dataclass(slots=True)
class FakeProcess:
    pid: int
    name: str
    ignores: frozenset[int]
    state: str = "S"
    ended: str = ""


@dataclass(slots=True)
class FakeTree:
    """`processes[0]` is the agent."""

    machine: FakeMachine
    record: Record
    words: tuple[str, ...]
    cwd: str
    processes: list[FakeProcess]
    screen: str = ""
    exit_status: ExitStatus | None = None
    keeper_alive: bool = True

    @property
    def agent_alive(self) -> bool:
        return bool(self.processes) and not self.processes[0].ended

    def alive(self) -> list[FakeProcess]:
        return [process for process in self.processes if not process.ended]

    def signal(self, process: FakeProcess, number: int) -> None:
        if not process.ended and number not in process.ignores:
            self.end(process, None, number)

    def end(self, process: FakeProcess, code: int | None, number: int | None = None) -> None:
        status = ExitStatus(code, number, self.machine.now())
        process.ended = str(status)
        if process is self.processes[0]:
            self.exit_status = status
            self.machine.on_end(self, True)
        if not self.alive():
            self.machine.on_end(self, False)


@dataclass(slots=True)
class FakeMachine:
    """What outlives an engine: the processes, and the records of starts. `None`: called off."""

    trees: dict[str, FakeTree | None] = field(default_factory=dict)
    pids: int = 1000
    now: Callable[[], float] = time.time
    on_end: Callable[[FakeTree, bool], object] = lambda tree, agent: None
    on_start: Callable[[FakeTree], object] = lambda tree: None
    on_nudge: Callable[[FakeTree], object] = lambda tree: None
    on_call: Callable[[str], bool] = lambda name: False
    """Called before each call of a runtime: it may raise, and True makes that call fail."""

    def next_pid(self) -> int:
        self.pids += 1
        return self.pids


class FakeHandle:
    """Its descriptors are numbers that nothing can wait on: the machine's `on_end` reports the ends."""

    def __init__(self, tree: FakeTree) -> None:
        self.tree = tree
        self.record = tree.record

    @property
    def exit_fd(self) -> int | None:
        return self.record.agent.pid if self.tree.agent_alive else None

    @property
    def keeper_fd(self) -> int | None:
        return self.record.keeper.pid if self.tree.alive() else None

    def as_dict(self) -> dict[str, Any]:
        return self.record.as_dict()

    def close(self) -> None:
        pass


class FakeRuntime:
    def __init__(self, machine: FakeMachine | None = None, state_id: str = "0" * 16) -> None:
        self.machine = machine or FakeMachine()
        self.state_id = state_id

    def start(self, spec: SpawnSpec) -> FakeHandle:
        if (self.machine.on_call("start") and spec.mark not in self.machine.trees) or "missing" in spec.argv:
            raise ProcessError(
                f"Did not start {spec.argv[0]}", "No such file or directory", code="start-failed"
            )
        if spec.mark not in self.machine.trees:
            tree = self.machine.trees[spec.mark] = self._grow(spec)
            self.machine.on_start(tree)
        handle = self._find(spec.mark)
        if handle is None:
            raise ProcessError(f"Did not start {spec.argv[0]}", "it was called off", code="start-failed")
        return handle

    def _grow(self, spec: SpawnSpec) -> FakeTree:
        words = spec.argv[1:]
        ignores = {SIGTERM} if "ignore-term" in words else set()
        ignores |= {SIGTERM, SIGKILL} if "ignore-kill" in words else set()
        processes = [FakeProcess(self.machine.next_pid(), spec.argv[0], frozenset(ignores))]
        deaf = frozenset({SIGTERM})
        strays = words.count("stray")
        processes += [FakeProcess(self.machine.next_pid(), "stray", deaf) for _ in range(strays)]
        agent = Identity(processes[0].pid, 1)
        record = Record(spec.mark, agent, Identity(self.machine.next_pid(), 1), "fake", self.machine.now())
        tree = FakeTree(self.machine, record, words, spec.cwd, processes)
        for word in words:
            if word.startswith("say="):
                tree.screen += word.removeprefix("say=") + "\n"
            if word.startswith("exit="):
                tree.end(processes[0], int(word.removeprefix("exit=")))
        return tree

    def adopt(self, mark: str, known: Mapping[str, Any] | None = None) -> FakeHandle | None:
        self.machine.on_call("adopt")
        return self._find(mark)

    def _find(self, mark: str) -> FakeHandle | None:
        tree = self.machine.trees.get(mark)
        return FakeHandle(tree) if tree else None

    def adopt_by_mark(self, mark: str, known: Mapping[str, Any] | None = None) -> FakeHandle:
        self.machine.on_call("adopt_by_mark")
        record = Record(mark, Identity(0, 0), Identity(0, 0), "fake", self.machine.now())
        return self._find(mark) or FakeHandle(FakeTree(self.machine, record, (), "", [], keeper_alive=False))

    def put_back(self, handle: FakeHandle) -> None:
        """Its records cannot be removed."""

    def cancel(self, mark: str, known: Mapping[str, Any] | None = None) -> FakeHandle | None:
        self.machine.on_call("cancel")
        self.machine.trees.setdefault(mark, None)
        return self._find(mark)

    def log_before_start(self, mark: str, data: bytes) -> None:
        self.machine.on_call("log_before_start")

    def discard(self, mark: str, log_to: str = "") -> None:
        """Only records go: a tree that lives stays for all to see."""
        self.machine.on_call("discard")
        tree = self.machine.trees.get(mark)
        if tree is None or not tree.alive():
            self.machine.trees.pop(mark, None)

    def alive(self, handle: FakeHandle) -> bool:
        return handle.tree.agent_alive

    def processes(self, handle: FakeHandle) -> tuple[Process, ...]:
        mark = handle.record.mark
        return tuple(
            Process(process.pid, 1, handle.record.agent.pid, 1, process.state, 1, process.name, mark)
            for process in handle.tree.alive()
        )

    def exit_status(self, handle: FakeHandle) -> ExitStatus | None:
        return handle.tree.exit_status

    def wait_exit(self, handle: FakeHandle, timeout_s: float) -> ExitStatus | None:
        return handle.tree.exit_status

    def capture(self, handle: FakeHandle) -> str:
        return handle.tree.screen

    def silent_for_s(self, handle: FakeHandle) -> float:
        return 0.0 if handle.tree.screen else float("inf")

    def list_marked(self) -> dict[str, list[Process]]:
        handles = [self._find(mark) for mark in self.machine.trees if self._is_ours(mark)]
        found = {handle.record.mark: list(self.processes(handle)) for handle in handles if handle}
        return {mark: processes for mark, processes in found.items() if processes}

    def _is_ours(self, mark: str) -> bool:
        parsed = parse_mark(mark)
        return parsed is not None and parsed.state == self.state_id

    def nudge(self, handle: FakeHandle, text: str, *, urgent: bool = False, tag: str = "") -> bool:
        if self.machine.on_call("nudge") or not self.alive(handle) or "deaf" in handle.tree.words:
            return False
        handle.tree.screen += text + "\n"
        self.machine.on_nudge(handle.tree)
        return True

    def request_exit(self, handle: FakeHandle, text: str | None = None, limit_s: float = 10.0) -> bool:
        if text is not None:
            return self.nudge(handle, text)
        self.machine.on_call("request_exit")
        if not self.alive(handle):
            return False
        if "ignore-exit" not in handle.tree.words:
            handle.tree.signal(handle.tree.processes[0], SIGTERM)
        return True

    def terminate(self, handle: FakeHandle) -> int:
        self.machine.on_call("terminate")
        targets = handle.tree.alive()
        for process in targets:
            process.state = "S"
            handle.tree.signal(process, SIGTERM)
        return len(targets)

    def kill(self, handle: FakeHandle, limit_s: float = 10.0) -> Proof:
        spared = handle.tree.alive()[-1:] if self.machine.on_call("kill") else []
        for process in handle.tree.alive():
            process.state = "S"
            if process not in spared:
                handle.tree.signal(process, SIGKILL)
        return self.prove_gone(handle)

    def stop(self, handle: FakeHandle, grace_s: float, limit_s: float = 10.0) -> Proof:
        self.terminate(handle)
        return self.kill(handle)

    def pause(self, handle: FakeHandle) -> Held:
        return self._hold(handle, "T")

    def resume(self, handle: FakeHandle) -> Held:
        return self._hold(handle, "S")

    def _hold(self, handle: FakeHandle, state: str) -> Held:
        self.machine.on_call("pause" if state == "T" else "resume")
        for process in handle.tree.alive():
            process.state = state
        return Held(True, _views(handle.tree.alive()), ())

    def wait_empty(self, handle: FakeHandle, timeout_s: float) -> bool:
        return not handle.tree.alive()

    def prove_gone(self, handle: FakeHandle) -> Proof:
        alive = _views(handle.tree.alive())
        method = BY_SUBREAPER if handle.tree.keeper_alive else BY_MARK_ONLY
        return Proof(not alive, method, self.machine.now(), _views(handle.tree.processes), alive)

    def close(self) -> None:
        pass


def _views(processes: list[FakeProcess]) -> tuple[SeenProcess, ...]:
    return tuple(SeenProcess(process.pid, 1, process.name, "record", process.ended) for process in processes)
