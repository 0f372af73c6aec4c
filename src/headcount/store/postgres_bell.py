"""Waking others through PostgreSQL: LISTEN and NOTIFY, on a connection that a waiting thread has for itself.

Only threads that wait listen, because a NOTIFY costs the server time for every connection that does. As with
datagrams, a ring is a hint: a waiter that may have missed one because its connection was lost looks.
"""

from __future__ import annotations

import select
import time
from typing import TYPE_CHECKING, Any

import psycopg

from headcount.errors import StoreError
from headcount.store.postgres_connection import open_connection

try:
    from _blake2 import blake2b
except ImportError:  # another Python than CPython
    from hashlib import blake2b

if TYPE_CHECKING:
    from collections.abc import Iterable

_LOOK_S = 1.0  # while there is no connection, the waiter looks so often


class Bell:
    """The channels of one thread."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._names: dict[str, str] = {}  # channel of the database: channel of the caller
        self._rung: set[str] = set()
        self._db: psycopg.Connection[Any] | None = None
        self._missed = False  # a ring may have been lost, with a connection

    def listen(self, channel: str) -> None:
        name = name_of(channel)
        if name in self._names and self._db is not None:
            return
        self._names[name] = channel
        self._listen([name] if self._db is not None else self._names)

    def wait(self, channels: Iterable[str], timeout_s: float, fd: int | None = None) -> bool:
        """Sleep until one of the channels is rung, `fd` is readable or closed, or the time is over."""
        wanted = set(channels)
        for channel in wanted:
            self.listen(channel)
        deadline = time.monotonic() + timeout_s
        while True:
            self._take()
            left = deadline - time.monotonic()
            if self._db is None:
                _poll([fd], min(left, _LOOK_S))
                return True
            if self._missed:
                self._missed = False
                return True
            if self._rung & wanted:
                self._rung -= wanted
                return True
            if left <= 0:
                return False
            ready = _poll([self._db.fileno(), fd], left)
            if fd is not None and fd in ready:
                self._rung -= wanted
                return True

    def _take(self) -> None:
        """Note who was rung. Without blocking."""
        if self._db is None:
            return
        try:
            self._db.pgconn.consume_input()
            while (notice := self._db.pgconn.notifies()) is not None:
                self._rung.add(self._names.get(notice.relname.decode(), ""))
        except psycopg.Error:
            self._lose()

    def _listen(self, names: Iterable[str]) -> None:
        try:
            if self._db is None:
                self._db = open_connection(self._url)
            self._db.pgconn.exec_("; ".join(f"listen {name}" for name in names).encode())
            if self._db.pgconn.status is psycopg.pq.ConnStatus.BAD:
                self._lose()
        except (psycopg.Error, StoreError):
            self._lose()

    def _lose(self) -> None:
        if self._db is not None:
            self._db.close()
        self._db = None
        self._missed = True

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def __del__(self) -> None:
        self.close()


def name_of(channel: str) -> str:
    """Hashed: the names of PostgreSQL's channels are short."""
    return f"hc_{blake2b(channel.encode(), digest_size=8).hexdigest()}"


def _poll(descriptors: Iterable[int | None], timeout_s: float) -> set[int]:
    poll = select.poll()
    for descriptor in descriptors:
        if descriptor is not None:
            poll.register(descriptor, select.POLLIN)
    return {found for found, _ in poll.poll(max(0, timeout_s) * 1000)}
