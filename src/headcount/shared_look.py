"""One look at the world for all who ask at the same time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class SharedLook(Generic[T]):
    """Shares what one look costs among all who wait for one.

    An answer must come from a look that began after the question, or what happened in between would be
    missed; so who asks during a look waits for the next one.
    """

    def __init__(self, look: Callable[[], T]) -> None:
        self._look = look
        self._turn = threading.Condition()
        self._begun = 0
        self._finished = 0
        self._latest: T | None = None
        self._latest_began = 0.0

    def fresh(self) -> T:
        with self._turn:
            mine = self._begun + 1
            while self._finished < mine:
                if self._begun > self._finished:
                    self._turn.wait()
                else:
                    self._take()
            assert self._latest is not None
            return self._latest

    def recent(self, within_s: float) -> T:
        """For who needs no more: the last look, if it began so recently; else a fresh one."""
        with self._turn:
            if self._latest is not None and time.monotonic() - self._latest_began < within_s:
                return self._latest
        return self.fresh()

    def _take(self) -> None:
        self._begun += 1
        began = time.monotonic()
        self._turn.release()
        try:
            latest = self._look()
        except BaseException:
            self._turn.acquire()
            self._begun -= 1
            self._turn.notify_all()
            raise
        self._turn.acquire()
        self._finished, self._latest, self._latest_began = self._begun, latest, began
        self._turn.notify_all()
