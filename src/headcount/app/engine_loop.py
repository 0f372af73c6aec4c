"""The engine of one process: driver and performer, called whenever a thread reports or a deadline is over.

Only the thread of `run` calls the two. Workers, the watch of processes and the listener wake it.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any

from headcount.engine.driver import ENGINE_CHANNEL, Displaced, Driver
from headcount.engine.performer import Performer
from headcount.errors import FencedOut
from headcount.protocol.bound import ACTS_AT_ONCE
from headcount.runtime.exit_watch import ProcessWatch
from headcount.runtime.worker_pool import WorkerPool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headcount.domain.policy import Policy
    from headcount.engine.job import World
    from headcount.engine.leases import Leases
    from headcount.engine.ordered_starts import MakeStart
    from headcount.ports import Executor, Store

_LOG = logging.getLogger(__name__)

_THREADS = ACTS_AT_ONCE
_IDLE_CHECK_S = 1.0
_LEAVING_CHECK_S = 0.1
_LEAVE_S = 5.0  # longer than most acts take, shorter than the patience of a person who pressed Ctrl-C
_RING_CHECK_S = 10.0  # a wake-up is a hint; this is the most that a lost one can cost
_NO_BELL_CHECK_S = 1.0
_CLOSE_S = 1.0  # a bell that was removed cannot be rung: its thread ends with its next check


class Engine:
    def __init__(
        self,
        store: Store,
        make_world: Callable[[Executor], World],
        policy_of: Callable[[Mapping[str, Any]], Policy],
        make_start: MakeStart,
        leases: Leases | None = None,
        on_closed: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_closed` is called after a turn in which a team was closed. It must return at once."""
        self._store = store
        self._wake = threading.Event()
        self._rung = threading.Event()
        self._stopping = threading.Event()
        self._leaving = threading.Event()
        self._pool = WorkerPool(_THREADS, self._wake.set)
        self._watch = ProcessWatch(self._wake.set)
        self._performer = Performer(make_world(self._pool), self._watch, time.monotonic)
        self._driver = Driver(store, self._performer, policy_of, make_start, time.monotonic, leases)
        self._on_closed = on_closed
        self._open: frozenset[str] = frozenset()
        self.hangs = False
        self.displaced = False  # the state had been removed: it is back, and needs an engine that begins anew

    def run(self, until: Callable[[], bool] = lambda: False) -> None:
        """Drive until `stop` is called or `until`, called after every turn, returns True."""
        listener = _Listener(self._store, self._ring)
        try:
            while not self._stopping.is_set():
                self._wake.clear()
                rung = self._rung.is_set()
                self._rung.clear()
                deadline = self._driver.turn(self._performer.poll(), rung)
                self._notice_closed()
                if until():
                    break
                self._wake.wait(self._seconds_to(deadline))
        except FencedOut as error:  # another engine drives now, and does all that is left
            if error.code == "state-gone":
                self._performer.end_all()
        except Displaced:
            self.displaced = True
        except KeyboardInterrupt:
            self._leaving.set()
            raise
        finally:
            self._stopping.set()
            self._finish()
            listener.close()

    def _notice_closed(self) -> None:
        before, self._open = self._open, self._driver.teams
        if before - self._open:
            self._on_closed()

    def _ring(self) -> None:
        self._rung.set()
        self._wake.set()

    def stop(self) -> None:
        """End soon: what is under way is finished."""
        self._stopping.set()
        self._wake.set()

    def leave(self) -> None:
        """End now: what is under way has seconds to finish, and else is left to the next engine."""
        self._leaving.set()
        self.stop()

    @property
    def idle(self) -> bool:
        """No team is open, and nothing is under way: nothing is left to drive."""
        return self._driver.idle

    def close_runtimes(self) -> None:
        for runtime in self._performer.world.runtimes.values():
            runtime.close()

    def _seconds_to(self, deadline: float | None) -> float | None:
        """Without a team nothing is due, but `until` is to be called now and then."""
        due = [at for at in (deadline, self._performer.next_due) if at is not None]
        if due:
            return max(0.0, min(due) - time.monotonic())
        return None if self._driver.teams else _IDLE_CHECK_S

    def _finish(self) -> None:
        """Sets `hangs` when something is still under way. Then the descriptors of the members stay open, and
        the holder of the lock keeps it for as long as this process lives."""
        self.hangs = True
        while self.hangs and not self._leaving.is_set():
            self.hangs = not self._pool.close(_LEAVING_CHECK_S)
        if self.hangs:
            self._performer.world.commands.end()
            self.hangs = not self._pool.close(_LEAVE_S)
        if not self.hangs:
            self._watch.close()


class _Listener:
    """A thread that waits until the engine is rung. After it is made, no ring is lost.

    A process that wrote something may be killed before it rings, so the time that passes rings as well.
    """

    def __init__(self, store: Store, on_ring: Callable[[], None]) -> None:
        self._store = store
        self._on_ring = on_ring
        self._listening = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="listen", daemon=True)
        self._thread.start()
        self._listening.wait()

    def close(self) -> None:
        self._stopping.set()
        self._store.ring([ENGINE_CHANNEL])
        self._thread.join(_CLOSE_S)

    def _listen(self) -> None:
        while not self._stopping.is_set():
            try:
                self._store.listen(ENGINE_CHANNEL)
                self._listening.set()
                self._store.wait(ENGINE_CHANNEL, _RING_CHECK_S)
            except OSError as error:  # no bell, as on a full disk: the engine reacts later, but it does
                _LOG.warning("cannot be rung: %s", error)
                self._listening.set()
                self._stopping.wait(_NO_BELL_CHECK_S)
            self._on_ring()
