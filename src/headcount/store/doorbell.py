"""Waking another process: a datagram socket for each waiter, in a directory for each channel.

A ring is a hint, never the news itself: the waiter looks into the database. So nothing is lost when

- the waiter listens first, looks second and sleeps third (a ring in between stays in its socket), and
- a process that changes something rings after the commit.

A waiter that was killed leaves its socket behind; the next ring removes it. A waiter without a
socket, because the disk is full, reads the database every second.
"""

from __future__ import annotations

import _socket
import errno
import os
import select

try:
    from _blake2 import blake2b
except ImportError:  # another Python than CPython
    from hashlib import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# What fits into sockaddr_un on every system that has it (Linux takes 107 bytes, macOS 103).
_PATH_MAX = 100
_FULL = (errno.ENOSPC, errno.EDQUOT)
_LOOK_S = 1.0


class Bell:
    """Listens to one channel from the moment it is made until it is closed."""

    def __init__(self, directory: str, channel: str) -> None:
        self._folder = _folder(directory, channel)
        self._name = f"{os.getpid()}.{os.urandom(4).hex()}"
        self._socket = _datagram_socket()
        self.is_deaf = False
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            with _Near(self._folder) as near:
                self._socket.bind(near.path(self._name))
        except OSError as error:
            self.is_deaf = error.errno in _FULL
            if not self.is_deaf:
                self._socket.close()
                raise

    def wait(self, timeout_s: float) -> bool:
        """Return True as soon as a process has rung since the last wait, and False at the deadline."""
        return wait_any([self], timeout_s)

    def fileno(self) -> int:
        return self._socket.fileno()

    def hush(self) -> None:
        """Forget the rings until now."""
        try:
            while True:
                self._socket.recv(16)
        except BlockingIOError:
            pass

    def close(self) -> None:
        self._socket.close()
        try:
            os.unlink(f"{self._folder}/{self._name}")
        except FileNotFoundError:
            pass

    def __del__(self) -> None:
        # Its thread ended without closing; where binding failed there is no socket yet.
        if hasattr(self, "_socket") and self._socket.fileno() >= 0:
            self.close()


def wait_any(bells: list[Bell], timeout_s: float, fd: int | None = None) -> bool:
    """Sleep until one of the bells has rung, `fd` is readable or closed, or the time is over."""
    may_have_rung = timeout_s > _LOOK_S and any(bell.is_deaf for bell in bells)
    if may_have_rung:
        timeout_s = _LOOK_S
    poll = select.poll()
    for descriptor in (*(bell.fileno() for bell in bells), *(() if fd is None else (fd,))):
        poll.register(descriptor, select.POLLIN)
    rung = bool(poll.poll(max(0, timeout_s) * 1000))
    for bell in bells:
        bell.hush()
    return rung or may_have_rung


def ring(directory: str, channels: Iterable[str]) -> None:
    """Wake every process that waits on one of the channels. Never blocks, and never fails.

    The change is durable already. A waiter that could not be woken reads it after a while by itself.
    """
    for channel in dict.fromkeys(channels):
        folder = _folder(directory, channel)
        try:
            waiters = os.listdir(folder)
            if waiters:
                _ring_all(folder, waiters)
        except OSError:
            continue  # mostly because nobody ever waited there


def _ring_all(folder: str, waiters: list[str]) -> None:
    socket = _datagram_socket()
    try:
        with _Near(folder) as near:
            for name in waiters:
                _ring_one(socket, near.path(name))
    finally:
        socket.close()


def _ring_one(socket: _socket.socket, path: str) -> None:
    try:
        socket.sendto(b"!", path)
    except BlockingIOError:
        pass  # it has unheard rings enough
    except ConnectionRefusedError:
        # Its process is gone without having cleaned up.
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
    except FileNotFoundError:
        pass  # it has just stopped waiting


class _Near:
    """A way to name files in `folder` that fits into a socket address however deep the folder is."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._fd = -1

    def __enter__(self) -> _Near:
        if len(os.fsencode(self._folder)) + 24 > _PATH_MAX:
            self._fd = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        return self

    def path(self, name: str) -> str:
        return f"{self._folder}/{name}" if self._fd < 0 else f"/proc/self/fd/{self._fd}/{name}"

    def __exit__(self, *_: object) -> None:
        if self._fd >= 0:
            os.close(self._fd)


def _folder(directory: str, channel: str) -> str:
    """Hashed: a channel's name may hold anything, and folders of two channels never coincide."""
    return f"{directory}/{blake2b(channel.encode(), digest_size=8).hexdigest()}"


def _datagram_socket() -> _socket.socket:
    made = _socket.socket(_socket.AF_UNIX, _socket.SOCK_DGRAM)  # close-on-exec, as all of Python's
    made.setblocking(False)
    return made
