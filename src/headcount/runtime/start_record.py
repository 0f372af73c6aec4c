"""One start, on disk: `<state>/run/<mark>/`, and what the keeper has written there.

These files tell an engine that crashed whether the start happened, which processes it made, how the agent
ended and when nothing was left. Members can write there too. So nothing is signalled because of them alone,
and only a record with the keeper's seal counts as a proof.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from typing import Any, NamedTuple

from headcount.errors import ProcessError
from headcount.runtime.reaper import EMPTY, EXIT, PROCESS, as_json, write_once
from headcount.value_classes import dataclass

_PID_MOST = 1 << 31
_RECORD_MOST = 65536  # bytes; the keeper's own records have less than 4,000


class Identity(NamedTuple):
    """A process, for as long as this boot lasts: a recycled pid has another start time."""

    pid: int
    start: int


NOBODY = Identity(0, 0)


@dataclass(frozen=True, slots=True)
class Record:
    """The processes of one start, as the keeper reported them and the kernel confirmed them."""

    mark: str
    agent: Identity
    keeper: Identity
    boot: str
    at: float
    pane: str = ""
    session: str = ""
    terminal: Identity = NOBODY
    """The tmux server that the keeper runs in."""
    above: Identity = NOBODY
    """The subreaper above the keeper, which inherits what a killed keeper leaves."""
    init: Identity = NOBODY
    """The first process of its PID namespace."""
    cgroup: str = ""
    """The directory of its cgroup."""
    seals: tuple[str, ...] = field(default=(), compare=False)
    """Digests of the secrets that this incarnation's keepers were given; of several, after a crash."""
    hold: str = field(default="", compare=False)
    """What its terminal shows while nothing may be typed there. From the store: a member can write files."""

    def as_dict(self) -> dict[str, Any]:
        """For the store, which members do not write to."""
        return {
            "mark": self.mark,
            "pid": self.agent.pid,
            "start": self.agent.start,
            "keeper": self.keeper.pid,
            "keeper_start": self.keeper.start,
            "boot": self.boot,
            "at": self.at,
            "place": [self.pane, self.session, str(self.terminal.pid)] if self.pane else [],
            "terminal_start": self.terminal.start,
            "above": list(self.above),
            "init": self.init.pid,
            "init_start": self.init.start,
            "cgroup": self.cgroup,
            "seals": list(self.seals),
            "hold": self.hold,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Record:
        """A keeper's own record has less, and what an earlier version wrote, too."""
        pane, session, server = fields["place"] or ("", "", "0")
        return cls(
            mark=str(fields["mark"]),
            agent=_identity(fields["pid"], fields["start"]),
            keeper=_identity(fields["keeper"], fields["keeper_start"]),
            boot=str(fields["boot"]),
            at=float(fields["at"]),
            pane=str(pane),
            session=str(session),
            terminal=_identity(int(server), fields.get("terminal_start", 0)),
            above=_identity(*fields.get("above", NOBODY)),
            init=_identity(fields.get("init", 0), fields.get("init_start", 0)),
            cgroup=str(fields.get("cgroup", "")),
            seals=tuple(map(str, fields.get("seals", ()))),
            hold=str(fields.get("hold", "")),
        )


def _identity(pid: object, start: object) -> Identity:
    if type(pid) is not int or type(start) is not int or not (0 <= pid < _PID_MOST and 0 <= start < 1 << 63):
        raise ValueError(f"{pid!r} started at {start!r} is not a process")
    return Identity(pid, start)


def digest(seal: bytes) -> str:
    import hashlib

    return hashlib.sha256(seal).hexdigest()


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """How the agent's own process ended. Both None: it is gone, and nobody was there to see how."""

    code: int | None
    signal: int | None
    at: float
    error: str = ""
    """Why its program could not be run at all."""

    def __str__(self) -> str:
        if self.error:
            return f"never ran: {self.error}"
        if self.code is not None:
            return f"exited with code {self.code}"
        return describe_signal(self.signal) if self.signal else "gone, nobody saw how"


def describe_signal(number: int) -> str:
    import signal

    try:
        return f"killed by {signal.Signals(number).name}"
    except ValueError:
        return f"killed by signal {number}"


@dataclass(frozen=True, slots=True)
class Emptied:
    """The keeper's last record: the kernel had no child left for it. `reaped` are (pid, wait status)."""

    at: float
    count: int
    reaped: tuple[tuple[int, int], ...]
    seal: str = ""
    """The digest of the secret that it carries."""


class SpawnDirectory:
    def __init__(self, path: str) -> None:
        self.path = path

    def file(self, name: str) -> str:
        return f"{self.path}/{name}"

    def record(self) -> Record | None:
        """None: not started, or called off, and then it never will be. ProcessError: it cannot be read."""
        fields = self._read(PROCESS)
        if fields is None or "cancelled" in fields:
            return None
        try:
            return Record.from_dict(fields)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise self._damaged(PROCESS, error) from error

    def known(self) -> Record | None:
        """The record, where there is one that can be read: a damaged one is worth no more than none."""
        try:
            return self.record()
        except ProcessError:
            return None

    def put_back(self, record: Record) -> None:
        """As the keeper wrote it; and with its directory there again, the keeper can write how it ends."""
        os.makedirs(self.path, mode=0o700, exist_ok=True)
        write_once(self.file(PROCESS), as_json(**record.as_dict()))

    def is_called_off(self) -> bool:
        try:
            return "cancelled" in (self._read(PROCESS) or {})
        except ProcessError:
            return False

    def cancel(self) -> bool:
        """Make a start that has not happened impossible. False when it has happened."""
        os.makedirs(self.path, mode=0o700, exist_ok=True)
        if write_once(self.file(PROCESS), as_json(cancelled=1)):
            return True
        return self.known() is None

    def exit_status(self) -> ExitStatus | None:
        """None as well when it cannot be read: then nobody saw how it ended."""
        try:
            fields = self._read(EXIT) or {}
            code, signal = (
                None if fields[name] is None else int(fields[name]) for name in ("code", "signal")
            )
            return ExitStatus(code, signal, float(fields["at"]), str(fields["error"]))
        except (ProcessError, KeyError, TypeError, ValueError, OverflowError):
            return None

    def emptied(self) -> Emptied | None:
        """None as well when it cannot be read."""
        try:
            fields = self._read(EMPTY) or {}
            reaped = tuple((int(pid), int(status)) for pid, status in fields["reaped"])
            seal = digest(bytes.fromhex(fields.get("seal", "")))
            return Emptied(float(fields["at"]), int(fields["count"]), reaped, seal)
        except (ProcessError, KeyError, TypeError, ValueError, OverflowError):
            return None

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            fields = json.loads(read_small(self.file(name)))
        except FileNotFoundError:
            return None
        except (ValueError, OSError, RecursionError) as error:
            raise self._damaged(name, error) from error
        if not isinstance(fields, dict):
            raise self._damaged(name, ValueError("it is not an object"))
        return fields

    def _damaged(self, name: str, error: Exception) -> ProcessError:
        what = f"{self.file(name)} cannot be read"
        return ProcessError(what, str(error), code="process-record-damaged")


def read_small(path: str) -> bytes:
    """A regular file of a record's size; anything else raises. A member may put a pipe or a link there."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ValueError("it is not a regular file")
        data = os.read(fd, _RECORD_MOST + 1)
    finally:
        os.close(fd)
    if len(data) > _RECORD_MOST:
        raise ValueError(f"it has more than {_RECORD_MOST:,} bytes")
    return data


# --- nudges ----------------------------------------------------------------------------------------------
#
# Lines in a file: what was put in front of a member, and what of it was seen to be taken. The file
# outlives the engine. A nudge that waits in a pipe or on a terminal is not put there twice, and one that
# was taken is not given again, even if the engine died before it could record that.


SAID = "said"
_PUT = "put"
_TOOK = "took"


class Said:
    """Tags are ids of acts, without spaces; the empty one is remembered by nobody.

    A member can put a pipe or a link in the place of the file. Then nothing is remembered, and a nudge may
    arrive twice.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def waits(self, tag: str) -> bool:
        return f"{_PUT} {tag}" in self._lines()

    def taken(self, tag: str) -> bool:
        return f"{_TOOK} {tag}" in self._lines()

    def put(self, tag: str) -> None:
        self._add(_PUT, tag)

    def took(self, tag: str) -> None:
        self._add(_TOOK, tag)

    def _add(self, what: str, tag: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        if tag:
            with suppress(OSError):
                fd = os.open(self._path, flags, 0o600)
                try:
                    os.write(fd, f"{what} {tag}\n".encode())
                finally:
                    os.close(fd)

    def _lines(self) -> list[str]:
        try:
            return read_small(self._path).decode().splitlines()
        except (OSError, ValueError):
            return []


# --- tmux sockets of a member ----------------------------------------------------------------------------
#
# A directory for the tmux sockets of one member (`TMUX_TMPDIR`).
#
# A member that calls `tmux` starts a server of its own there, below its keeper, and that server ends with
# the member. It can neither reach the user's default server nor become it.


TMUX_VARIABLE = "TMUX_TMPDIR"
_SOCKET_PATH_MAX = 100  # the kernel's limit is 108, and tmux needs some of it


def make_tmux_directory(state_directory: str, mark: str) -> str:
    """Make the directory for this mark, for its user alone; it may be there."""
    path = _tmux_directory(state_directory, mark)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    return path


def remove_tmux_directory(state_directory: str, mark: str) -> None:
    """Remove it with the sockets in it, after the processes are gone. Files that are not sockets stay.

    tmux has them in one directory. A member can nest others without end, so no deeper one is read.
    """
    top = _tmux_directory(state_directory, mark)
    for place in (f"{top}/tmux-{os.getuid()}", top):
        with suppress(OSError):  # it is not there, or something else is in it
            for name in os.listdir(place):
                if stat.S_ISSOCK(os.lstat(f"{place}/{name}").st_mode):
                    os.unlink(f"{place}/{name}")
            os.rmdir(place)


def socket_directory(state_directory: str, longest: str) -> str:
    """The state directory, or, where a socket `longest` below it has too long a path, one in /tmp."""
    if len(os.fsencode(f"{state_directory}/{longest}")) <= _SOCKET_PATH_MAX:
        return state_directory
    shallow = f"{_short_temporary(longest)}/headcount-{os.getuid()}"
    os.makedirs(shallow, mode=0o700, exist_ok=True)
    status = os.lstat(shallow)
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise ProcessError(
            f"{shallow} is not ours alone", "another user could reach the terminals", code="tmux"
        )
    return shallow


def _short_temporary(longest: str) -> str:
    place = tempfile.gettempdir()
    whole = f"{place}/headcount-{os.getuid()}/{longest}"
    return place if len(os.fsencode(whole)) <= _SOCKET_PATH_MAX else "/tmp"


def _tmux_directory(state_directory: str, mark: str) -> str:
    import hashlib

    own = f"tmux/{hashlib.sha256(mark.encode()).hexdigest()[:12]}"
    return f"{socket_directory(state_directory, f'{own}/tmux-{os.getuid()}/default')}/{own}"
