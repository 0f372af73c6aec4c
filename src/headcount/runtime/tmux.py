"""Members in tmux: a terminal of their own that a person can attach to.

On a private socket, without the user's settings. Every target is an id (`$3`, `%7`) of the server that the
record names, never a name, because tmux matches names by prefix. The pane's command is the keeper, so the
tree is below a subreaper here too. The member's process shows whether it is alive, never tmux. When the
server dies, its members are found by record and mark as before.
"""

from __future__ import annotations

import fcntl
import math
import os
import resource
import shlex
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from headcount.errors import Declined, ProcessError
from headcount.ports import SpawnSpec
from headcount.runtime.commands import run_reaped
from headcount.runtime.log import plain_text
from headcount.runtime.mark import VARIABLE, parse_mark
from headcount.runtime.process_runtime import TAKEN_S, Handle, ProcessRuntime, Shared, wait_for
from headcount.runtime.processes import read_command_line, read_process, send_signal
from headcount.runtime.proof import Proof
from headcount.runtime.reaper import LAUNCH, OUTPUT, START
from headcount.runtime.reaper_client import REAPER
from headcount.runtime.start_record import socket_directory
from headcount.runtime.terminal import Terminal

_HISTORY_LINES = 5000
_CALL_TIMEOUT_S = 10.0
_LAUNCH_S = 0.5
_LAUNCH_PAUSE_S = 0.05
_TYPING = "typing"  # in its directory: the lock of whoever types into its terminal
_EXIT_PAUSE_S = 3.0
_DETACH_KEY = "F12"


