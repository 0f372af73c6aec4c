"""The processes of this machine, read from /proc, and signals that cannot reach a foreign process."""

from __future__ import annotations

import errno
import os
import select
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from headcount.runtime.mark import VARIABLE
from headcount.runtime.reaper import END_ALL, KEEPER, OUTPUT, SERVER
from headcount.runtime.start_record import NOBODY, Identity
from headcount.shared_look import SharedLook

_STOPPED = "Tt"
_PAGE = 65536
_KERNEL = 2  # parent of the kernel's own threads
_CHILDREN_LOOKS = 5
_VIRTUAL_SIZE, _START_CODE = 20, 23  # in /proc/PID/stat, counted from the state
_PLACES = {"cmdline": slice(45, 47), "environ": slice(47, 49)}  # there too: where each begins and ends
_EXEC_LIMIT_S = 1.0
_EXEC_LOOK_S = 0.001
_REMOVED = " (deleted)"  # how /proc tells of an open file that it has no name any more
# The last two: the number belongs to a thread now.
_NO_SUCH_PROCESS = (errno.ESRCH, errno.EINVAL, errno.ENOENT)


class Process(NamedTuple):
    pid: int
    ppid: int
    session: int
    start: int
    state: str
    threads: int
    name: str
    mark: str
    """Of its environment, "" without one, or when the environment is not ours to read."""

    @property
    def identity(self) -> Identity:
        return Identity(self.pid, self.start)

    @property
    def dead(self) -> bool:
        """A zombie runs nothing; but one with threads is a process whose main thread has ended."""
        return self.state in "ZX" and self.threads <= 1

    @property
    def stopped(self) -> bool:
        return self.state in _STOPPED


def read_process(pid: int, with_mark: bool = True) -> Process | None:
    stat = _read(f"/proc/{pid}/stat")
    if not stat:
        return None
    close = stat.rindex(b")")
    fields = stat[close + 2 :].split(maxsplit=20)
    ppid = int(fields[1])
    return Process(
        pid=pid,
        ppid=ppid,
        session=int(fields[3]),
        start=int(fields[19]),
        state=fields[0].decode(),
        threads=int(fields[17]),
        name=stat[stat.index(b"(") + 1 : close].decode(errors="replace"),
        mark=read_variable(pid, VARIABLE) if with_mark and ppid != _KERNEL else "",
    )


def read_variable(pid: int, name: str) -> str:
    """Return a variable of its environment; "" without it, or if the environment is not ours to read."""
    environment = b"\0" + _read_of_program(pid, "environ")
    needle = b"\0" + name.encode() + b"="
    found = environment.find(needle)
    if found < 0:
        return ""
    begin = found + len(needle)
    end = environment.find(b"\0", begin)
    return environment[begin : end if end >= 0 else None].decode(errors="replace")


def read_command_line(pid: int) -> list[str]:
    """Its words; none of one that is gone or not ours to see."""
    line = _read_of_program(pid, "cmdline")
    return os.fsdecode(line.removesuffix(b"\0")).split("\0") if line else []


def _read_of_program(pid: int, what: str) -> bytes:
    """In the middle of an exec a process has neither command line nor environment, and would pass for a
    foreign one. So this waits; but not for ever, since a file system may hang in the exec."""
    deadline = 0.0
    while not (data := _read(f"/proc/{pid}/{what}")) and not _has_none(pid, what):
        now = time.monotonic()
        deadline = deadline or now + _EXEC_LIMIT_S
        if now > deadline:
            break
        time.sleep(_EXEC_LOOK_S)
    return data


def _has_none(pid: int, what: str) -> bool:
    """Gone, not ours to see, or truly without; not one that had none only when it was read."""
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    if not fields or fields[_VIRTUAL_SIZE] == b"0" or fields[_START_CODE] == b"1":
        return True
    begin, end = fields[_PLACES[what]]
    return begin == end != b"0"


