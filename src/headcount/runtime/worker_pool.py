"""The executor of an engine: a bounded number of worker threads, and lanes that keep work in order."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Work = Callable[[], Any]

_LOG = logging.getLogger(__name__)

Item = TypeVar("Item")
Result = TypeVar("Result")


class WorkerPool:
    """Calls `on_finished` in the worker, after the result of its work can be taken.

    The threads keep no process from ending. One may hang on the disk of a machine that is gone. An executor
    of the standard library would wait for it.
    """

    def __init__(self, threads: int, on_finished: Callable[[], object] = lambda: None) -> None:
        self._most = threads
        self._on_finished = on_finished
        self._finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._changed = threading.Condition()
        self._threads = 0
        self._free = 0
        self._due: deque[tuple[str, Work]] = deque()  # the first of a lane, until a thread takes it
        self._waiting: dict[str, deque[Work]] = {}  # what comes after it, of every lane that is not empty
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

    def finished(self) -> list[Any]:
        taken: list[Any] = []
        while not self._finished.empty():
            taken.append(self._finished.get_nowait())  # only one thread takes
        return taken

    def map(self, work: Callable[[Item], Result], items: Sequence[Item], at_once: int) -> list[Result]:
        """The result for each, in their order. If one fails, it raises when all have ended."""
        return side_by_side(work, items, at_once)

    @property
    def busy(self) -> bool:
        """Whether something is under way, waits for a worker, or was not taken from `finished`."""
        with self._changed:
            return bool(self._waiting) or not self._finished.empty()

    def seconds_under_way(self, lane: str) -> float | None:
        """Since work in it began; 0 while it waits for a thread, None when there is nothing to do."""
        with self._changed:
            if lane not in self._waiting:
                return None
            now = time.monotonic()
            return now - self._began.get(lane, now)

    def close(self, within_s: float | None = None) -> bool:
        """Begin nothing more; whether what runs has ended within that time. May be called again.

        Jobs that have not begun stay pending for the next engine.
        """
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
                self._finished.put(work())
                self._on_finished()
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
    """See `WorkerPool.map`."""
    answers: queue.SimpleQueue[tuple[int, Result | Exception]] = queue.SimpleQueue()

    def answer(number: int) -> None:
        try:
            answers.put((number, work(items[number])))
        except Exception as error:
            answers.put((number, error))

    pool = WorkerPool(threads)
    for number in range(len(items)):
        pool.put(str(number), partial(answer, number))
    answered = dict(answers.get() for _ in items)
    pool.close()
    results: list[Result] = []
    for number in range(len(items)):
        found = answered[number]
        if isinstance(found, Exception):
            raise found
        results.append(found)
    return results
