"""Goes along with one command of the user, and ends with it everything that it has started.

    python -I -S -c IMPORT DIR NAME LIFE REPORT FILES PROGRAM [ARGUMENT...]

It is a subreaper: whatever the command leaves behind, in the background or in a session of its own, becomes
its child, and is killed as such. It does so when the command ends, and when the pipe LIFE is closed: by an
engine that gives up, or by the death of one. On REPORT it says how the command ended, or why it was not run.

Only its own children are ever signalled, and before they are waited for: their numbers are nobody else's.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import select
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "hc-chaperone"  # for people who look at `ps`; what runs below this one is nobody to headcount
OPERATORS_NAME = "hc-operator"  # what runs below this one acts as the operator
ENDED, NOT_RUN = b"s", b"e"
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_CANNOT_RUN = 126
_LOOK_S = 0.01  # after a kill: whoever it left behind arrives with its end


def main(words: list[str]) -> None:
    name, argv = words[0], words[4:]
    life, report, files = (int(word) for word in words[1:4])
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    _answer_signals(signal.SIG_IGN)
    refused, refusing = os.pipe()
    command = os.fork()
    if command == 0:
        os.close(life)
        os.close(report)
        _become(argv, files, refusing)
    os.close(refusing)
    why = os.read(refused, 4)
    _wait_for(command, life)
    status = _end_all(command)
    os.write(report, NOT_RUN + why if why else ENDED + status.to_bytes(4, "big"))


def _answer_signals(how: signal.Handlers) -> None:
    """Those that reach everyone when a machine or a session ends; and what Python ignores of itself."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, how)


def _become(argv: list[str], files: int, refusing: int) -> None:
    try:
        _answer_signals(signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        os.execvp(argv[0], argv)
    except OSError as error:
        os.write(refusing, (error.errno or errno.EIO).to_bytes(4, "big"))
    finally:
        os._exit(_CANNOT_RUN)


def _wait_for(command: int, life: int) -> None:
    """Until it has ended, or nobody waits for it any more."""
    ended = os.pidfd_open(command)
    waiting = select.poll()
    for fd in (ended, life):
        waiting.register(fd, select.POLLIN)
    waiting.poll()
    os.close(ended)


def _end_all(command: int) -> int:
    """How the command ended; nothing below us is left then."""
    status = 0
    while True:
        try:
            pid, how = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == command:
            status = how
        if pid == 0:
            for child in _children():
                os.kill(child, signal.SIGKILL)
            time.sleep(_LOOK_S)


def _children() -> Iterator[int]:
    me = str(os.getpid()).encode()
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            try:
                with open(f"/proc/{entry}/stat", "rb") as file:
                    if file.read().rpartition(b")")[2].split()[1] == me:
                        yield int(entry)
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has just ended