def _read(path: str, *, to_its_end: bool = False) -> bytes:
    """b"" for what is gone or not ours to see. Any other failure, such as too many open files, is
    raised: taken for "gone", it would make a false proof. In most of these files a short read is the last;
    lists come in pieces."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""
    try:
        data = chunk = os.read(fd, _PAGE)
        while chunk and (to_its_end or len(chunk) == _PAGE):
            chunk = os.read(fd, _PAGE)
            data += chunk
        return data
    except ProcessLookupError:
        return b""
    finally:
        os.close(fd)


def read_all() -> dict[int, Process]:
    processes = (read_process(int(name)) for name in os.listdir("/proc") if name.isdecimal())
    return {process.pid: process for process in processes if process is not None and not process.dead}


def read_below(pid: int) -> dict[int, Process]:
    """Return the processes below `pid`, by the kernel's own lists of children.

    It reads no environment, and nothing of other processes. A process forked during the call may be missing.
    """
    found: dict[int, Process] = {}
    ask = [pid]
    while ask:
        parent = ask.pop()
        for child in read_children(parent):
            process = read_process(child, with_mark=False)
            if process is not None and process.ppid == parent and child not in found:
                found[child] = process
                ask.append(child)
    return {pid: process for pid, process in found.items() if not process.dead}


def read_children(pid: int) -> list[int]:
    """Zombies included. The kernel may pass over one while another ends: so until two readings agree."""
    read: list[int] | None = None
    for _ in range(_CHILDREN_LOOKS):
        before, read = read, _list_children(pid)
        if read == before:
            break
    return read or []


def _list_children(pid: int) -> list[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except (FileNotFoundError, ProcessLookupError):
        return []
    lists = (_read(f"/proc/{pid}/task/{thread}/children", to_its_end=True) for thread in threads)
    return [int(child) for children in lists for child in children.split()]


class Snapshot:
    """All processes of one pass, and indexes over them; made once for all callers that share the pass."""

    def __init__(self, by_pid: dict[int, Process]) -> None:
        self.by_pid = by_pid
        self.marked: dict[str, list[Process]] = {}
        self.children: dict[int, list[Process]] = {}
        self.sessions: dict[int, list[Process]] = {}
        for process in by_pid.values():
            self.children.setdefault(process.ppid, []).append(process)
            self.sessions.setdefault(process.session, []).append(process)
            if process.mark:
                self.marked.setdefault(process.mark, []).append(process)

    def find(self, identity: Identity) -> Process | None:
        process = self.by_pid.get(identity.pid)
        return process if process is not None and process.start == identity.start else None

    def above(self, pid: int) -> set[int]:
        """The parents of a process, as far as they are known."""
        found: set[int] = set()
        while (process := self.by_pid.get(pid)) is not None and process.ppid not in found:
            pid = process.ppid
            found.add(pid)
        return found


class ProcessTable(SharedLook[Snapshot]):
    """Shares one pass over /proc, which reads the environment of every process, among all callers."""

    def __init__(self) -> None:
        super().__init__(lambda: Snapshot(read_all()))


def find_keepers(everyone: Snapshot) -> dict[str, Identity]:
    """Return keepers by directory. A process of a member may take their name, but is below a keeper."""
    named = [process for process in everyone.by_pid.values() if process.name == KEEPER]
    kept = {process.pid: _directories_kept(process.pid) for process in named}
    found = {}
    for process in named:
        others = set[str]().union(*(kept.get(pid, ()) for pid in everyone.above(process.pid)))
        found.update(dict.fromkeys(kept[process.pid] - others, process.identity))
    return found


def is_keeper_of(identity: Identity, home: str) -> bool:
    """Whether this very process is alive, and a keeper that works in `home`."""
    process = read_process(identity.pid, with_mark=False)
    if process is None or process.identity != identity or process.name != KEEPER:
        return False
    return home in _directories_kept(identity.pid)


def find_server(pid: int) -> Identity:
    """The subreaper above a keeper; `NOBODY` above one that an earlier version started."""
    while (process := read_process(pid, with_mark=False)) is not None and process.ppid > 1:
        pid = process.ppid
        parent = read_process(pid, with_mark=False)
        if parent is not None and parent.name == SERVER:
            return parent.identity
    return NOBODY


def find_parent(pid: int) -> Identity:
    process = read_process(pid, with_mark=False)
    parent = read_process(process.ppid, with_mark=False) if process is not None else None
    return parent.identity if parent is not None else NOBODY


def ends_its_children(identity: Identity) -> bool:
    """Whether this keeper handles the signal that tells it to: it would kill one of an earlier version."""
    if not is_alive(identity):
        return False
    for line in _read(f"/proc/{identity.pid}/status").splitlines():
        if line.startswith(b"SigCgt:"):
            return bool(int(line.split()[1], 16) >> (END_ALL - 1) & 1)
    return False


def find_agent(everyone: Snapshot, keeper: Identity, mark: str) -> Identity | None:
    """The member itself, without its record: the eldest below its keeper that leads a session."""
    below = everyone.children.get(keeper.pid, ())
    leaders = [child for child in below if child.mark == mark and child.session == child.pid]
    return min(leaders, key=lambda child: child.start).identity if leaders else None


def _directories_kept(pid: int) -> set[str]:
    """A keeper holds the pipe that its member's output comes through, also one that was removed. Only root
    can see what a keeper holds: others see in its command line for which directory it was started."""
    end = f"/{OUTPUT}"
    held = _open_files(pid)
    if held is None:
        return {word.removeprefix(f"{KEEPER} ") for word in read_command_line(pid)[-1:]}
    places = (place.removesuffix(_REMOVED) for place in held)
    return {place.removesuffix(end) for place in places if place.endswith(end)}


def _open_files(pid: int) -> list[str] | None:
    """None when they are not ours to see."""
    gone = FileNotFoundError, ProcessLookupError
    try:
        numbers = os.listdir(f"/proc/{pid}/fd")
    except gone:
        return []
    except PermissionError:
        return None
    places = []
    for fd in numbers:
        with suppress(*gone):  # a keeper closes a file now and then: the others are open still
            places.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return places


def is_alive(identity: Identity) -> bool:
    process = read_process(identity.pid, with_mark=False)
    return process is not None and process.start == identity.start and not process.dead


def open_pidfd(identity: Identity) -> int | None:
    """A descriptor for this very process, readable when it ends; None when it is gone."""
    try:
        fd = os.pidfd_open(identity.pid)
    except OSError as error:
        if error.errno in _NO_SUCH_PROCESS:
            return None
        raise
    # Only now is the check worth something: the pid cannot be given to another under our descriptor.
    if is_alive(identity):
        return fd
    os.close(fd)
    return None


def send_signal(identity: Identity, number: signal.Signals) -> bool:
    """Send it, but not to ourselves, nor to another process with that pid. False if it did not arrive."""
    if identity.pid == os.getpid():
        return False
    fd = open_pidfd(identity)
    if fd is None:
        return False
    try:
        signal.pidfd_send_signal(fd, number)
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        os.close(fd)
    return True


def wait_until_gone(identities: Iterable[Identity], timeout_s: float) -> bool:
    """True as soon as all of them have ended."""
    deadline = time.monotonic() + timeout_s
    waiting = select.poll()
    fds: list[int] = []
    try:
        for identity in identities:
            if (fd := open_pidfd(identity)) is not None:
                fds.append(fd)
                waiting.register(fd, select.POLLIN)
        left = len(fds)
        while left:
            ended = waiting.poll(max(0.0, deadline - time.monotonic()) * 1000)
            if not ended:
                return False
            for fd, _ in ended:
                waiting.unregister(fd)
            left -= len(ended)
        return True
    finally:
        for fd in fds:
            os.close(fd)
