"""When the driver must act although nothing is reported: limits of states, and acts to be tried again.

Both are in memory only. A limit is derived from the state and counts on the monotonic clock from the moment
the driver sees an epoch. After a crash, or a night's sleep of the machine, every member gets its full time
again, and a new driver tries every pending act at once.
"""

from __future__ import annotations

import heapq
import math
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


_Act = tuple[str, str]  # team's id, act's id


class Limits:
    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self._armed: dict[_Who, tuple[int, float]] = {}  # the epoch of each limit, and when it is over
        self._began: dict[_Who, tuple[int, float]] = {}  # the epoch, and from when its limit counts
        self._due: list[tuple[float, _Who, int]] = []
        self._born: dict[tuple[str, str], float] = {}  # when this driver first saw an incarnation

    def watch(self, team: Team, policy: Policy) -> None:
        """Arm a limit for every epoch that is new; forget those that are over."""
        for member in team.members.values():
            limit = limit_s(member, policy)
            self._arm((team.name, member.key), member.epoch if limit is not None else None, limit)
        closing = team.close_epoch if team.close_step is not None else None
        self._arm((team.name, ""), closing, close_step_s(policy, len(team.members)))

    def change(self, team: Team, policy: Policy) -> None:
        """Let the limits that are running follow a changed policy: each counts from when its state began."""
        began = dict(self._began)
        self._disarm(team.name)
        self.watch(team, policy)
        for who, (epoch, due) in list(self._armed.items()):
            if who[0] == team.name and began.get(who, (-1, 0.0))[0] == epoch:
                earlier = self._began[who][1] - began[who][1]
                self._began[who] = began[who]
                self._push(who, epoch, due - earlier)

    def grown_old(self, team: Team, policy: Policy) -> list[str]:
        """Return the members that have worked for as long as the policy allows and were not yet asked."""
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
        """Note that these were asked, once that is durable. A member that was busy then stays due."""
        for key in keys:
            self._born[team_id, key] = math.inf

    def forget(self, team_name: str) -> None:
        self._disarm(team_name)
        for who in [who for who in self._began if who[0] == team_name]:
            del self._began[who]
        for born in [born for born in self._born if born[0].partition("#")[0] == team_name]:
            del self._born[born]

    def _disarm(self, team_name: str) -> None:
        for who in [who for who in self._armed if who[0] == team_name]:
            del self._armed[who]

    def postpone(self, team_name: str, over: ev.TimedOut, seconds: float) -> None:
        """Arm a limit again that `take_due` returned, because there was a sign of life."""
        self._push((team_name, over.key or ""), over.epoch, self.now() + seconds)

    def next_due(self) -> float | None:
        while self._due and self._armed.get(self._due[0][1]) != (self._due[0][2], self._due[0][0]):
            heapq.heappop(self._due)
        return min(self._due[0][0], self.now() + _LONGEST_S) if self._due else None

    def take_due(self) -> list[tuple[str, ev.TimedOut | None]]:
        """Return each limit that is over now, once; None for a member's age (see `grown_old`)."""
        over: list[tuple[str, ev.TimedOut | None]] = []
        while self._due and self._due[0][0] <= self.now():
            due, who, epoch = heapq.heappop(self._due)
            if self._armed.get(who) == (epoch, due):
                del self._armed[who]
                aged = who[1].endswith(_AGE)
                over.append((who[0], None if aged else ev.TimedOut(who[1] or None, epoch)))
        return over

    def _arm(self, who: _Who, epoch: int | None, limit: float | None) -> None:
        if epoch is None or limit is None:
            self._armed.pop(who, None)
        elif self._armed.get(who, (-1, 0.0))[0] != epoch:
            now = self.now()
            self._began[who] = epoch, now
            self._push(who, epoch, now + limit)

    def _push(self, who: _Who, epoch: int, due: float) -> None:
        self._armed[who] = epoch, due
        heapq.heappush(self._due, (due, who, epoch))


class RetryQueue:
    """Acts that could not be done now, and how often each was tried."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._due: list[tuple[float, _Act]] = []
        self._tries: dict[_Act, int] = {}

    def put(self, act: _Act, seconds: float) -> None:
        self._tries[act] = self.tries(act) + 1
        heapq.heappush(self._due, (self._now() + seconds, act))

    def tries(self, act: _Act) -> int:
        return self._tries.get(act, 0)

    def forget(self, act: _Act) -> None:
        self._tries.pop(act, None)

    def waits(self, act: _Act) -> bool:
        return any(item[1] == act for item in self._due)

    def drop(self, act: _Act) -> None:
        self._due = [item for item in self._due if item[1] != act]
        heapq.heapify(self._due)

    def next_due(self) -> float | None:
        return self._due[0][0] if self._due else None

    def take_due(self) -> list[_Act]:
        over: list[_Act] = []
        while self._due and self._due[0][0] <= self._now():
            over.append(heapq.heappop(self._due)[1])
        return over
