"""The processes that this engine knows, and one thread that sleeps until one of them ends."""

from __future__ import annotations

import os
import select
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from headcount.ports import Handle, Runtime


class Handles:
    """By incarnation. `on_end(team, key, agent)` is called once for the agent and once for its keeper."""

    def __init__(self, on_end: Callable[[str, str, bool], None]) -> None:
        self._on_end = on_end
        self._lock = threading.Lock()
        self._held: dict[tuple[str, str], Handle] = {}
        self._by_fd: dict[int, tuple[str, str, bool]] = {}
        self._epoll = select.epoll()
        self._wake, self._waker = os.pipe()
        self._epoll.register(self._wake, select.EPOLLIN)
        self._thread = threading.Thread(target=self._watch, name="watch", daemon=True)
        self._thread.start()

    def held(self, team: str, key: str) -> Handle | None:
        with self._lock:
            return self._held.get((team, key))

    def find(
        self,
        team: str,
        key: str,
        runtime: Runtime,
        mark: str,
        known: Mapping[str, Any] | None = None,
        *,
        settle: bool = False,
    ) -> Handle | None:
        """The handle of a start that happened; with `settle`, one that has not can never happen any more.
        `known`: what the store has of its processes."""
        held = self.held(team, key)
        if held is not None:
            return held
        handle = runtime.cancel(mark, known) if settle else runtime.adopt(mark, known)
        return self.hold(team, key, handle) if handle is not None else None

    def hold(self, team: str, key: str, handle: Handle) -> Handle:
        """Keep it, and watch for both ends. An agent that is dead already is reported at once."""
        with self._lock:
            kept = self._held.setdefault((team, key), handle)
            if kept is not handle:
                handle.close()
                return kept
            for fd, agent in ((handle.exit_fd, True), (handle.keeper_fd, False)):
                if fd is not None:
                    self._by_fd[fd] = (team, key, agent)
                    self._epoll.register(fd, select.EPOLLIN | select.EPOLLONESHOT)
        if handle.exit_fd is None:
            self._on_end(team, key, True)
        return handle

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
                    if who is not None and not _is_readable(fd):  # the number is another's since
                        self._epoll.modify(fd, select.EPOLLIN | select.EPOLLONESHOT)
                        who = None
                if who is not None:
                    self._on_end(*who)


def _is_readable(fd: int) -> bool:
    look = select.poll()
    look.register(fd, select.POLLIN)
    return bool(look.poll(0))