class TmuxRuntime(ProcessRuntime):
    def __init__(self, state_directory: str, shared: Shared | None = None) -> None:
        super().__init__(state_directory, shared)
        self.socket = _socket_path(self.state_directory, self.state_id)

    def connect(self, spec: SpawnSpec, home: str, timeout_s: float) -> socket.socket:
        """The keeper in the pane connects to us. Only it gets the order: the kernel tells who connects."""
        with _listen(home) as listening:
            pane_pid = self._open_pane(spec, home)
            deadline = time.monotonic() + timeout_s
            while True:
                listening.settimeout(max(0.001, deadline - time.monotonic()))
                try:
                    connection, _ = listening.accept()
                except TimeoutError:
                    raise ProcessError(
                        f"Did not start {spec.argv[0]}",
                        "its keeper did not start in tmux",
                        code="start-failed",
                    ) from None
                if _peer(connection) == pane_pid:
                    return connection
                connection.close()

    def _open_pane(self, spec: SpawnSpec, home: str) -> int:
        """The pid of the new pane's process. One call, so that the log is attached before the pane prints.
        The mark goes into the session afterwards: for panes that the agent may open, not for the keeper."""
        name, output = _session_name(spec.mark), shlex.quote(f"{home}/{OUTPUT}")
        command = (
            *("start-server", ";", "set-option", "-g", "history-limit", str(_HISTORY_LINES), ";"),
            # Otherwise tmux takes Ctrl-b and d for a paste when they arrive together, as over a slow
            # connection, and types the d to the agent.
            *("set-option", "-g", "assume-paste-time", "0", ";"),
            # A session that a member makes on this server carries the mark of the client that asked for it.
            *("set-option", "-g", "update-environment", VARIABLE, ";"),
            *("new-session", "-d", "-P", "-F", "#{pane_pid}", "-s", name, "-c", "/"),
            *("-x", str(spec.columns), "-y", str(spec.rows), *REAPER, "terminal", home, ";"),
            *("pipe-pane", "-t", f"={name}:", _literally(_copy_to(output)), ";"),
            *("set-environment", "-t", f"={name}", VARIABLE, spec.mark),
        )
        deadline = time.monotonic() + _LAUNCH_S
        while True:
            try:
                return int(self._launch(*command))
            except ProcessError:
                # A server ends with its last session, and may do so while we talk to it.
                if time.monotonic() > deadline:
                    raise
            time.sleep(_LAUNCH_PAUSE_S)

    def _launch(self, *arguments: str) -> str:
        """Below the server of the members: the first call becomes the tmux server, which stays there."""
        try:
            done = run_reaped(
                self.shared.server, self._command(*arguments), cwd="/", env=_environment(),
                files=resource.getrlimit(resource.RLIMIT_NOFILE)[0], timeout_s=_CALL_TIMEOUT_S,
                request=LAUNCH,
            )  # fmt: skip
        except OSError as error:
            raise _not_asked(error) from error
        if done.code != 0:
            raise _refused(arguments, done.errors.decode(errors="replace"))
        return done.output.decode(errors="replace")

    def put_back(self, handle: Handle) -> None:
        """Its server makes its socket anew when it gets this signal."""
        super().put_back(handle)
        server = read_process(handle.record.terminal.pid, with_mark=False)
        if server is None or os.path.exists(self.socket) or self.socket not in read_command_line(server.pid):
            return
        send_signal(server.identity, signal.SIGUSR1)

    def attach_command(self, handle: Handle) -> list[str]:
        """For a person's terminal."""
        if not self.server_alive(handle):
            raise Declined(
                "There is no terminal to attach to", "its tmux server has ended", code="no-terminal"
            )
        # Inside a tmux of the person, Ctrl-b d leaves that one.
        returning = ["bind-key", "-n", _DETACH_KEY, "detach-client", ";"]
        # -E: a person who attaches has no mark, and must not take that of the session away.
        return [
            "tmux", "-S", self.socket, *returning, "attach-session", "-E", "-t", handle.record.session,
        ]  # fmt: skip

    def capture(self, handle: Handle) -> str:
        """The screen; after its end, the end of the log."""
        screen = self._screen(handle)
        return super().capture(handle) if screen is None else screen

    def put_in_front(self, handle: Handle, text: str, urgent: bool) -> bool:
        """Typed only when the screen stands still: a turn is not disturbed, unless it is urgent (E11)."""
        with _typing(handle) as alone:
            terminal = self._terminal(handle) if alone else None
            return terminal is not None and (urgent or terminal.is_still()) and terminal.type_line(text)

    def wake(self, handle: Handle, text: str) -> bool:
        """Type a line for a client that is idle: on a screen at rest without a dialog, on an empty line."""
        try:
            with _typing(handle) as alone:
                terminal = self._terminal(handle) if alone and self.alive(handle) else None
                if terminal is None or not terminal.is_still():
                    return False
                return terminal.type_line(text, only_empty=True) and terminal.was_read()
        except ProcessError:
            return False  # the terminal went away meanwhile

    def type_exit(self, handle: Handle, line: str, limit_s: float) -> bool:
        """At a pause, if one comes soon, and once more if it was not taken and there is time: clients know no
        commands in the middle of a turn, or are slow to see them."""
        deadline = time.monotonic() + limit_s
        if self._try_exit(handle, line, deadline):
            return True
        return time.monotonic() < deadline and self._try_exit(handle, line, deadline)

    def _try_exit(self, handle: Handle, line: str, deadline: float) -> bool:
        left_s = deadline - time.monotonic()
        try:
            terminal = self._terminal(handle, left_s)
            if terminal is None or not self.alive(handle):
                return False
            # Half of the time at most: whoever never pauses is told all the same.
            wait_for(terminal.is_still, min(_EXIT_PAUSE_S, left_s / 2))
            return terminal.type_last_line(line) and terminal.was_read() and self.alive(handle)
        except ProcessError:
            return False  # it went away meanwhile

    def press(self, handle: Handle, keys: str) -> None:
        """Into a dialog, which takes no line of text; nothing where the terminal is gone."""
        try:
            terminal = self._terminal(handle)
            if terminal is not None:
                terminal.press(keys)
        except ProcessError:
            pass

    def was_taken(self, handle: Handle, text: str, limit_s: float = TAKEN_S) -> bool:
        terminal = self._terminal(handle, limit_s)
        return terminal is not None and terminal.was_read() and self.alive(handle)

    def _terminal(self, handle: Handle, limit_s: float = math.inf) -> Terminal | None:
        if not self.server_alive(handle):
            return None
        return Terminal(handle.record.pane, self._tmux, limit_s, handle.record.hold)

    def kill(self, handle: Handle, limit_s: float = 10.0) -> Proof:
        return self._without_sessions(handle, super().kill(handle, limit_s))

    def prove_gone(self, handle: Handle) -> Proof:
        return self._without_sessions(handle, super().prove_gone(handle))

    def _without_sessions(self, handle: Handle, proof: Proof) -> Proof:
        """End the sessions of a member that is gone. `remain-on-exit` keeps a session without processes."""
        if proof.empty and self.server_alive(handle):
            for line in self._ask("list-sessions", "-F", f"#{{session_id}} #{{{VARIABLE}}}").splitlines():
                session, _, mark = line.partition(" ")
                if mark == handle.record.mark:
                    self._ask("kill-session", "-t", session)
        return proof

    def server_alive(self, handle: Handle) -> bool:
        """Ids are counted anew by every server: those of a dead one may name another's pane now."""
        return self._ask("display-message", "-p", "#{pid}").strip() == str(handle.record.terminal.pid)

    def _screen(self, handle: Handle) -> str | None:
        """None when there is no such pane any more."""
        if not self.server_alive(handle):
            return None
        try:
            return plain_text(
                self._tmux("capture-pane", "-p", "-J", "-t", handle.record.pane).encode()
            ).rstrip()
        except ProcessError:
            return None

    def _accepts(self, *arguments: str) -> bool:
        try:
            self._tmux(*arguments)
        except ProcessError:
            return False
        return True

    def _ask(self, *arguments: str) -> str:
        """As `_tmux`, where "no" and "no server" mean the same."""
        try:
            return self._tmux(*arguments)
        except ProcessError:
            return ""

    def _tmux(self, *arguments: str, stdin: str = "") -> str:
        try:
            done = subprocess.run(
                self._command(*arguments),
                input=stdin,
                capture_output=True,
                encoding="utf-8",  # as it is told to speak, whatever our own locale is
                errors="replace",
                env=_environment(),
                cwd="/",
                timeout=_CALL_TIMEOUT_S,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _not_asked(error) from error
        if done.returncode != 0:
            raise _refused(arguments, done.stderr)
        return done.stdout

    def _command(self, *arguments: str) -> list[str]:
        return ["tmux", "-S", self.socket, "-f", "/dev/null", "-u", *arguments]


def _environment() -> dict[str, str]:
    """The first call becomes the server, and its environment that of every pane: so none of ours."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_CTYPE": "C.UTF-8", "TERM": "screen"}


def _not_asked(error: Exception) -> ProcessError:
    return ProcessError("tmux could not be asked", str(error), ("Is tmux 3.2 or newer on PATH?",), "tmux")


def _refused(arguments: tuple[str, ...], why: str) -> ProcessError:
    return ProcessError(f"tmux refused {arguments[0]}", why.strip(), code="tmux")


def _listen(home: str) -> socket.socket:
    """In the member's directory, however long its path is: by a short one through our own descriptor."""
    directory = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    listening = socket.socket(socket.AF_UNIX)
    try:
        with suppress(FileNotFoundError):
            os.unlink(f"{home}/{START}")
        listening.bind(f"/proc/self/fd/{directory}/{START}")
        listening.listen()
    except BaseException:
        listening.close()
        raise
    finally:
        os.close(directory)
    return listening


def _peer(connection: socket.socket) -> int:
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", credentials)[0])


def _copy_to(fifo: str) -> str:
    """A shell command that copies to a FIFO, without waiting for a keeper that may never come up.

    Opening a FIFO for writing waits for a reader. Descriptor 3 is one until the FIFO is open.
    """
    return f"exec 3<> {fifo} > {fifo} 3>&-; exec cat"


def _literally(command: str) -> str:
    """Where tmux fills in its own `#{…}` and the time of day: a directory may have such a name."""
    return command.replace("#", "##").replace("%", "%%")


def _session_name(mark: str) -> str:
    """For people who list sessions; tmux allows no dots."""
    parsed = parse_mark(mark)
    assert parsed is not None
    return f"{parsed.team}/{parsed.member}/{parsed.generation}/{parsed.nonce}"


def _socket_path(state_directory: str, state: str) -> str:
    """In the state directory, or, where that is too deep for a socket, in one of ours for this user."""
    place = socket_directory(state_directory, "tmux.sock")
    return f"{place}/tmux.sock" if place == state_directory else f"{place}/{state}.sock"


@contextmanager
def _typing(handle: Handle) -> Iterator[bool]:
    """Yield whether nobody else types: the engine nudges a member, and the host of its client wakes it."""
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        fd = os.open(handle.directory.file(_TYPING), flags, 0o600)
    except OSError:
        yield True  # its directory is gone, or the member has put something else there
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(fd)
