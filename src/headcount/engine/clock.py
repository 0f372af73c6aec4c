"""Limits, counted on the monotonic clock from the moment the engine sees an epoch.

They are derived from the state and never stored: after a crash, or a night's sleep of the machine, everyone
gets the full time again.
"""

from __future__ import annotations

import heapq
import math
import time
from typing import TYPE_CHECKING

from headcount.protocol import events as ev
from headcount.protocol.bound import close_step_s
from headcount.protocol.member import limit_s

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headcount.domain.policy import Policy
    from headcount.protocol.team import Team

_Who = tuple[str, str]  # team's name; incarnation's key, or "" for the team's closing

_AGE = "/age"
_LONGEST_S = 86_400.0  # a limit may be as good as none, but a wait for it cannot be of any length


class Clock:
    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.now = now
        self._armed: dict[_Who, int] = {}  # the epoch that each limit was armed for
        self._due: list[tuple[float, _Who, int]] = []
        self._born: dict[tuple[str, str], float] = {}  # when this engine first saw an incarnation

    def watch(self, team: Team, policy: Policy) -> None:
        """Arm a limit for every epoch that is new; forget those that are over."""
        for member in team.members.values():
            limit = limit_s(member, policy)
            self._arm((team.name, member.key), member.epoch if limit is not None else None, limit)
        closing = team.close_epoch if team.close_step is not None else None
        self._arm((team.name, ""), closing, close_step_s(policy, len(team.members)))

    def grown_old(self, team: Team, policy: Policy) -> list[str]:
        """Who has been at work for as long as the policy lets one be, and was not asked to leave for it."""
        if not policy.cycle_after_s:
            return []
        now = self.now()
        old = []
        for member in team.live():
            due = self._born.setdefault((team.id, member.key), now) + policy.cycle_after_s
            if now >= due:
                old.append(member.key)
            elif due != math.inf:
                self._arm((team.name, member.key + _AGE), 0, due - now)
        return old

    def asked_for_age(self, team_id: str, keys: Iterable[str]) -> None:
        """Once it is durable. Whoever could not be asked, in the middle of something, stays due."""
        for key in keys:
            self._born[team_id, key] = math.inf

    def forget(self, team_name: str) -> None:
        for who in [who for who in self._armed if who[0] == team_name]:
            del self._armed[who]
        for born in [born for born in self._born if born[0].partition("#")[0] == team_name]:
            del self._born[born]

    def postpone(self, team_name: str, over: ev.TimedOut, seconds: float) -> None:
        """There was a sign of life: what `take_due` gave is not over yet."""
        self._arm((team_name, over.key or ""), over.epoch, seconds)

    def seconds_to_next(self) -> float | None:
        while self._due and self._armed.get(self._due[0][1]) != self._due[0][2]:
            heapq.heappop(self._due)
        return min(max(0.0, self._due[0][0] - self.now()), _LONGEST_S) if self._due else None

    def take_due(self) -> list[tuple[str, ev.TimedOut]]:
        """What is over now, once each."""
        over: list[tuple[str, ev.TimedOut]] = []
        while self._due and self._due[0][0] <= self.now():
            _, who, epoch = heapq.heappop(self._due)
            if self._armed.get(who) == epoch:
                del self._armed[who]
                if who[1].endswith(_AGE):
                    continue  # only to wake up: `grown_old` tells who
                over.append((who[0], ev.TimedOut(who[1] or None, epoch)))
        return over

    def _arm(self, who: _Who, epoch: int | None, limit: float | None) -> None:
        if epoch is None or limit is None:
            self._armed.pop(who, None)
        elif self._armed.get(who) != epoch:
            self._armed[who] = epoch
            heapq.heappush(self._due, (self.now() + limit, who, epoch))
