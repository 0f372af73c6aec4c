"""Start reapers and keepers: the caller's side of `reaper.serve`.

A warm interpreter, the fork server, forks reapers; it is started when it is first needed. It holds none
of the caller's descriptors and carries no mark. The server of the members outlives its caller for as long
as anything is below it. The server of the commands ends with its caller, and with it all that is below.
"""

from __future__ import annotations

import os
import resource
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from headcount.errors import ProcessError
from headcount.ports import SpawnSpec
from headcount.runtime import reaper
from headcount.runtime.containment import can_make_cgroup, cgroup_of, scope_command
from headcount.runtime.mark import VARIABLE
from headcount.runtime.processes import is_alive
from headcount.runtime.reaper import OUTPUT, STDIN
from headcount.runtime.start_record import NOBODY, Identity, Record, SpawnDirectory

_START_S = 20.0
_SETTLE_S = 5.0
# Imported, not run as a file: a file would be compiled anew at every start, and keep 1 MB of that.
_IMPORT = (
    "import sys; sys.path[:0] = [sys.argv[1]]; import reaper; del sys.path[0]; reaper.main(sys.argv[2:])"
)
REAPER = [sys.executable, "-I", "-S", "-c", _IMPORT, os.path.dirname(os.path.abspath(reaper.__file__))]
MEMBERS, COMMANDS = "members", "commands"


def _environment() -> dict[str, str]:
    """What systemd-run needs to find the user's manager."""
    names = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
    return {name: os.environ[name] for name in names if name in os.environ}


class ForkServer:
    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._identity = NOBODY

    @property
    def identity(self) -> Identity:
        """The process that was last started; `NOBODY` before the first request."""
        return self._identity

    def connect(self, request: bytes, stdio: Sequence[int] = ()) -> socket.socket:
        """Fork a reaper, and return the connection to it. Its standard files are `stdio`."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                with self._lock:
                    self._send(request, [theirs.fileno(), *stdio])
            except BaseException:
                ours.close()
                raise
        return ours

    def ensure(self) -> None:
        """Start it unless it runs."""
        with self._lock:
            if self._control is None or not is_alive(self._identity):
                self._close()
                self._control = self._start()

    def settle(self) -> None:
        """Return when a server of commands has ended all that a killed reaper left to it."""
        try:
            with self.connect(reaper.SETTLE) as connection:
                connection.settimeout(_SETTLE_S)
                reaper.receive(connection)
        except OSError:
            pass  # the server itself was killed: there is nobody to wait for

    def close(self) -> None:
        with self._lock:
            self._close()

    def _send(self, request: bytes, fds: list[int]) -> None:
        if self._control is not None:
            try:
                socket.send_fds(self._control, [request], fds)
                return
            except OSError:  # it was killed
                self._close()
        self._control = self._start()
        socket.send_fds(self._control, [request], fds)

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            # The room at the end is where each keeper writes its directory.
            command = [*REAPER, self._kind, str(theirs.fileno()), "-" * reaper.TITLE_ROOM]
            scope = scope_command() if self._kind == MEMBERS and not can_make_cgroup(cgroup_of()) else []
            starter = subprocess.Popen(
                [*scope, *command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, env=_environment() if scope else {}, cwd="/",
                start_new_session=True, pass_fds=[theirs.fileno()],
            )  # fmt: skip
        starter.wait()
        ours.settimeout(_START_S)
        try:
            pid, start = reaper.read_message(ours.recv(512))
            self._identity = Identity(int(str(pid)), int(str(start)))
        except (OSError, ValueError) as error:
            ours.close()
            raise ProcessError(
                "The process that starts members did not start",
                str(error) or "it ended at once",
                code="start-failed",
            ) from error
        ours.settimeout(None)
        return ours

    def _close(self) -> None:
        if self._control is not None:
            with suppress(OSError):  # it was killed
                self._control.send(reaper.CLOSE)
            self._control.close()
            self._control = None


# --- handshake -------------------------------------------------------------------------------------------
#
# The caller's side of a start: it sends its order to the keeper over one connection, which answers there.
#
# No secret touches the disk, and a caller that dies takes its order with it.


_ORDER_BYTES = 1 << 20  # the kernel takes no more than twice that, for arguments and environment together

Connect = Callable[[SpawnSpec, str, float], socket.socket]


def ask_keeper(
    spec: SpawnSpec,
    more: Mapping[str, Any],
    directory: SpawnDirectory,
    connect: Connect,
    timeout_s: float,
) -> tuple[str, Record | None]:
    """What the keeper answered, "" when it answered nothing; and its record, if it has started the member.
    `more`: its seal, and how it contains the member."""
    order = {**_order(spec, directory.path), **more}
    os.makedirs(directory.path, mode=0o700, exist_ok=True)
    for name in (OUTPUT, STDIN):
        if not os.path.exists(directory.file(name)):
            os.mkfifo(directory.file(name), 0o600)
    with connect(spec, directory.path, timeout_s) as connection:
        connection.settimeout(timeout_s)
        try:
            reaper.send(connection, order)
        except (TimeoutError, BrokenPipeError):
            pass  # it has died, or has an answer
        return _read_reply(connection)


def _order(spec: SpawnSpec, home: str) -> dict[str, Any]:
    size = sum(len(os.fsencode(word)) for pair in spec.env.items() for word in pair)
    size += sum(len(os.fsencode(word)) for word in spec.argv)
    if size > _ORDER_BYTES:
        raise ProcessError(
            f"Did not start {spec.argv[0]}",
            f"its arguments and environment have {size:,} bytes",
            ("Hand the prompt over in {prompt_file} instead of {prompt}",),
            code="start-too-large",
        )
    return {
        "home": home,
        "mark": spec.mark,
        "argv": list(spec.argv),
        "cwd": spec.cwd,
        "env": {**spec.env, VARIABLE: spec.mark},
        "stdin": spec.stdin,
        "log_limit": spec.log_limit,
        "files": members_file_limit(),
    }


def _read_reply(connection: socket.socket) -> tuple[str, Record | None]:
    """What the keeper answered; "" when it answered nothing, or died."""
    try:
        reply = reaper.receive(connection)
    except OSError:
        return "", None
    match reply:
        case (str(text), dict(fields)):
            return text, Record.from_dict(fields)
        case (str(text),):
            return text, None
    return "", None


def wait_readable(fd: int, timeout_s: float) -> bool:
    waiting = select.poll()
    waiting.register(fd, select.POLLIN)
    return bool(waiting.poll(timeout_s * 1000))


# --- open files ------------------------------------------------------------------------------------------
#
# How many files may be open. An engine holds two descriptors for each member, so it takes what it is allowed
# to; its members get back what it was started with, because a program that uses select() breaks above 1,024.


_MOST = 65536  # more than the members of a machine need; some programs close every number up to the limit
_AT_START = resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def raise_file_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST if hard == resource.RLIM_INFINITY else min(hard, _MOST)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def members_file_limit() -> int:
    """The soft limit that this process was started with."""
    return _AT_START
