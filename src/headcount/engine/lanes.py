"""Work in threads: bounded in number, and one after the other in each lane."""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Lanes:
    """What is put into one lane never runs at the same time, and in the order in which it was put there."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="act")
        self._lock = threading.Lock()
        self._waiting: dict[str, deque[Callable[[], None]]] = {}

    def put(self, lane: str, work: Callable[[], None]) -> None:
        with self._lock:
            if lane in self._waiting:
                self._waiting[lane].append(work)
                return
            self._waiting[lane] = deque()
        self._pool.submit(self._run, lane, work)

    def _run(self, lane: str, work: Callable[[], None] | None) -> None:
        while work is not None:
            try:
                work()
            finally:
                work = self._next(lane)

    def _next(self, lane: str) -> Callable[[], None] | None:
        with self._lock:
            if self._waiting[lane]:
                return self._waiting[lane].popleft()
            del self._waiting[lane]
            return None

    def close(self) -> None:
        """What runs is let finish; what has not begun is left for the next engine, which finds it pending."""
        with self._lock:
            for waiting in self._waiting.values():
                waiting.clear()
        self._pool.shutdown(wait=True, cancel_futures=True)
