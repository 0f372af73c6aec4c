"""Processes, listed from outside: by /proc, locks and heartbeats. Nothing that headcount reports is used."""

from __future__ import annotations

import fcntl
import os
import signal
import time
from typing import NamedTuple

_BEAT_S = 0.25


class Process(NamedTuple):
    pid: int
    parent: int
    start: int
    name: str
    arguments: bytes
    environment: bytes

    def __str__(self) -> str:
        words = self.arguments.decode(errors="replace").strip("\0").split("\0")
        return f"{self.pid} ({self.name}, child of {self.parent}) {' '.join(words[-4:])[:200]}"


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def read(pid: int) -> Process | None:
    """Return a living process; None when it has ended. A zombie whose threads work on is alive."""
    stat = _read(f"/proc/{pid}/stat").decode(errors="replace")
    if not stat:
        return None
    name = stat[stat.index("(") + 1 : stat.rindex(")")]
    fields = stat[stat.rindex(")") + 2 :].split()
    if fields[0] in "ZX" and not _works_on(pid):
        return None
    return Process(
        pid,
        int(fields[1]),
        int(fields[19]),
        name,
        _read(f"/proc/{pid}/cmdline"),
        _read(f"/proc/{pid}/environ"),
    )


def _works_on(pid: int) -> bool:
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return False
    return len(threads) > 1


def everything() -> list[Process]:
    found = (read(int(pid)) for pid in os.listdir("/proc") if pid.isdigit())
    return [process for process in found if process is not None]


def children(pid: int) -> list[int]:
    """Return the children of a process now. This is quick, so processes of milliseconds can be caught."""
    found: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for thread in threads:
        found += map(int, _read(f"/proc/{pid}/task/{thread}/children").split())
    return found


def _open_below(pid: int, place: bytes) -> bool:
    """Tell whether the process has its directory or an open file below the place."""
    try:
        threads = [f"/proc/{pid}/task/{thread}" for thread in os.listdir(f"/proc/{pid}/task")][:4]
    except OSError:
        return False
    links = [f"/proc/{pid}/cwd"]
    for thread in threads:
        try:
            links += [f"{thread}/fd/{fd}" for fd in os.listdir(f"{thread}/fd")]
        except OSError:
            continue
    for link in links:
        try:
            if os.fsencode(os.readlink(link)).startswith(place):
                return True
        except OSError:
            continue
    return False


def of_trial(place: str, but: frozenset[int] = frozenset()) -> list[Process]:
    """Return every process that belongs to the trial in this directory, headcount's own included.

    A process belongs to it that names the directory in its arguments or environment, or has a file open
    there. So do its descendants, and headcount's own processes above it (`hc-…`). `but` is left out.
    """
    needle = os.fsencode(place)
    table = {process.pid: process for process in everything()}
    mine = {
        pid
        for pid, process in table.items()
        if needle in process.arguments or needle in process.environment or _open_below(pid, needle)
    }
    mine -= {os.getpid()} | but
    for pid in list(mine):
        above = table.get(table[pid].parent)
        while above is not None and above.name.startswith("hc-"):
            mine.add(above.pid)
            above = table.get(above.parent)
    children: dict[int, list[int]] = {}
    for process in table.values():
        children.setdefault(process.parent, []).append(process.pid)
    todo = list(mine)
    while todo:
        for pid in children.get(todo.pop(), ()):
            if pid not in mine and pid not in but:
                mine.add(pid)
                todo.append(pid)
    return [table[pid] for pid in sorted(mine)]


# --- witnesses of agents that are left ------------------------------------------------------------------


def strays(locks: str, token: str) -> list[str]:
    """Return what is left of the scripted agents, by token, by lock and by heartbeat."""
    needle = token.encode()
    found = [f"alive: {process}" for process in everything() if needle in process.arguments]
    before = _beats(locks)
    for name in sorted(os.listdir(locks)):
        path = f"{locks}/{name}"
        if not name.endswith((".beat", ".ready")) and _held(path):
            holders = [str(one) for one in everything() if _open_below(one.pid, os.fsencode(path))]
            found.append(
                f"lock {name} is held by {', '.join(holders) or 'a process that /proc does not show'}"
            )
    if before:
        time.sleep(_BEAT_S)
        found += [f"heart {name} beats" for name, count in _beats(locks).items() if before.get(name) != count]
    return found


def _held(path: str) -> bool:
    with open(path, "rb+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _beats(locks: str) -> dict[str, bytes]:
    return {name: _read(f"{locks}/{name}") for name in os.listdir(locks) if name.endswith(".beat")}


# --- ending ---------------------------------------------------------------------------------------------


def send(process: Process, number: signal.Signals) -> bool:
    """Signal a process if it is still the same one."""
    now = read(process.pid)
    if now is None or now.start != process.start:
        return False
    try:
        os.kill(process.pid, number)
    except ProcessLookupError:
        return False
    return True


def end_all(place: str, locks: str, limit_s: float = 20.0) -> list[str]:
    """End every process of the trial by its pid, again until none is left; return what is still alive.

    Everything is stopped before anything is killed, so that nothing can fork its way out between two passes.
    A chain that forks too fast to be seen ends by itself when its directory has the file `stop`.
    """
    with open(f"{locks}/stop", "w"):
        pass
    deadline = time.monotonic() + limit_s
    left: list[Process] = []
    while time.monotonic() < deadline:
        left = of_trial(place)
        if not left:
            return []
        for process in left:
            send(process, signal.SIGSTOP)
        for process in left:
            send(process, signal.SIGKILL)
        time.sleep(0.05)
    return [str(process) for process in left]
