"""The handles of living members, and one thread that sleeps until one of their processes ends."""

from __future__ import annotations

import os
import queue
import select
import threading
from typing import TYPE_CHECKING

from headcount.ports import Exited

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.ports import Handle


class ProcessWatch:
    """By incarnation. An end is reported once for the agent and once for its keeper, then `on_end` called."""

    def __init__(self, on_end: Callable[[], object] = lambda: None) -> None:
        self._on_end = on_end
        self._ends: queue.SimpleQueue[Exited] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._held: dict[tuple[str, str], Handle] = {}
        self._by_fd: dict[int, Exited] = {}
        self._epoll = select.epoll()
        self._wake, self._waker = os.pipe()
        self._epoll.register(self._wake, select.EPOLLIN)
        self._thread = threading.Thread(target=self._watch, name="watch", daemon=True)
        self._thread.start()

    def held(self, team: str, key: str) -> Handle | None:
        with self._lock:
            return self._held.get((team, key))

    def hold(self, team: str, key: str, handle: Handle) -> Handle:
        """Keep it, and watch for both ends. An agent that is dead already is reported at once.

        If one is kept already, that stays, and the given one is closed.
        """
        with self._lock:
            kept = self._held.setdefault((team, key), handle)
            if kept is not handle:
                handle.close()
                return kept
            for fd, agent in ((handle.exit_fd, True), (handle.keeper_fd, False)):
                if fd is not None:
                    self._by_fd[fd] = Exited(team, key, agent)
                    self._epoll.register(fd, select.EPOLLIN | select.EPOLLONESHOT)
        if handle.exit_fd is None:
            self._report(Exited(team, key, True))
        return handle

    def ends(self) -> list[Exited]:
        taken: list[Exited] = []
        while not self._ends.empty():
            taken.append(self._ends.get_nowait())  # only one thread takes
        return taken

    def drop(self, team: str, key: str) -> None:
        with self._lock:
            handle = self._held.pop((team, key), None)
            if handle is None:
                return
            for fd in (handle.exit_fd, handle.keeper_fd):
                if fd is not None and self._by_fd.pop(fd, None) is not None:
                    self._epoll.unregister(fd)
            handle.close()

    def close(self) -> None:
        os.write(self._waker, b"x")
        self._thread.join()
        for team, key in list(self._held):
            self.drop(team, key)
        self._epoll.close()
        os.close(self._wake)
        os.close(self._waker)

    def _watch(self) -> None:
        while True:
            for fd, _ in self._epoll.poll():
                if fd == self._wake:
                    return
                with self._lock:
                    who = self._by_fd.get(fd)
                    if who is not None and not _is_readable(fd):  # another process has this number now
                        self._epoll.modify(fd, select.EPOLLIN | select.EPOLLONESHOT)
                        who = None
                if who is not None:
                    self._report(who)

    def _report(self, end: Exited) -> None:
        self._ends.put(end)
        self._on_end()


def _is_readable(fd: int) -> bool:
    look = select.poll()
    look.register(fd, select.POLLIN)
    return bool(look.poll(0))
