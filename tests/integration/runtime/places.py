"""Members of hard shapes on a runtime, and an oracle of who survived that is not the code under test."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from headcount.ports import SpawnSpec
from headcount.runtime.mark import new_mark
from headcount.runtime.process_runtime import Handle, ProcessRuntime
from headcount.runtime.tmux import TmuxRuntime

SHAPES = Path(__file__).with_name("shapes.py")


def wait_until(condition: Callable[[], object], timeout_s: float = 60.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "did not come true in time"
        time.sleep(0.005)


def with_token(token: str) -> list[int]:
    """Live processes with `token` in their command line: read here, not by the code under test."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            if token.encode() in Path(f"/proc/{name}/cmdline").read_bytes():
                found.append(int(name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def sessions(runtime: TmuxRuntime) -> list[str]:
    """The ids of all sessions on its socket; none when there is no server."""
    return runtime._ask("list-sessions", "-F", "#{session_id}").split()


class Place:
    """One runtime on one state directory, and members of the shapes in shapes.py."""

    def __init__(self, runtime: ProcessRuntime, directory: Path) -> None:
        self.runtime = runtime
        self.directory = directory
        self.token = f"token-{secrets.token_hex(8)}"
        self.handles: list[Handle] = []

    def mark(self, member: str = "alice", team: str = "web") -> str:
        return str(new_mark(self.runtime.state_id, team, member, 1))

    def spec(self, *argv: str, mark: str | None = None, **options: object) -> SpawnSpec:
        env = {"PATH": os.environ["PATH"], "HOME": str(self.directory)}
        return SpawnSpec(mark or self.mark(), argv, str(self.directory), env, **options)  # type: ignore[arg-type]

    def start(self, *argv: str, **options: object) -> Handle:
        self.handles.append(self.runtime.start(self.spec(*argv, **options)))
        return self.handles[-1]

    def start_shape(self, shape: str, ready: bool = True) -> Handle:
        handle = self.start(sys.executable, "-I", "-S", str(SHAPES), shape, self.token)
        (self.directory / f"started-{handle.record.agent.pid}").touch()
        if ready:
            wait_until(lambda: "ready" in self.runtime.capture(handle))
        return handle

    def survivors(self) -> list[int]:
        return with_token(self.token)

    def reopen(self) -> ProcessRuntime:
        """As an engine does after a crash: nothing in memory, the same directory."""
        return type(self.runtime)(self.runtime.state_directory)

    def clean_up(self) -> None:
        for pid in self.survivors():
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.kill(pid, signal.SIGKILL)
        for handle in self.handles:
            self.runtime.kill(handle)
            handle.close()
        if isinstance(self.runtime, TmuxRuntime):
            self.runtime._ask("kill-server")
        self.runtime.close()
