"""Work in threads: bounded in number, and one after the other in each lane."""

from __future__ import annotations

import threading
import time
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
        self._began: dict[str, float] = {}

    def put(self, lane: str, work: Callable[[], None]) -> None:
        with self._lock:
            if lane in self._waiting:
                self._waiting[lane].append(work)
                return
            self._waiting[lane] = deque()
        self._pool.submit(self._run, lane, work)

    def seconds_under_way(self, lane: str) -> float | None:
        """Since work in it began; 0 while it waits for a thread, None when there is nothing to do."""
        with self._lock:
            if lane not in self._waiting:
                return None
            now = time.monotonic()
            return now - self._began.get(lane, now)

    def _run(self, lane: str, work: Callable[[], None] | None) -> None:
        with self._lock:
            self._began[lane] = time.monotonic()
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
            del self._began[lane]
            return None

    def close(self) -> None:
        """What runs is let finish; what has not begun is left for the next engine, which finds it pending."""
        with self._lock:
            for waiting in self._waiting.values():
                waiting.clear()
        self._pool.shutdown(wait=True, cancel_futures=True)
