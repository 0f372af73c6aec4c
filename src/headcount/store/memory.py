"""The store in memory: the same rules without a disk, for the simulator and for tests."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headcount.errors import Bug
from headcount.ports import Fence
from headcount.store.generations import fenced_out
from headcount.store.memory_tx import Lease, MemoryTx, Tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class MemoryStore:
    """One writer at a time, as with SQLite; threads wait for each other."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.tables = Tables()
        self._clock = clock
        self._lock = threading.Lock()
        self._inside = 0  # the thread that has the transaction
        self._rung = threading.Condition()
        self._rings: dict[str, int] = {}
        self._heard: dict[tuple[int, str], int] = {}

    @contextmanager
    def write(self, fence: Fence | None = None) -> Iterator[MemoryTx]:
        with self._transaction(writable=True) as tx:
            if fence is not None and not self._holds(fence):
                raise fenced_out(fence)
            yield tx

    @contextmanager
    def read(self) -> Iterator[MemoryTx]:
        with self._transaction(writable=False) as tx:
            yield tx

    @contextmanager
    def _transaction(self, writable: bool) -> Iterator[MemoryTx]:
        if self._inside == threading.get_ident():
            raise Bug("A transaction was opened inside another one")
        with self._lock:
            self._inside = threading.get_ident()
            tx = MemoryTx(self.tables, self._clock(), writable)
            try:
                yield tx
            except BaseException:
                tx.roll_back()
                raise
            finally:
                self._inside = 0

    def put_back(self) -> bool:
        return False  # nobody can take it away

    # --- leases

    def take_lease(self, name: str, holder: str, ttl_s: float, *, steal: bool = False) -> Fence | None:
        with self._lock:
            now, lease = self._clock(), self.tables.leases.get(name, Lease(None, 0, 0))
            if lease.holder not in (None, holder) and lease.expires_at > now and not steal:
                return None
            self.tables.leases[name] = Lease(holder, lease.token + 1, now + ttl_s)
            return Fence(name, lease.token + 1)

    def renew_lease(self, fence: Fence, ttl_s: float) -> bool:
        with self._lock:
            if not self._holds(fence):
                return False
            lease = self.tables.leases[fence.name]
            self.tables.leases[fence.name] = lease._replace(expires_at=self._clock() + ttl_s)
            return True

    def release_lease(self, fence: Fence) -> None:
        with self._lock:
            if self._holds(fence):
                self.tables.leases[fence.name] = Lease(None, fence.token, 0)

    def _holds(self, fence: Fence) -> bool:
        lease = self.tables.leases.get(fence.name)
        return lease is not None and lease.holder is not None and lease.token == fence.token

    # --- waking

    def listen(self, channel: str) -> None:
        with self._rung:
            self._heard.setdefault((threading.get_ident(), channel), self._rings.get(channel, 0))

    def wait(self, channel: str, timeout_s: float) -> bool:
        self.listen(channel)
        me = threading.get_ident(), channel
        with self._rung:
            self._rung.wait_for(lambda: self._rings.get(channel, 0) > self._heard[me], max(0, timeout_s))
            rung = self._rings.get(channel, 0) > self._heard[me]
            self._heard[me] = self._rings.get(channel, 0)
            return rung

    def ring(self, channels: Iterable[str]) -> None:
        with self._rung:
            for channel in channels:
                self._rings[channel] = self._rings.get(channel, 0) + 1
            self._rung.notify_all()

    def close(self) -> None:
        """Nothing to let go of: what is in memory stays readable."""
