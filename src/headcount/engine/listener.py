"""A thread that waits for somebody to ring the engine, and tells it."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.ports import Store

_LOG = logging.getLogger(__name__)

CHANNEL = "engine"
_RING_CHECK_S = 10.0  # a wake-up is a hint; this is the most that a lost one can cost
_NO_BELL_CHECK_S = 1.0
_CLOSE_S = 1.0  # a bell that was removed cannot be rung: its thread ends with its next look


class Listener:
    """Once it is made, no ring is lost. Whoever wrote something may be killed before it rings: so the time
    that passes rings as well."""

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
        self._store.ring([CHANNEL])
        self._thread.join(_CLOSE_S)

    def _listen(self) -> None:
        while not self._stopping.is_set():
            try:
                self._store.listen(CHANNEL)
                self._listening.set()
                self._store.wait(CHANNEL, _RING_CHECK_S)
            except OSError as error:  # no bell, as on a full disk: slower, but nobody waits for ever
                _LOG.warning("cannot be rung: %s", error)
                self._listening.set()
                self._stopping.wait(_NO_BELL_CHECK_S)
            self._on_ring()
