"""Work in threads: bounded in number, and one after the other in each lane."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Work = Callable[[], object]

_LOG = logging.getLogger(__name__)

Item = TypeVar("Item")
Result = TypeVar("Result")


class Lanes:
    """What is put into one lane never runs at the same time, and in the order in which it was put there.

    The threads keep no process from ending: one may hang where nothing can wake it, on the disk of a machine
    that is gone, and those of an executor would be waited for even then.
    """

    def __init__(self, threads: int) -> None:
        self._most = threads
        self._changed = threading.Condition()
        self._threads = 0
        self._free = 0
        self._due: deque[tuple[str, Work]] = deque()  # the first of a lane, until a thread takes it
        self._waiting: dict[str, deque[Work]] = {}  # what comes after it, of every lane that has any
        self._began: dict[str, float] = {}
        self._closed = False

    def put(self, lane: str, work: Work) -> None:
        with self._changed:
            if self._closed:
                return
            if lane in self._waiting:
                self._waiting[lane].append(work)
                return
            self._waiting[lane] = deque()
            self._due.append((lane, work))
            if self._free < len(self._due) and self._threads < self._most:
                threading.Thread(target=self._serve, name="act", daemon=True).start()
                self._threads += 1
            self._changed.notify()

    @property
    def busy(self) -> bool:
        """Something is under way, or waits for a thread."""
        with self._changed:
            return bool(self._waiting)

    def seconds_under_way(self, lane: str) -> float | None:
        """Since work in it began; 0 while it waits for a thread, None when there is nothing to do."""
        with self._changed:
            if lane not in self._waiting:
                return None
            now = time.monotonic()
            return now - self._began.get(lane, now)

    def close(self, within_s: float | None = None) -> bool:
        """Whether what runs has finished, within that time. What has not begun is left for the next engine,
        which finds it pending. May be asked again."""
        with self._changed:
            self._closed = True
            while self._due:
                del self._waiting[self._due.popleft()[0]]
            for waiting in self._waiting.values():
                waiting.clear()
            self._changed.notify_all()
            return self._changed.wait_for(lambda: self._threads == 0, within_s)

    # --- in a thread

    def _serve(self) -> None:
        while (taken := self._take()) is not None:
            self._run(*taken)

    def _take(self) -> tuple[str, Work] | None:
        with self._changed:
            self._free += 1
            self._changed.wait_for(lambda: self._due or self._closed)
            self._free -= 1
            if self._due:
                lane, work = self._due.popleft()
                self._began[lane] = time.monotonic()
                return lane, work
            self._threads -= 1
            self._changed.notify_all()
            return None

    def _run(self, lane: str, first: Work) -> None:
        work: Work | None = first
        while work is not None:
            try:
                work()
            except Exception:
                _LOG.exception("work in lane %s failed", lane)
            work = self._next(lane)

    def _next(self, lane: str) -> Work | None:
        with self._changed:
            if self._waiting[lane]:
                return self._waiting[lane].popleft()
            del self._waiting[lane]
            del self._began[lane]
            return None


def side_by_side(work: Callable[[Item], Result], items: Sequence[Item], threads: int) -> list[Result]:
    """What `work` makes of each, in their order. Where it fails for one, it raises when all have ended."""
    answers: queue.SimpleQueue[tuple[int, Result | Exception]] = queue.SimpleQueue()

    def answer(number: int) -> None:
        try:
            answers.put((number, work(items[number])))
        except Exception as error:
            answers.put((number, error))

    lanes = Lanes(threads)
    for number in range(len(items)):
        lanes.put(str(number), partial(answer, number))
    answered = dict(answers.get() for _ in items)
    lanes.close()
    results: list[Result] = []
    for number in range(len(items)):
        found = answered[number]
        if isinstance(found, Exception):
            raise found
        results.append(found)
    return results
