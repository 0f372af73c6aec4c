"""The leases of the teams that one engine drives: one a team, taken with the first write, renewed, released.

A lease belongs to a host, its token to one engine of that host. Nothing steals a lease: while it is valid,
another host waits. On the same host a lock file that the kernel frees selects the engine, so an engine that
holds the lock takes the leases of the one before it over; the higher token fences that one out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.errors import FencedOut

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from headcount.ports import Fence, Store

TTL_S = 90.0
RENEW_S = TTL_S / 3


def lease_of(team: str) -> str:
    """The name of a team's lease."""
    return f"team/{team}"


class Leases:
    def __init__(self, store: Store, holder: str, clock: Callable[[], float], ttl_s: float = TTL_S) -> None:
        """`clock` is monotonic, in seconds."""
        self._store = store
        self._holder = holder
        self._clock = clock
        self._ttl_s = ttl_s
        self._held: dict[str, tuple[Fence, float]] = {}  # by team: the lease, and when it was last renewed

    def fence(self, team: str) -> Fence:
        """The lease of a team, for a write to it. Raises `FencedOut` while another host has it."""
        held = self._held.get(team)
        if held is not None:
            return held[0]
        fence = self._store.take_lease(lease_of(team), self._holder, self._ttl_s)
        if fence is None:
            raise FencedOut(f"The lease of {team} is taken", "an engine on another host drives it")
        self._held[team] = fence, self._clock()
        return fence

    def renew(self) -> None:
        """Renew what is due. Raises `FencedOut` when a lease was lost."""
        for team, (fence, renewed_at) in list(self._held.items()):
            if self._clock() - renewed_at < self._ttl_s / 3:
                continue
            if not self._store.renew_lease(fence, self._ttl_s):
                raise FencedOut(f"The lease {fence.name} was lost", "another engine drives this team now")
            self._held[team] = fence, self._clock()

    def next_due(self) -> float | None:
        """When to renew next, on the given clock."""
        return min((renewed_at + self._ttl_s / 3 for _, renewed_at in self._held.values()), default=None)

    def release_all(self, but: Container[str] = ()) -> None:
        """Release what is held, except the leases of the teams that are still open."""
        for team in [team for team in self._held if team not in but]:
            self._store.release_lease(self._held.pop(team)[0])
