"""Contain a member's processes, by the strongest to the weakest means of the kernel.

    namespace   a PID namespace; when its first process ends, the kernel ends everything inside
    cgroup      a cgroup of its own; `cgroup.kill` ends all inside, `cgroup.events` tells when it is empty
    subreaper   the keeper, the subreaper above it, and the mark

Keeper, subreaper and mark are there in any case. `auto` takes a cgroup where this process may make one. It
takes a namespace only for agents that were tested inside one: nested sandboxes and sudo break there.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache

from headcount.errors import ProcessError
from headcount.runtime import reaper
from headcount.runtime.processes import Process, read_process

AUTO, NAMESPACE, CGROUP, SUBREAPER = "auto", "namespace", "cgroup", "subreaper"
TESTED_IN_NAMESPACE = (("-m", "headcount.agents.scripted"),)
"""Arguments of agents that `auto` may put into a namespace: a test runs a whole team of them there."""
_PREFIX = "headcount."
_TRIAL = re.compile(re.escape(_PREFIX) + r"trial-(\d+)-[0-9a-f]{8}")
_CGROUP_NEEDS = "a writable cgroup v2 with cgroup.kill (Linux 5.14), or a systemd user manager"


def choose(wanted: str, argv: Sequence[str], cgroup: bool, namespace: bool) -> str:
    """The containment for one start. `ProcessError` where the machine lacks what the settings demand."""
    if wanted == AUTO:
        if cgroup:
            return CGROUP
        tested = tuple(argv[1:3]) in TESTED_IN_NAMESPACE
        return NAMESPACE if namespace and tested else SUBREAPER
    if wanted == CGROUP and not cgroup:
        raise _unavailable(wanted, f"it needs {_CGROUP_NEEDS}")
    if wanted == NAMESPACE and not namespace:
        raise _unavailable(wanted, "this kernel or its settings allow this user no PID namespace")
    return wanted


def _unavailable(wanted: str, why: str) -> ProcessError:
    return ProcessError(
        f'containment = "{wanted}" is not available here', why,
        ("See what this machine supports with `headcount doctor`", 'Use containment = "auto"'),
        code="containment-unavailable",
    )  # fmt: skip


# --- cgroups -----------------------------------------------------------------------------------------


def cgroup_of(pid: int | str = "self") -> str | None:
    """The directory of a process's cgroup v2, also beside the mounts of version 1; None without one."""
    try:
        with open(f"/proc/{pid}/cgroup") as file:
            path = next((line[3:].rstrip("\n") for line in file if line.startswith("0::")), None)
        with open("/proc/self/mountinfo") as file:
            mounts = [line.split() for line in file if " - cgroup2 " in line]
    except OSError:
        return None
    for fields in mounts:
        root, mount = fields[3].rstrip("/"), fields[4]
        if path is not None and (path == root or path.startswith(root + "/")):
            return (mount + path.removeprefix(root)).rstrip("/")
    return None


def can_make_cgroup(base: str | None) -> bool:
    """Whether a process below `base` can be moved into a cgroup of its own and be ended there. Tried."""
    if base is None:
        return False
    trial = Cgroup(f"{base}/{_PREFIX}trial-{os.getpid()}-{os.urandom(4).hex()}")
    try:
        trial.create()
    except OSError:
        return False
    try:
        return os.path.exists(f"{trial.path}/cgroup.kill") and _succeeds("enter_cgroup", trial.path)
    finally:
        trial.remove()


def scope_command() -> list[str]:
    """Words that put the command after them into a cgroup of our own; none without a user manager."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    program = shutil.which("systemd-run")
    if program is None or not runtime or not os.path.exists(f"{runtime}/systemd/private"):
        return []
    return [program, "--user", "--scope", "--quiet", "--collect", "--property=Delegate=yes", "--"]


class Cgroup:
    """The cgroup of one incarnation. Each method tells what the kernel says now; none believes a record."""

    def __init__(self, path: str) -> None:
        self.path = path

    @classmethod
    def of(cls, base: str, mark: str) -> Cgroup:
        return cls(f"{base}/{_PREFIX}{mark}")

    def belongs_to(self, mark: str) -> bool:
        """A cgroup has the name of its incarnation: a changed record cannot make it another's."""
        return os.path.basename(self.path) == f"{_PREFIX}{mark}"

    def create(self) -> None:
        with suppress(FileExistsError):
            os.mkdir(self.path)

    def is_populated(self) -> bool:
        """False as well when it is gone: the kernel removes none that has a process in it."""
        try:
            with open(f"{self.path}/cgroup.events") as file:
                return "populated 1" in file.read()
        except OSError as error:
            if error.errno in (
                errno.ENOENT,
                errno.ENODEV,
            ):  # removed before the open, or between open and read
                return False
            raise

    def kill(self) -> None:
        """Everything inside, at once: what forks at this moment is killed too."""
        with suppress(OSError), open(f"{self.path}/cgroup.kill", "w") as file:
            file.write("1")

    def processes(self) -> list[Process]:
        found = []
        for directory in self._directories():
            with suppress(OSError), open(f"{directory}/cgroup.procs") as file:
                found += [read_process(int(pid), with_mark=False) for pid in file.read().split()]
        return [process for process in found if process is not None and self._holds(process.pid)]

    def _directories(self) -> list[str]:
        """Return the cgroup and those inside, parents first. A member may nest more than Python recurses."""
        found = [self.path]
        for directory in found:
            with suppress(OSError):
                found += [
                    entry.path for entry in os.scandir(directory) if entry.is_dir(follow_symlinks=False)
                ]
        return found

    def _holds(self, pid: int) -> bool:
        """Asked after the process was read: its number may have gone to another in between."""
        try:
            with open(f"/proc/{pid}/cgroup") as file:
                return f"/{os.path.basename(self.path)}" in file.read()
        except OSError:
            return False

    def remove(self) -> None:
        """With the cgroups that the member made inside; what is populated stays."""
        for directory in reversed(self._directories()):
            with suppress(OSError):
                os.rmdir(directory)


def remove_left(base: str, is_over: Callable[[str], bool]) -> list[str]:
    """Remove the cgroups below `base` that a killed engine left; return their paths.

    `is_over` tells for a mark whether its start has ended or can never happen. The kernel removes no cgroup
    that has a process in it.
    """
    removed = []
    for name in sorted(os.listdir(base)) if os.path.isdir(base) else ():
        mark, trial = name.removeprefix(_PREFIX), _TRIAL.fullmatch(name)
        over = not os.path.exists(f"/proc/{trial[1]}") if trial else name != mark and is_over(mark)
        cgroup = Cgroup(f"{base}/{name}")
        if over and not cgroup.is_populated():
            cgroup.remove()
            removed.append(cgroup.path)
    return removed


# --- namespaces --------------------------------------------------------------------------------------


@cache
def can_make_namespace() -> bool:
    """Whether this user may make a PID namespace with a /proc of its own. Tried."""
    return _succeeds("enter_namespace")


_TRY = "import sys; sys.path[:0] = [sys.argv[1]]; import reaper; getattr(reaper, sys.argv[2])(*sys.argv[3:])"
_TRY_S = 20.0


def _succeeds(function: str, *words: str) -> bool:
    """Whether a function of `reaper` succeeds, in a new interpreter.

    Not in a fork of this process: an engine has threads. A fork can inherit a lock that is held for ever, and
    keeps the engine's own lock file open while it waits.
    """
    command = [sys.executable, "-I", "-S", "-c", _TRY, os.path.dirname(reaper.__file__), function, *words]
    try:
        done = subprocess.run(
            command, cwd="/", check=False, timeout=_TRY_S,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
