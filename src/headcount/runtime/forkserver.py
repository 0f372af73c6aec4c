"""The caller's side of `reaper.serve`: a warm interpreter that forks reapers, started when first needed.

It holds none of the caller's descriptors and carries no mark. The server of the members outlives its caller
for as long as anything is below it. The server of the commands ends with its caller, and all that is below.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress

from headcount.errors import ProcessError
from headcount.runtime import reaper
from headcount.runtime.containment import can_make_cgroup, cgroup_of, scope_command
from headcount.runtime.processes import is_alive
from headcount.runtime.spawn import NOBODY, Identity

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
