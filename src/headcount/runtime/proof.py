"""Describe the end of an incarnation's processes, as a value for the receipt."""

from __future__ import annotations

import os

from headcount.runtime.start_record import Identity, describe_signal
from headcount.value_classes import dataclass

BY_SUBREAPER = "subreaper+mark"
"""A subreaper saw the kernel's "no children left", and no process carries the mark. The subreaper is its
keeper, or the one above, which inherits what a killed keeper leaves."""
BY_CGROUP = "cgroup+mark"
"""The kernel says that its cgroup has no process, and no process carries the mark."""
BY_NAMESPACE = "namespace+mark"
"""The first process of its PID namespace has ended, and with it the kernel ended all inside."""
BY_MARK_ONLY = "by mark only"
"""No subreaper can tell any more: what scrubbed its environment cannot be found."""
BY_REBOOT = "reboot+mark"
"""The machine was restarted after the start."""


@dataclass(frozen=True, slots=True)
class SeenProcess:
    """One process of the incarnation. `evidence`: why it counts as ours; `ended`: how, "" while alive."""

    pid: int
    start: int
    name: str
    evidence: str
    ended: str = ""

    @property
    def identity(self) -> Identity:
        return Identity(self.pid, self.start)

    def as_dict(self) -> dict[str, object]:
        return {
            "pid": self.pid,
            "start": self.start,
            "name": self.name,
            "evidence": self.evidence,
            "ended": self.ended,
        }


@dataclass(frozen=True, slots=True)
class Proof:
    """`empty` is a claim only together with `method`, and a full proof only without a `doubt`."""

    empty: bool
    method: str
    at: float
    processes: tuple[SeenProcess, ...]
    alive: tuple[SeenProcess, ...]
    doubt: str = ""

    def as_dict(self) -> dict[str, object]:
        return {
            "empty": self.empty,
            "method": self.method,
            "at": self.at,
            "processes": [process.as_dict() for process in self.processes],
            "alive": [process.as_dict() for process in self.alive],
            "doubt": self.doubt,
        }


@dataclass(frozen=True, slots=True)
class Held:
    """The answer to pause and resume: `confirmed` when each process was seen in the wanted state."""

    confirmed: bool
    processes: tuple[SeenProcess, ...]
    others: tuple[SeenProcess, ...]
    """Those that were not."""


def describe_wait_status(status: int) -> str:
    if os.WIFSIGNALED(status):
        return describe_signal(os.WTERMSIG(status))
    return f"exited with code {os.WEXITSTATUS(status)}"
