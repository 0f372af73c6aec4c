"""Acts that could not be done now, and when to try them again. In memory only: a new engine tries at once."""

from __future__ import annotations

import heapq
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_Who = tuple[str, str]  # team's id, act's id


class Later:
    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._due: list[tuple[float, _Who]] = []
        self._tries: dict[_Who, int] = {}

    def put(self, who: _Who, seconds: float) -> None:
        self._tries[who] = self.tries(who) + 1
        heapq.heappush(self._due, (self._now() + seconds, who))

    def tries(self, who: _Who) -> int:
        return self._tries.get(who, 0)

    def forget(self, who: _Who) -> None:
        self._tries.pop(who, None)

    def drop(self, who: _Who) -> bool:
        """Whether it waited here; it does not any more."""
        kept = [item for item in self._due if item[1] != who]
        waited = len(kept) < len(self._due)
        self._due = kept
        heapq.heapify(kept)
        return waited

    def seconds_to_next(self) -> float | None:
        return max(0.0, self._due[0][0] - self._now()) if self._due else None

    def take_due(self) -> list[_Who]:
        over: list[_Who] = []
        while self._due and self._due[0][0] <= self._now():
            over.append(heapq.heappop(self._due)[1])
        return over
